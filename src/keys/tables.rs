//! Which prepared key gets how large a table of multiples, under one budget of memory.
//!
//! [`TablePlanner`] is pure: it is shown the keys of all issuers once a round and says which tables to build or drop.
//! [`TableBuilder`] is the thread that asks it and does the building, away from the shards. A verdict never depends on
//! a table; it only comes sooner.
//!
//! The rule: a key starts small when its set is published ([`IssuerKeys::publish`](super::IssuerKeys::publish)). Keys
//! with steady traffic get larger tables, and the fewer of them there are the larger: tables of many keys in turn push
//! each other out of the CPU's caches, where a larger table is slower than a small one. When the budget is short, the
//! keys used least recently give up their tables first.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::IssuerKeys;
use crate::kernel::{PreparedKey, Tier};

/// Checks in a round, halved with every further round, from which a key counts as hot.
const HOT: u64 = 256;
/// Rounds without a use after which a key gives its larger table back.
const IDLE_ROUNDS: u64 = 600;
/// Up to this many hot keys get full tables.
const FULL_KEYS_MAX: usize = 2;
/// Up to this many hot keys get large tables.
const LARGE_KEYS_MAX: usize = 8;
/// How often the builder looks.
const ROUND: Duration = Duration::from_millis(500);
/// Memory of all tables unless configured otherwise: 64 MiB.
pub const TABLE_BYTES_DEFAULT: usize = 64 << 20;

/// What is remembered of a key between rounds.
#[derive(Debug)]
struct History {
    /// Keeps the address from being given to another key.
    key: Weak<PreparedKey>,
    uses: u64,
    heat: u64,
    last_used: u64,
}

/// Decides about tables, round by round.
#[derive(Debug)]
pub struct TablePlanner {
    bytes_max: usize,
    round: u64,
    /// By address, which is a name here and never followed.
    seen: HashMap<usize, History>,
}

impl TablePlanner {
    /// Tables of all keys together take at most `bytes_max`.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, round: 0, seen: HashMap::new() }
    }

    /// One round: the changes that bring the tables of `keys` to the plan, those that free memory first.
    pub fn plan(&mut self, keys: &[Arc<PreparedKey>]) -> Vec<(Arc<PreparedKey>, Tier)> {
        self.round += 1;
        self.seen.retain(|_, history| history.key.strong_count() > 0);
        let mut rows: Vec<Row> = Vec::new();
        for key in keys {
            let Some(current) = key.tier() else { continue };
            if rows.iter().any(|row| Arc::ptr_eq(row.key, key)) {
                continue;
            }
            let history = self.seen.entry(Arc::as_ptr(key).addr()).or_insert_with(|| History {
                key: Arc::downgrade(key),
                uses: 0,
                heat: 0,
                last_used: 0,
            });
            let uses = key.uses();
            let fresh = uses.saturating_sub(history.uses);
            history.uses = uses;
            history.heat = (history.heat / 2).saturating_add(fresh);
            if fresh > 0 {
                history.last_used = self.round;
            }
            rows.push(Row { key, current, heat: history.heat, last_used: history.last_used });
        }
        // Stable: keys that are equal in this keep the order of their sets.
        rows.sort_by_key(|row| std::cmp::Reverse((row.last_used, row.heat)));
        let hot_tier = match rows.iter().filter(|row| row.heat >= HOT).count() {
            0..=FULL_KEYS_MAX => Tier::Full,
            hot if hot <= LARGE_KEYS_MAX => Tier::Large,
            _ => Tier::Medium,
        };
        let mut changes = Vec::new();
        let mut left = self.bytes_max;
        for row in &rows {
            let idle = self.round.saturating_sub(row.last_used) > IDLE_ROUNDS;
            let wanted = if row.heat >= HOT {
                hot_tier
            } else if idle {
                Tier::Small
            } else {
                // Warm, or hot a moment ago: what it has, unless others need the memory or the caches.
                row.current.clamp(Tier::Small, hot_tier)
            };
            let granted = Tier::ALL
                .into_iter()
                .rev()
                .find(|tier| *tier <= wanted && row.key.tier_bytes(*tier) <= left)
                .unwrap_or(Tier::Bare);
            left = left.saturating_sub(row.key.tier_bytes(granted));
            if granted != row.current {
                changes.push((Arc::clone(row.key), row.current, granted));
            }
        }
        changes.sort_by_key(|(_, current, granted)| granted > current);
        changes.into_iter().map(|(key, _, granted)| (key, granted)).collect()
    }
}

