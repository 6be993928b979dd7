//! HTTP/2 answers that their client does not take. A client that grants no window stops one answer and not the
//! connection, which it keeps alive by answering pings: only the stream can tell, so each is watched, and ended by itself.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::rt::Executor;
use tokio::time::{Instant, Sleep, sleep_until};

use super::activity::InWork;

tokio::task_local! {
    /// Of the stream whose task this is.
    static TAKE_UP: Rc<TakeUp>;
}

/// Since when it is the client's turn: a piece of the answer is ready and not taken. `None` while it is ours.
#[derive(Debug, Default)]
struct TakeUp(Cell<Option<Instant>>);

/// Spawns HTTP/2 streams on the shard's own thread, and ends those whose answers are not taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamExecutor {
    /// How long a piece of an answer may lie ready.
    pub(super) patience: Duration,
}

impl<F: Future<Output = ()> + 'static> Executor<F> for StreamExecutor {
    fn execute(&self, stream: F) {
        let patience = self.patience;
        tokio::task::spawn_local(async move {
            let take_up = Rc::new(TakeUp::default());
            let mut stream = pin!(TAKE_UP.scope(Rc::clone(&take_up), stream));
            // Most answers go out at once and never need it.
            let mut timer = None;
            poll_fn(|cx| {
                if stream.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(());
                }
                ready!(take_up.poll_late(&mut timer, patience, cx));
                tracing::debug!("a stream was ended: its client does not take the answer");
                Poll::Ready(())
            })
            .await;
        });
    }
}

impl TakeUp {
    fn poll_late(&self, timer: &mut Option<Pin<Box<Sleep>>>, patience: Duration, cx: &mut Context<'_>) -> Poll<()> {
        // A time beyond the clock's range never comes.
        let Some(until) = self.0.get().and_then(|since| since.checked_add(patience)) else { return Poll::Pending };
        let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if timer.deadline() != until {
            timer.as_mut().reset(until);
        }
        timer.as_mut().poll(cx)
    }
}

/// The body of an answer. Tells the task of its stream whose turn it is; outside of one, over HTTP/1.1, it tells nobody:
/// there the connection's own writes stand still.
#[derive(Debug)]
pub(super) struct Answer {
    body: Body,
    take_up: Option<Rc<TakeUp>>,
    /// The connection is at work until the body is gone.
    _in_work: InWork,
}

impl Answer {
    /// Call it in the task of the stream.
    pub(super) fn new(body: Body, in_work: InWork) -> Self {
        let take_up = TAKE_UP.try_with(Rc::clone).ok();
        if let Some(take_up) = &take_up {
            take_up.0.set(Some(Instant::now()));
        }
        Self { body, take_up, _in_work: in_work }
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Some(take_up) = &self.take_up {
            take_up.0.set(polled.is_ready().then(Instant::now));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
