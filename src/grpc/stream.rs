//! `VerifyStream`: a bounded number of checks in flight, answers as they are ready.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use futures_util::Stream;
use futures_util::future::LocalBoxFuture;
use tokio::task::JoinSet;
use tokio::time::Sleep;
use tonic::{Status, Streaming};

use super::{convert, proto};
use crate::api::RequestFault;
use crate::faces::{Claim, ShardState, batch_bytes};
use crate::verify::Error;

/// The answers to a stream of requests. `call_ends` is the deadline of the whole stream, if the caller set one.
pub(super) fn answers(
    state: ShardState,
    requests: Streaming<proto::VerifyStreamRequest>,
    call_ends: Option<Instant>,
) -> Result<impl Stream<Item = Result<proto::VerifyStreamResponse, Status>>, Status> {
    // What may lie in the decoder is on the account from the start.
    let room = state.bulk_ledger().claim(state.settings().line_bytes_max);
    let claim = room.ok_or_else(|| convert::error_status(Error::Overloaded))?;
    Ok(Answers {
        requests: Some(requests),
        in_flight: JoinSet::new(),
        last: None,
        drained: Box::pin(state.drain().clone().started()),
        call_ends,
        late: call_ends.map(|end| Box::pin(tokio::time::sleep_until(end.into()))),
        idle: Box::pin(tokio::time::sleep(state.settings().stream_idle_timeout)),
        state,
        _claim: claim,
    })
}

struct Answers {
    /// `None` once no more are read.
    requests: Option<Streaming<proto::VerifyStreamRequest>>,
    /// Checks run as tasks of their own: a client that does not read must not hold places that others wait for.
    in_flight: JoinSet<Answered>,
    /// The status that ends the stream once everything in flight is answered, if it is not OK.
    last: Option<Status>,
    drained: LocalBoxFuture<'static, ()>,
    call_ends: Option<Instant>,
    /// Until `call_ends`.
    late: Option<Pin<Box<Sleep>>>,
    idle: Pin<Box<Sleep>>,
    state: ShardState,
    /// For the beginning of a message.
    _claim: Claim,
}

/// An answered request. The claim is for the answer too, and is kept until that goes out.
struct Answered {
    id: u64,
    answer: proto::VerifyAnswer,
    _claim: Option<Claim>,
}

impl Stream for Answers {
    type Item = Result<proto::VerifyStreamResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.late.as_mut().is_some_and(|late| late.as_mut().poll(cx).is_ready()) {
            // Once: after an error nobody polls, and were it done, there is nothing left to say.
            (this.late, this.requests) = (None, None);
            this.in_flight = JoinSet::new();
            return Poll::Ready(Some(Err(convert::error_status(Error::DeadlineExceeded))));
        }
        this.fill(cx);
        match this.in_flight.poll_join_next(cx) {
            Poll::Ready(Some(joined)) => {
                this.rest();
                let in_flight = u32::try_from(this.in_flight.len() + 1).unwrap_or(u32::MAX);
                // A check that panicked has lost its id: only the stream as a whole can tell.
                let answered = joined.map_err(|_| convert::error_status(Error::Internal));
                Poll::Ready(Some(answered.map(|answered| proto::VerifyStreamResponse {
                    id: answered.id,
                    answer: Some(answered.answer),
                    in_flight,
                })))
            }
            Poll::Ready(None) if this.requests.is_none() => Poll::Ready(this.last.take().map(Err)),
            Poll::Ready(None) if this.idle.as_mut().poll(cx).is_ready() => {
                this.requests = None;
                let detail = "Nothing was sent for too long.";
                Poll::Ready(Some(Err(convert::fault_status(RequestFault::TimedOut, detail))))
            }
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}

impl Answers {
    /// Reads requests until the window is full or there are none now.
    fn fill(&mut self, cx: &mut Context<'_>) {
        while self.in_flight.len() < self.state.settings().window.max(1) {
            let Some(requests) = &mut self.requests else { return };
            if self.drained.as_mut().poll(cx).is_ready() {
                self.requests = None;
                self.last = Some(convert::error_status(Error::ShuttingDown));
                return;
            }
            match Pin::new(requests).poll_next(cx) {
                Poll::Ready(Some(Ok(request))) => {
                    self.rest();
                    self.begin(request);
                }
                Poll::Ready(Some(Err(status))) => {
                    self.requests = None;
                    self.last = Some(convert::coded(status));
                }
                Poll::Ready(None) => self.requests = None,
                Poll::Pending => return,
            }
        }
    }

    fn begin(&mut self, message: proto::VerifyStreamRequest) {
        let state = self.state.clone();
        let id = message.id;
        let bytes = message.request.as_ref().map_or(0, |request| request.token.len());
        let claim = state.bulk_ledger().claim(batch_bytes(bytes, 1));
        let deadline = state.item_deadline(self.call_ends);
        self.in_flight.spawn_local(async move {
            let answer = match (message.request, &claim) {
                (Some(request), Some(_)) => {
                    convert::answer(state.verify_in_bulk(convert::token(request, deadline)).await)
                }
                (Some(_), None) => convert::answer(Err(Error::Overloaded)),
                (None, _) => convert::invalid("`request` is needed."),
            };
            Answered { id, answer, _claim: claim }
        });
    }

    /// The stream is alive: the idle time begins anew.
    fn rest(&mut self) {
        if let Some(until) = tokio::time::Instant::now().checked_add(self.state.settings().stream_idle_timeout) {
            self.idle.as_mut().reset(until);
        }
    }
}
