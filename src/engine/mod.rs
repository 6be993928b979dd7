//! Layer 2: the batch engine. Owns each shard's context, arena of slots, lane groups and schedule. Knows jobs and
//! schemes; never sees a header, a claim, a clock of the world or a socket.
//!
//! A [`Shard`] belongs to one thread (it is `!Send`). Handlers on that thread [`Shard::submit`] jobs and await their
//! [`Ticket`]s; [`Shard::run_with`] is the shard's runner task, which forms lane groups and runs kernels inline.
//! `docs/engine.md` has the picture and the measurements behind the schedule.

mod arena;
mod context;
mod fleet;
mod schedule;
mod shard;
mod spill;
mod stats;
mod ticket;

pub use context::Context;
pub use fleet::{Engine, EngineConfig};
pub use shard::Shard;
pub use stats::{SchemeSnapshot, ShardStats, StatsSnapshot};
pub use ticket::Ticket;

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use crate::kernel::{PreparedKey, Scheme};

/// A job offered to a shard.
#[derive(Clone)]
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

impl std::fmt::Debug for Submission<'_> {
    /// Message and signature may be a token's, so they are not shown.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Submission")
            .field("scheme", &self.scheme)
            .field("message", &format_args!("{} bytes", self.message.len()))
            .field("signature", &format_args!("{} bytes", self.signature.len()))
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
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
