//! The answer side of a batch: a bounded window of checks in flight, answers written in order, as they are ready.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::Stream;
use tokio::task::JoinHandle;

use super::items::{Item, Question};
use crate::api::{ErrorRow, write_signature_answer, write_token_answer};
use crate::faces::{Claim, ShardState};
use crate::verify::{Error, SignatureVerdict, Verdict};

/// Bytes of answers that are handed on together.
const CHUNK_BYTES: usize = 16 * 1024;

/// What stands between two answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `[a,b]`
    Array,
    /// One a line.
    Lines,
}

/// One entry of a batch.
#[derive(Debug)]
pub(super) enum Entry {
    /// A question, and the claim on its text if that has one of its own.
    Item(Item, Option<Claim>),
    /// Nothing that could be asked.
    Fault(EntryFault),
}

/// Why an entry is no question.
#[derive(Debug)]
pub(super) struct EntryFault {
    /// The client's `id`, if it could be read.
    pub(super) id: Option<Bytes>,
    /// Code and so on.
    pub(super) row: ErrorRow,
    /// One sentence.
    pub(super) detail: String,
    /// Line, counted from 1, in NDJSON.
    pub(super) line: Option<u64>,
}

/// Where entries come from.
pub(super) trait Entries {
    /// The next entry; `None` when there are no more.
    fn poll_entry(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Entry, axum::Error>>>;
}

/// One answered entry.
struct Answered {
    id: Option<Bytes>,
    answer: Answer,
}

enum Answer {
    Token(Result<Verdict, Error>),
    Signature(Result<SignatureVerdict, Error>),
}

/// The body of a batch's response.
pub(super) fn stream<S>(state: ShardState, source: S, form: Form) -> impl Stream<Item = Result<Bytes, axum::Error>>
where
    S: Entries + Unpin,
{
    let in_flight = VecDeque::with_capacity(state.settings().window.clamp(1, 1024));
    Answers { source, exhausted: false, in_flight, state, form, begun: false, ended: false }
}

async fn answer(state: ShardState, item: Item) -> Answered {
    let answer = match item.question {
        Question::Token(request) => Answer::Token(state.verify_in_bulk(request).await),
        Question::Signature(spec) => Answer::Signature(state.verify_signature_in_bulk(spec).await),
    };
    Answered { id: item.id, answer }
}

struct Answers<S> {
    /// Kept to the end, with what it has claimed: the last answers hold parts of it.
    source: S,
    exhausted: bool,
    /// Oldest first. Checks run as tasks of their own: a client that does not read its answers must not hold places
    /// that others wait for.
    in_flight: VecDeque<InFlight>,
    state: ShardState,
    form: Form,
    begun: bool,
    ended: bool,
}

enum InFlight {
    /// The claim is for the answer too, and is kept until that is written.
    Check(JoinHandle<Answered>, #[allow(dead_code, reason = "kept for its drop")] Option<Claim>),
    Fault(EntryFault),
}

impl<S: Entries + Unpin> Stream for Answers<S> {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.ended {
            return Poll::Ready(None);
        }
        let mut out = Vec::new();
        loop {
            if let Err(error) = this.fill(cx) {
                this.ended = true;
                return Poll::Ready(Some(Err(error)));
            }
            if this.exhausted && this.in_flight.is_empty() {
                this.ended = true;
                this.close(&mut out);
                return Poll::Ready((!out.is_empty()).then(|| Ok(out.into())));
            }
            if this.write_oldest(&mut out, cx).is_pending() {
                // Nothing more is ready. What has been written goes out now: a client that waits for an answer before
                // it sends the next request must get it.
                return if out.is_empty() { Poll::Pending } else { Poll::Ready(Some(Ok(out.into()))) };
            }
            if out.len() >= CHUNK_BYTES {
                return Poll::Ready(Some(Ok(out.into())));
            }
        }
    }
}

impl<S: Entries> Answers<S> {
    /// Asks until the window is full or the source has nothing now.
    fn fill(&mut self, cx: &mut Context<'_>) -> Result<(), axum::Error> {
        while !self.exhausted && self.in_flight.len() < self.state.settings().window.max(1) {
            match self.source.poll_entry(cx) {
                Poll::Ready(Some(Ok(Entry::Item(item, claim)))) => {
                    let check = tokio::task::spawn_local(answer(self.state.clone(), item));
                    self.in_flight.push_back(InFlight::Check(check, claim));
                }
                Poll::Ready(Some(Ok(Entry::Fault(fault)))) => self.in_flight.push_back(InFlight::Fault(fault)),
                Poll::Ready(Some(Err(error))) => return Err(error),
                Poll::Ready(None) => self.exhausted = true,
                Poll::Pending => return Ok(()),
            }
        }
        Ok(())
    }

    /// Writes the answer of the oldest entry, once it is there.
    fn write_oldest(&mut self, out: &mut Vec<u8>, cx: &mut Context<'_>) -> Poll<()> {
        match self.in_flight.front_mut() {
            None => return Poll::Pending,
            Some(InFlight::Check(check, _)) => {
                let answered = ready!(Pin::new(check).poll(cx));
                self.separate(out);
                match &answered {
                    Ok(Answered { id, answer: Answer::Token(answer) }) => write_token_answer(out, text(id), answer),
                    Ok(Answered { id, answer: Answer::Signature(answer) }) => {
                        write_signature_answer(out, text(id), answer);
                    }
                    // The check panicked. That is our fault and this entry's only.
                    Err(_) => write_token_answer(out, None, &Err(Error::Internal)),
                }
            }
            Some(InFlight::Fault(_)) => {
                self.separate(out);
                if let Some(InFlight::Fault(fault)) = self.in_flight.front() {
                    write_fault(out, fault);
                }
            }
        }
        self.in_flight.pop_front();
        if self.form == Form::Lines {
            out.push(b'\n');
        }
        Poll::Ready(())
    }

    fn separate(&mut self, out: &mut Vec<u8>) {
        let first = !std::mem::replace(&mut self.begun, true);
        if self.form == Form::Array {
            out.push(if first { b'[' } else { b',' });
        }
    }

    fn close(&self, out: &mut Vec<u8>) {
        if self.form == Form::Array {
            out.extend_from_slice(if self.begun { b"]" } else { b"[]" });
        }
    }
}

/// An `id` is a slice of JSON text that has been parsed, so it is UTF-8.
fn text(id: &Option<Bytes>) -> Option<&str> {
    id.as_deref().and_then(|id| std::str::from_utf8(id).ok())
}

#[derive(serde::Serialize)]
struct FaultText<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a serde_json::value::RawValue>,
    verdict: &'static str,
    error: &'static str,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
}

fn write_fault(out: &mut Vec<u8>, fault: &EntryFault) {
    let id = text(&fault.id).and_then(|id| serde_json::from_str(id).ok());
    let text = FaultText { id, verdict: "error", error: fault.row.code, detail: &fault.detail, line: fault.line };
    // Strings and numbers always serialise, and a `Vec` always takes bytes.
    let _ = serde_json::to_writer(out, &text);
}
