//! Counters of one shard. One thread writes them with plain relaxed loads and stores (no locked instruction), any thread
//! reads them; a reader may see two counters a moment apart.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::Outcome;
use crate::kernel::{GROUP_WIDTH, Scheme};

/// Why a lane group ran when it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flush {
    /// Every lane had a job.
    Full,
    /// Nothing else on the thread was ready, or the oldest job had waited long enough.
    Idle,
    /// As many jobs as the turn's budget pays for on a kernel that gains nothing from more, while others waited.
    Budget,
}

#[derive(Debug, Default)]
struct SchemeCounters {
    groups: AtomicU64,
    jobs: AtomicU64,
    kernel_ns: AtomicU64,
}

/// Counters of one shard. Written by its own thread only; padded so that two shards never share a cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct ShardStats {
    submitted: AtomicU64,
    good: AtomicU64,
    bad: AtomicU64,
    deadline_exceeded: AtomicU64,
    overloaded: AtomicU64,
    abandoned: AtomicU64,
    flushed_full: AtomicU64,
    flushed_idle: AtomicU64,
    flushed_budget: AtomicU64,
    spilled_out: AtomicU64,
    spilled_in: AtomicU64,
    slots_in_use: AtomicU64,
    slots_in_use_max: AtomicU64,
    fill: [AtomicU64; GROUP_WIDTH],
    schemes: [SchemeCounters; Scheme::COUNT],
}

/// What [`ShardStats::snapshot`] reads. Counters since start unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatsSnapshot {
    /// Jobs that took a slot.
    pub submitted: u64,
    /// Jobs whose signature was good.
    pub good: u64,
    /// Jobs whose signature was not; among them those whose signature was too long for a slot.
    pub bad: u64,
    /// Jobs dropped unrun because their deadline had passed.
    pub deadline_exceeded: u64,
    /// Jobs refused for want of a slot, or because the engine was closed.
    pub overloaded: u64,
    /// Jobs whose ticket was dropped before they settled.
    pub abandoned: u64,
    /// Lane groups run because every lane had a job.
    pub flushed_full: u64,
    /// Lane groups run because nothing else was ready.
    pub flushed_idle: u64,
    /// Lane groups cut to what the turn's budget pays for, with others left waiting.
    pub flushed_budget: u64,
    /// Lane groups handed to another shard.
    pub spilled_out: u64,
    /// Lane groups run for another shard.
    pub spilled_in: u64,
    /// Slots in use now.
    pub slots_in_use: u64,
    /// The most slots that were ever in use at once.
    pub slots_in_use_max: u64,
    /// Lane groups run on this shard by number of jobs: element `i` counts groups of `i + 1`.
    pub fill: [u64; GROUP_WIDTH],
    /// Work of this shard's kernels, by [`Scheme::index`].
    pub schemes: [SchemeSnapshot; Scheme::COUNT],
}

/// Work of one scheme's kernel on one shard, since start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchemeSnapshot {
    /// Lane groups run.
    pub groups: u64,
    /// Jobs in them.
    pub jobs: u64,
    /// Wall time inside the kernel.
    pub kernel_time: Duration,
}

/// Adds `n`. Correct because one thread alone writes.
fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl ShardStats {
    /// Reads all counters.
    #[must_use]
    pub fn snapshot(&self) -> StatsSnapshot {
        StatsSnapshot {
            submitted: get(&self.submitted),
            good: get(&self.good),
            bad: get(&self.bad),
            deadline_exceeded: get(&self.deadline_exceeded),
            overloaded: get(&self.overloaded),
            abandoned: get(&self.abandoned),
            flushed_full: get(&self.flushed_full),
            flushed_idle: get(&self.flushed_idle),
            flushed_budget: get(&self.flushed_budget),
            spilled_out: get(&self.spilled_out),
            spilled_in: get(&self.spilled_in),
            slots_in_use: get(&self.slots_in_use),
            slots_in_use_max: get(&self.slots_in_use_max),
            fill: std::array::from_fn(|lanes| get(&self.fill[lanes])),
            schemes: std::array::from_fn(|scheme| {
                let counters = &self.schemes[scheme];
                SchemeSnapshot {
                    groups: get(&counters.groups),
                    jobs: get(&counters.jobs),
                    kernel_time: Duration::from_nanos(get(&counters.kernel_ns)),
                }
            }),
        }
    }

    pub(super) fn submitted(&self, slots_in_use: usize) {
        add(&self.submitted, 1);
        let in_use = slots_in_use as u64;
        self.slots_in_use.store(in_use, Ordering::Relaxed);
        if in_use > get(&self.slots_in_use_max) {
            self.slots_in_use_max.store(in_use, Ordering::Relaxed);
        }
    }

    pub(super) fn slots_in_use(&self, slots: usize) {
        self.slots_in_use.store(slots as u64, Ordering::Relaxed);
    }

    pub(super) fn overloaded(&self, jobs: usize) {
        add(&self.overloaded, jobs as u64);
    }

    pub(super) fn abandoned(&self) {
        add(&self.abandoned, 1);
    }

    pub(super) fn settled(&self, outcome: Outcome) {
        add(
            match outcome {
                Outcome::Good => &self.good,
                Outcome::Bad => &self.bad,
                Outcome::DeadlineExceeded => &self.deadline_exceeded,
            },
            1,
        );
    }

    pub(super) fn flushed(&self, why: Flush) {
        add(
            match why {
                Flush::Full => &self.flushed_full,
                Flush::Idle => &self.flushed_idle,
                Flush::Budget => &self.flushed_budget,
            },
            1,
        );
    }

    /// A kernel ran here with `jobs` (1 to [`GROUP_WIDTH`]) in its lanes.
    pub(super) fn ran(&self, scheme: Scheme, jobs: usize, time: Duration) {
        add(&self.fill[jobs - 1], 1);
        let counters = &self.schemes[scheme.index()];
        add(&counters.groups, 1);
        add(&counters.jobs, jobs as u64);
        add(&counters.kernel_ns, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(super) fn spilled_out(&self) {
        add(&self.spilled_out, 1);
    }

    pub(super) fn spilled_in(&self) {
        add(&self.spilled_in, 1);
    }
}
