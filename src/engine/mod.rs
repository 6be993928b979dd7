//! Layer 2: the batch engine. Owns each shard's context, arena of slots, lane groups and schedule. Knows jobs and
//! schemes; never sees a header, a claim, a clock of the world or a socket.
//!
//! A [`Shard`] belongs to one thread (it is `!Send`). Handlers on that thread [`Shard::submit`] jobs and await their
//! [`Ticket`]s; [`Shard::run`] is the shard's runner task, which forms lane groups and runs kernels inline.

mod context;
mod shard;

pub use context::Context;
pub use shard::{Engine, EngineConfig, Outcome, Overloaded, Shard, ShardStats, Submission, Ticket};
