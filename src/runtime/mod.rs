//! Threads, listeners and signals. Owns the shard threads with their event loops, the acceptor that hands connections
//! out, the background thread, and the one order in which everything stops. Knows no protocol: how a connection is
//! served is the [`ShardApp`]'s business.
//!
//! Each shard is one thread with a current-thread event loop of its own; a connection stays on the shard it was given
//! to. One acceptor per listener, on the background thread, gives each connection to the shard with the fewest open
//! ones. Spreading by the kernel (`SO_REUSEPORT`) is deliberately absent: proxies hold few, long-lived connections, and
//! hashing those leaves shards empty.

mod acceptor;
pub(crate) mod affinity;
mod background;
mod connection;
mod listener;
mod loads;
mod service;
mod shard_thread;
mod signal;

pub use background::Background;
pub use connection::{Connection, Peer};
pub use listener::Listener;
pub use loads::{ConnectionGuard, ConnectionStats};
pub use service::{Drained, Runtime, RuntimeConfig};
pub use shard_thread::{ConnectionHandler, ShardApp, ShardInit};
pub use signal::{Signal, StopSignals};

/// How many cores this process may use, at least 1: what `auto` shards come to. Containers' CPU quotas count.
#[must_use]
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Ends the process, because a part of it that everything depends on has broken: fail closed and let the supervisor
/// start a fresh one.
fn abort(what: std::fmt::Arguments<'_>) -> ! {
    use std::io::Write as _;

    tracing::error!("{what}: ending the process");
    // The log may be off or buffered by whoever listens; this line reaches the operator in any case.
    let _ = writeln!(std::io::stderr(), "verilane: {what}: ending the process");
    std::process::abort();
}