#[derive(Debug)]
struct Row<'a> {
    key: &'a Arc<PreparedKey>,
    current: Tier,
    heat: u64,
    last_used: u64,
}

/// The thread that builds tables. Dropping it ends the thread.
#[derive(Debug)]
pub struct TableBuilder {
    stop: Option<std::sync::mpsc::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl TableBuilder {
    /// Starts building for the keys of `issuers`, which may be replaced while it runs.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn spawn(issuers: Vec<Arc<IssuerKeys>>, bytes_max: usize) -> std::io::Result<Self> {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let mut planner = TablePlanner::new(bytes_max);
        let thread = std::thread::Builder::new().name("verilane-tables".to_owned()).spawn(move || {
            use std::sync::mpsc::RecvTimeoutError;
            while stopped.recv_timeout(ROUND) == Err(RecvTimeoutError::Timeout) {
                let keys: Vec<_> = issuers.iter().flat_map(|issuer| issuer.prepared_keys()).collect();
                for (key, tier) in planner.plan(&keys) {
                    key.set_tier(tier);
                }
            }
        })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for TableBuilder {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported; nothing else is lost with it.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ed25519 keys on a CPU without lanes have no tiers, and there is nothing to plan.
    fn keys(count: usize) -> Option<Vec<Arc<PreparedKey>>> {
        let keys: Vec<_> = (0..count)
            .map(|number| {
                let point = curve25519_dalek::constants::ED25519_BASEPOINT_POINT
                    * curve25519_dalek::Scalar::from(number as u64 + 2);
                Arc::new(PreparedKey::ed25519(point.compress().as_bytes()).expect("a multiple of the base point"))
            })
            .collect();
        keys[0].tier().is_some().then_some(keys)
    }

    fn apply(changes: Vec<(Arc<PreparedKey>, Tier)>) {
        for (key, tier) in changes {
            key.set_tier(tier);
        }
    }

    fn spent(keys: &[Arc<PreparedKey>]) -> usize {
        keys.iter().map(|key| key.tier_bytes(key.tier().unwrap_or(Tier::Bare))).sum()
    }

    #[test]
    fn keys_nobody_uses_stay_small_and_the_budget_holds() {
        let Some(keys) = keys(12) else { return };
        let small = keys[0].tier_bytes(Tier::Small);
        for (budget, with_table) in [(0, 0), (small - 1, 0), (5 * small + 1, 5), (100 * small, 12)] {
            apply(keys.iter().map(|key| (Arc::clone(key), Tier::Bare)).collect());
            let mut planner = TablePlanner::new(budget);
            apply(planner.plan(&keys));
            assert!(spent(&keys) <= budget, "{budget}");
            let small = keys.iter().filter(|key| key.tier() == Some(Tier::Small)).count();
            assert_eq!(small, with_table, "{budget}");
            assert!(planner.plan(&keys).is_empty(), "a plan that is carried out is at rest");
        }
    }

    #[test]
    fn a_key_that_left_is_forgotten() {
        let Some(keys) = keys(3) else { return };
        let mut planner = TablePlanner::new(TABLE_BYTES_DEFAULT);
        planner.plan(&keys);
        assert_eq!(planner.seen.len(), 3);
        let kept = vec![Arc::clone(&keys[1])];
        drop(keys);
        planner.plan(&kept);
        assert_eq!(planner.seen.len(), 1);
    }

    #[test]
    fn a_key_in_two_sets_is_counted_once() {
        let Some(keys) = keys(1) else { return };
        let mut planner = TablePlanner::new(keys[0].tier_bytes(Tier::Small));
        let twice = [Arc::clone(&keys[0]), Arc::clone(&keys[0])];
        assert_eq!(planner.plan(&twice).len(), 1);
    }
}
