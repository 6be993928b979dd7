//! How many connections each shard has open, who gets the next one, and when the last is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Default)]
#[repr(align(128))]
struct Load {
    open: AtomicUsize,
}

/// Connections by shard. Only acceptors add, any thread takes away.
#[derive(Debug)]
pub(super) struct Loads {
    shards: Box<[Load]>,
    connections_max: usize,
    accepted: AtomicU64,
    refused: AtomicU64,
    closed: Notify,
}

/// Connections of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionStats {
    /// Open now, by shard.
    pub open: Vec<usize>,
    /// Accepted and given to a shard since start.
    pub accepted: u64,
    /// Closed at once since start because the limit was reached.
    pub refused: u64,
}

impl Loads {
    pub(super) fn new(shards: usize, connections_max: usize) -> Arc<Self> {
        Arc::new(Self {
            shards: (0..shards).map(|_| Load::default()).collect(),
            connections_max,
            accepted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            closed: Notify::new(),
        })
    }

    pub(super) fn open(&self) -> usize {
        self.shards.iter().map(|shard| shard.open.load(Ordering::Acquire)).sum()
    }

    /// Counts a connection in at the shard with the fewest; `None` at the limit. With several acceptors at work the
    /// limit may be passed by one connection each.
    pub(super) fn admit(self: &Arc<Self>) -> Option<ConnectionGuard> {
        let by_load = self.shards.iter().enumerate().map(|(index, shard)| (shard.open.load(Ordering::Relaxed), index));
        let fewest = by_load.min().map(|(_, index)| index)?;
        if self.open() >= self.connections_max {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        self.accepted.fetch_add(1, Ordering::Relaxed);
        self.shards[fewest].open.fetch_add(1, Ordering::Relaxed);
        Some(ConnectionGuard { loads: Arc::clone(self), shard: fewest })
    }

    pub(super) fn stats(&self) -> ConnectionStats {
        ConnectionStats {
            open: self.shards.iter().map(|shard| shard.open.load(Ordering::Relaxed)).collect(),
            accepted: self.accepted.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }

    /// Completes when no connection is open.
    pub(super) async fn none_open(&self) {
        loop {
            let closed = self.closed.notified();
            tokio::pin!(closed);
            closed.as_mut().enable();
            if self.open() == 0 {
                return;
            }
            closed.await;
        }
    }
}

/// Counts as one open connection until it is dropped. Belongs to whoever serves the connection.
#[derive(Debug)]
#[must_use = "a dropped guard counts the connection as closed"]
pub struct ConnectionGuard {
    loads: Arc<Loads>,
    shard: usize,
}

impl ConnectionGuard {
    /// The shard the connection was given to.
    #[must_use]
    pub fn shard(&self) -> usize {
        self.shard
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.loads.shards[self.shard].open.fetch_sub(1, Ordering::Release);
        self.loads.closed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shard_with_the_fewest_connections_gets_the_next() {
        let loads = Loads::new(3, 100);
        let mut guards: Vec<_> = (0..7).map(|_| loads.admit().expect("below the limit")).collect();
        assert_eq!(guards.iter().map(ConnectionGuard::shard).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2, 0]);
        guards.retain(|guard| guard.shard() != 1);
        assert_eq!(loads.stats().open, [3, 0, 2]);
        let next: Vec<_> = (0..3).map(|_| loads.admit().expect("below the limit")).collect();
        assert_eq!(next.iter().map(ConnectionGuard::shard).collect::<Vec<_>>(), [1, 1, 1]);
    }

    #[test]
    fn the_limit_refuses_until_a_connection_closes() {
        let loads = Loads::new(2, 2);
        let first = loads.admit().expect("below the limit");
        let _second = loads.admit().expect("below the limit");
        assert!(loads.admit().is_none());
        drop(first);
        assert!(loads.admit().is_some());
        let stats = loads.stats();
        assert_eq!((stats.accepted, stats.refused), (3, 1));
    }
}
