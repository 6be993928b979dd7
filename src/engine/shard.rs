//! Contract; the engine's author fills it.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::kernel::{KernelTable, PreparedKey, Scheme};

/// Sizes and budgets of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineConfig {
    /// Jobs a shard can hold at once. Default 4096.
    pub slots_per_shard: usize,
    /// How long a runner's turn may run kernels before it yields to the event loop. Default 100 us.
    pub turn_budget: Duration,
    /// Whether full groups may be handed to an idle shard. Default true.
    pub spill: bool,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self { slots_per_shard: 4096, turn_budget: Duration::from_micros(100), spill: true }
    }
}

/// All shards of the process: what they share is the board on which they see each other's load. `Send + Sync`.
#[derive(Clone, Debug)]
pub struct Engine(Arc<()>);

impl Engine {
    /// Plans `shards` shards (at least 1). Nothing is allocated per shard until [`Engine::shard`].
    #[must_use]
    pub fn new(shards: usize, kernels: &KernelTable, config: &EngineConfig) -> Self {
        todo!()
    }

    /// How many shards.
    #[must_use]
    pub fn shards(&self) -> usize {
        todo!()
    }

    /// Builds shard `index` on the calling thread, which owns it from then on: arena, context, groups.
    ///
    /// # Panics
    /// If the shard was built before, or `index` is out of range.
    #[must_use]
    pub fn shard(&self, index: usize) -> Shard {
        todo!()
    }

    /// Counters of one shard, readable from any thread.
    #[must_use]
    pub fn stats(&self, index: usize) -> Arc<ShardStats> {
        todo!()
    }

    /// Stops accepting jobs on every shard; runners end once their accepted jobs are answered.
    pub fn close(&self) {
        todo!()
    }
}

/// One thread's engine. Cheap to clone, bound to its thread.
#[derive(Clone, Debug)]
pub struct Shard(Rc<()>);

/// A job offered to a shard.
#[derive(Clone, Debug)]
pub struct Submission<'a> {
    /// The check.
    pub scheme: Scheme,
    /// The key.
    pub key: &'a Arc<PreparedKey>,
    /// What is signed; reference-counted, so that a client that goes away harms nothing.
    pub message: Bytes,
    /// Decoded signature; copied into the slot. Longer than `SIGNATURE_MAX` is answered `Bad`.
    pub signature: &'a [u8],
    /// Dropped unrun when this has passed before the job takes a lane.
    pub deadline: Option<Instant>,
}

impl Shard {
    /// Takes a slot for a job.
    ///
    /// # Errors
    /// [`Overloaded`] at once when no slot is free, or the engine is closed.
    pub fn submit(&self, submission: &Submission<'_>) -> Result<Ticket, Overloaded> {
        todo!()
    }

    /// Slots free now.
    #[must_use]
    pub fn slots_free(&self) -> usize {
        todo!()
    }

    /// The runner: spawn it once on the shard's thread. Ends after [`Engine::close`] when nothing is pending.
    pub async fn run(self) {
        todo!()
    }

    /// Runs everything pending at once, on this stack. For callers without an event loop.
    pub fn flush(&self) {
        todo!()
    }
}

/// The answer to come. Dropping it means that nobody reads the answer; the job still runs to its end.
#[derive(Debug)]
pub struct Ticket(Rc<()>);

impl Future for Ticket {
    type Output = Outcome;
    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Outcome> {
        todo!()
    }
}

/// What became of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The signature is good.
    Good,
    /// It is not.
    Bad,
    /// The deadline passed before the job took a lane.
    DeadlineExceeded,
}

/// No free slot, or closing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("overloaded")]
pub struct Overloaded;

/// Counters of one shard: written by its thread with plain relaxed stores, read by the admin listener.
#[derive(Debug, Default)]
pub struct ShardStats {}
