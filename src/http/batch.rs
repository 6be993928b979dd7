//! The batch operations: a JSON array in one piece, or NDJSON streamed both ways. Order is kept, one bad entry never
//! fails the others, and memory does not depend on the number of lines.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, BodyDataStream};
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::StreamExt;
use send_wrapper::SendWrapper;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;
use tokio::time::Sleep;

use super::answers::{self, Entries, Entry, EntryFault, Form};
use super::body::{self, Collected, MediaType};
use super::items::{self, Place, Reader};
use super::lines::{Line, LineCutter};
use super::problem::Problem;
use crate::api::{ErrorRow, RequestFault, error_row, fault_row};
use crate::faces::{Claim, ShardState, batch_bytes};
use crate::verify::Error;

/// `POST /v1/verify:batch`.
pub(super) async fn tokens(state: ShardState, request: Request) -> Response {
    batch(state, request, items::read_token).await.unwrap_or_else(IntoResponse::into_response)
}

/// `POST /v1/signatures:batch`.
pub(super) async fn signatures(state: ShardState, request: Request) -> Response {
    batch(state, request, items::read_signature).await.unwrap_or_else(IntoResponse::into_response)
}

async fn batch(state: ShardState, request: Request, reader: Reader) -> Result<Response, Problem> {
    let (parts, incoming) = request.into_parts();
    body::refuse_coding(&parts.headers)?;
    match body::media_type(&parts.headers)? {
        MediaType::Json => {
            let call_ends = ShardState::call_ends(body::caller_timeout(&parts.headers));
            let settings = state.settings();
            let Collected { bytes, mut claim } =
                body::collect(incoming, settings.batch_bytes_max, state.bulk_ledger(), &state).await?;
            let items = split_array(&bytes, settings.batch_items_max)?;
            if !claim.grow(batch_bytes(bytes.len(), items.len()).saturating_sub(bytes.len())) {
                return Err(Problem::error(Error::Overloaded));
            }
            let source =
                ArrayEntries { items: items.into_iter(), state: state.clone(), reader, call_ends, _claim: claim };
            Ok(respond(state, source, Form::Array, "application/json"))
        }
        MediaType::NdJson => {
            // What may lie in the cutter is on the account from the start.
            let room = state.bulk_ledger().claim(state.settings().line_bytes_max);
            let claim = room.ok_or_else(|| Problem::error(Error::Overloaded))?;
            let source = LineEntries::new(state.clone(), incoming, reader, claim);
            Ok(respond(state, source, Form::Lines, "application/x-ndjson"))
        }
        MediaType::Other | MediaType::Absent => Err(Problem::fault(
            RequestFault::MediaTypeUnsupported,
            "The body must be application/json (an array) or application/x-ndjson (one object a line).",
        )),
    }
}

fn respond<S: Entries + Unpin + 'static>(
    state: ShardState,
    source: S,
    form: Form,
    content_type: &'static str,
) -> Response {
    let mut response = Body::from_stream(SendWrapper::new(answers::stream(state, source, form))).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The elements of a JSON array as slices of it, not looked into yet.
fn split_array(body: &Bytes, max: usize) -> Result<Vec<Bytes>, Problem> {
    struct Elements<'b> {
        body: &'b Bytes,
        max: usize,
        too_many: &'b mut bool,
    }
    impl<'de> Visitor<'de> for Elements<'de> {
        type Value = Vec<Bytes>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
            let mut items = Vec::new();
            while let Some(element) = elements.next_element::<&RawValue>()? {
                if items.len() == self.max {
                    *self.too_many = true;
                    return Err(de::Error::custom("too many"));
                }
                items.push(self.body.slice_ref(element.get().as_bytes()));
            }
            Ok(items)
        }
    }

    let mut too_many = false;
    let mut text = serde_json::Deserializer::from_slice(body);
    let parsed = text.deserialize_seq(Elements { body, max, too_many: &mut too_many });
    match parsed.and_then(|items| text.end().map(|()| items)) {
        Ok(items) => Ok(items),
        Err(_) if too_many => {
            let detail = format!("The batch has more than {max} items; stream larger ones as application/x-ndjson.");
            Err(Problem::fault(RequestFault::TooLarge, detail))
        }
        Err(error) => Err(Problem::fault(RequestFault::Invalid, items::explain(&error))),
    }
}

