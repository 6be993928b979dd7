//! What a submitter holds: the right to read one outcome, once it is there.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, ready};

use super::Outcome;
use super::arena::SlotId;
use super::shard::ShardInner;

/// The answer to come. Dropping it means that nobody reads the answer; the job still runs to its end.
#[must_use = "a dropped ticket throws the answer away"]
pub struct Ticket {
    /// The slot to read from; `None` once it has been read, or if the answer needed no slot.
    slot: Option<(Rc<ShardInner>, SlotId)>,
    /// Meaningful when `slot` is `None`.
    outcome: Outcome,
}

impl Ticket {
    pub(super) const fn waiting(shard: Rc<ShardInner>, slot: SlotId) -> Self {
        Self { slot: Some((shard, slot)), outcome: Outcome::Bad }
    }

    pub(super) const fn done(outcome: Outcome) -> Self {
        Self { slot: None, outcome }
    }

    /// The outcome, if the job has settled. For callers without an event loop, after
    /// [`Shard::flush`](super::Shard::flush).
    pub fn outcome(&mut self) -> Option<Outcome> {
        if let Some((shard, slot)) = &self.slot {
            self.outcome = shard.try_take(*slot)?;
            self.slot = None;
        }
        Some(self.outcome)
    }
}

impl Future for Ticket {
    type Output = Outcome;

    /// Ready with the same outcome ever after, should it be polled again.
    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Outcome> {
        if let Some((shard, slot)) = &self.slot {
            self.outcome = ready!(shard.poll_slot(*slot, cx.waker()));
            self.slot = None;
        }
        Poll::Ready(self.outcome)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some((shard, slot)) = &self.slot {
            shard.abandon(*slot);
        }
    }
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.slot {
            Some((_, slot)) => f.debug_tuple("Ticket").field(slot).finish(),
            None => f.debug_tuple("Ticket").field(&self.outcome).finish(),
        }
    }
}