/// Reads one entry. What cannot be read becomes an answer of its own.
fn read(reader: Reader, text: &Bytes, deadline: Option<Instant>, line: Option<u64>) -> Entry {
    match reader(text, Place::InBatch, deadline) {
        Ok(item) => Entry::Item(item, None),
        Err(fault) => {
            Entry::Fault(EntryFault { id: fault.id, row: fault_row(RequestFault::Invalid), detail: fault.detail, line })
        }
    }
}

/// The elements of an array, read one by one as the window takes them.
struct ArrayEntries {
    items: std::vec::IntoIter<Bytes>,
    state: ShardState,
    reader: Reader,
    call_ends: Option<Instant>,
    /// For the body that all items are slices of, and for the answers.
    _claim: Claim,
}

impl Entries for ArrayEntries {
    fn poll_entry(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Entry, axum::Error>>> {
        let entry = self.items.next().map(|text| {
            let deadline = self.state.item_deadline(self.call_ends);
            read(self.reader, &text, deadline, None)
        });
        Poll::Ready(entry.map(Ok))
    }
}

/// The lines of a body, as they arrive.
struct LineEntries {
    /// `None` once it has ended.
    body: Option<BodyDataStream>,
    cutter: LineCutter,
    state: ShardState,
    reader: Reader,
    /// Runs while the client has nothing for us; not while we have no room for what it sends.
    pause: Pin<Box<Sleep>>,
    waiting: bool,
    drained: LocalBoxFuture<'static, ()>,
    /// For the beginning of a line.
    _claim: Claim,
}

impl LineEntries {
    fn new(state: ShardState, body: Body, reader: Reader, claim: Claim) -> Self {
        let settings = state.settings();
        Self {
            body: Some(body.into_data_stream()),
            cutter: LineCutter::new(settings.line_bytes_max),
            pause: Box::pin(tokio::time::sleep(settings.body_timeout)),
            waiting: false,
            drained: Box::pin(state.drain().clone().started()),
            reader,
            state,
            _claim: claim,
        }
    }

    fn entry(&self, (number, line): (u64, Line)) -> Entry {
        match line {
            Line::Text(text) => match self.state.bulk_ledger().claim(batch_bytes(text.len(), 1)) {
                Some(claim) => {
                    let entry = read(self.reader, &text, self.state.deadline(None), Some(number));
                    if let Entry::Item(item, _) = entry { Entry::Item(item, Some(claim)) } else { entry }
                }
                None => {
                    let row = error_row(Error::Overloaded);
                    fault(row, format!("{}.", row.title), number)
                }
            },
            Line::TooLong => {
                let detail = format!("The line is longer than {} bytes.", self.state.settings().line_bytes_max);
                fault(fault_row(RequestFault::TooLarge), detail, number)
            }
        }
    }

    fn has_paused_too_long(&mut self, cx: &mut Context<'_>) -> bool {
        if !std::mem::replace(&mut self.waiting, true)
            && let Some(until) = tokio::time::Instant::now().checked_add(self.state.settings().body_timeout)
        {
            self.pause.as_mut().reset(until);
        }
        self.pause.as_mut().poll(cx).is_ready()
    }

    /// Reads no more, and says why in a last line.
    fn break_off(&mut self, row: ErrorRow, detail: &str) -> Poll<Option<Result<Entry, axum::Error>>> {
        self.body = None;
        Poll::Ready(Some(Ok(fault(row, detail.to_owned(), self.cutter.number() + 1))))
    }
}

fn fault(row: ErrorRow, detail: String, line: u64) -> Entry {
    Entry::Fault(EntryFault { id: None, row, detail, line: Some(line) })
}

impl Entries for LineEntries {
    fn poll_entry(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Entry, axum::Error>>> {
        loop {
            if self.body.is_none() {
                return Poll::Ready(None);
            }
            if let Some(line) = self.cutter.next_line() {
                return Poll::Ready(Some(Ok(self.entry(line))));
            }
            if self.drained.as_mut().poll(cx).is_ready() {
                let detail = "The service is shutting down; this line and those after it were not checked.";
                return self.break_off(error_row(Error::ShuttingDown), detail);
            }
            let Some(body) = &mut self.body else { return Poll::Ready(None) };
            match body.poll_next_unpin(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.waiting = false;
                    self.cutter.push(frame);
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => {
                    self.body = None;
                    return Poll::Ready(self.cutter.finish().map(|line| Ok(self.entry(line))));
                }
                Poll::Pending if self.has_paused_too_long(cx) => {
                    let detail = "Nothing was sent for too long; the stream ends here.";
                    return self.break_off(fault_row(RequestFault::TimedOut), detail);
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
