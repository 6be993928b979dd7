//! The gate between tokens that name an unknown `kid` and the one task that fetches their issuer's keys.
//!
//! An issuer that rotates its keys signs with the new one before our next refresh, so an unknown `kid` may start a
//! fetch. The `kid` is the caller's text, so what it can cause is bounded: one fetch in flight, whoever else asks joins
//! it; a token bucket for fetches started this way; and a `kid` that a fetch did not bring is refused without another
//! for a while. Names are remembered as keyed 64-bit hashes, so memory does not depend on what callers send, and time
//! is an argument.
//!
//! The gate has a lock. It is the only one that shards share on the path of a token, and only a token with an unknown
//! `kid` meets it, for as long as it takes to look through the names that are remembered.

#[cfg(feature = "fetch")]
use std::collections::VecDeque;
#[cfg(feature = "fetch")]
use std::hash::{BuildHasher, RandomState};
#[cfg(feature = "fetch")]
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
#[cfg(feature = "fetch")]
use std::time::Instant;

#[cfg(feature = "fetch")]
use super::KeySet;

/// Bounds on fetches that unknown key ids may cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefetchLimits {
    /// Fetches that may start at once after a quiet time. Default 3.
    pub burst: u32,
    /// One more may start after each such span. Default 10 s.
    pub interval: Duration,
    /// How long a `kid` that a fetch did not bring is refused without another. Default 30 s.
    pub negative_ttl: Duration,
    /// How many such names are remembered; the oldest is forgotten first. Default 1024.
    pub negative_max: usize,
}

impl Default for RefetchLimits {
    fn default() -> Self {
        Self { burst: 3, interval: Duration::from_secs(10), negative_ttl: Duration::from_secs(30), negative_max: 1024 }
    }
}

#[cfg(feature = "fetch")]
/// Names that wait for one flight are remembered up to this many; the others are just not remembered as unknown.
const ASKED_MAX: usize = 256;

#[cfg(feature = "fetch")]
/// The gate. Closed (answers `None`) until a fetcher opens it.
#[derive(Debug)]
pub(super) struct RefetchGate {
    inner: Mutex<Inner>,
    hasher: RandomState,
    finished: tokio::sync::watch::Sender<u64>,
    wanted: tokio::sync::Notify,
}

#[cfg(feature = "fetch")]
#[derive(Debug, Default)]
struct Inner {
    /// `None` while no fetcher serves this issuer.
    limits: Option<RefetchLimits>,
    flight: Flight,
    /// Names asked for since the last flight began.
    asked: Vec<u64>,
    negative: VecDeque<(u64, Instant)>,
    /// Time credit of the bucket: a fetch costs `interval`, `burst * interval` is the most that is kept.
    credit: Duration,
    credited_at: Option<Instant>,
    started: u64,
    /// Number of the fetcher that serves this issuer.
    fetcher: u64,
}

#[cfg(feature = "fetch")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Flight {
    #[default]
    Idle,
    /// Asked for; the fetcher has not begun.
    Wanted,
    /// The fetcher is at it.
    Under,
}

#[cfg(feature = "fetch")]
impl Default for RefetchGate {
    fn default() -> Self {
        Self {
            inner: Mutex::default(),
            hasher: RandomState::new(),
            finished: tokio::sync::watch::Sender::new(0),
            wanted: tokio::sync::Notify::new(),
        }
    }
}

#[cfg(feature = "fetch")]
impl RefetchGate {
    /// A token named `key_id`, which the current set does not have.
    pub(super) fn ask(&self, key_id: &str, now: Instant) -> Option<Refetch> {
        let name = self.hasher.hash_one(key_id);
        let mut inner = self.inner();
        let limits = inner.limits?;
        if inner.negative.iter().any(|&(known, until)| known == name && now < until) {
            return None;
        }
        match inner.flight {
            Flight::Idle => {
                if !inner.spend(&limits, now) {
                    return None;
                }
                inner.flight = Flight::Wanted;
                inner.started += 1;
                inner.remember(name);
                self.wanted.notify_one();
            }
            Flight::Wanted => inner.remember(name),
            // What is under way may have been answered before the new key was there: the name is not held against it.
            Flight::Under => {}
        }
        // Under the lock, so that the flight cannot end unnoticed in between.
        Some(Refetch { finished: self.finished.subscribe() })
    }

    /// Fetches started by unknown key ids so far.
    pub(super) fn started(&self) -> u64 {
        self.inner().started
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Whole after every statement: a panic elsewhere does not spoil it.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a flight brought, for the gate.
#[cfg(feature = "fetch")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Landed {
    /// The issuer answered: names that are still unknown are unknown to it.
    Answered,
    /// It did not: nothing is known about the names.
    Failed,
}

#[cfg(feature = "fetch")]
impl RefetchGate {
    /// A fetcher serves this issuer from now on, in place of one that may have done so before. It closes with the
    /// number it gets here.
    pub(super) fn open(&self, limits: RefetchLimits, now: Instant) -> u64 {
        let mut inner = self.inner();
        inner.fetcher += 1;
        inner.limits = Some(limits);
        inner.credit = limits.interval.saturating_mul(limits.burst);
        inner.credited_at = Some(now);
        inner.fetcher
    }

    /// That fetcher is gone: who waits is let go, and nobody will wait again, unless another has taken over.
    pub(super) fn close(&self, fetcher: u64) {
        let mut inner = self.inner();
        if inner.fetcher != fetcher {
            return;
        }
        inner.limits = None;
        inner.flight = Flight::Idle;
        inner.asked.clear();
        self.finished.send_modify(|count| *count += 1);
    }

    /// Completes when a fetch is wanted.
    pub(super) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Whether a fetch that a token asked for has not begun yet.
    pub(super) fn is_wanted(&self) -> bool {
        self.inner().flight == Flight::Wanted
    }

    /// A fetch begins, asked for or by the clock.
    pub(super) fn begin(&self) {
        self.inner().flight = Flight::Under;
    }

    /// It ended; `keys` is the set that is current now. Names that are in it are not held against anyone: a token may
    /// have looked in the set before and ask here after.
    pub(super) fn land(&self, landed: Landed, keys: Option<&KeySet>, now: Instant) {
        let mut inner = self.inner();
        inner.flight = Flight::Idle;
        let mut asked = std::mem::take(&mut inner.asked);
        for key_id in keys.into_iter().flat_map(KeySet::keys).filter_map(|key| key.key_id.as_deref()) {
            let name = self.hasher.hash_one(key_id);
            asked.retain(|&known| known != name);
        }
        if let (Landed::Answered, Some(limits)) = (landed, inner.limits) {
            let until = now + limits.negative_ttl;
            inner.negative.retain(|&(_, until)| now < until);
            for name in asked {
                if inner.negative.len() >= limits.negative_max {
                    inner.negative.pop_front();
                }
                if limits.negative_max > 0 {
                    inner.negative.push_back((name, until));
                }
            }
        }
        // Under the lock, so that who asks next does not take this end for the end of its own flight.
        self.finished.send_modify(|count| *count += 1);
    }
}

#[cfg(feature = "fetch")]
impl Inner {
    fn remember(&mut self, name: u64) {
        if self.asked.len() < ASKED_MAX && !self.asked.contains(&name) {
            self.asked.push(name);
        }
    }

    /// Takes one fetch from the bucket, if there is one.
    fn spend(&mut self, limits: &RefetchLimits, now: Instant) -> bool {
        if let Some(then) = self.credited_at {
            let earned = now.saturating_duration_since(then);
            self.credit = self.credit.saturating_add(earned).min(limits.interval.saturating_mul(limits.burst));
        }
        self.credited_at = Some(now);
        if limits.burst == 0 || self.credit < limits.interval {
            return false;
        }
        self.credit -= limits.interval;
        true
    }
}

/// A refetch under way. Await it (bounded by the caller), then look in the new set.
#[derive(Debug)]
pub struct Refetch {
    #[cfg(feature = "fetch")]
    finished: tokio::sync::watch::Receiver<u64>,
    #[cfg(not(feature = "fetch"))]
    never: std::convert::Infallible,
}

impl Refetch {
    /// Completes when the refetch ended, well or not.
    #[cfg(feature = "fetch")]
    pub async fn finished(mut self) {
        // An error means that the issuer is gone from the configuration: over as well.
        let _ended = self.finished.changed().await;
    }

    /// Completes when the refetch ended. Without feature `fetch` there is none to wait for.
    #[cfg(not(feature = "fetch"))]
    pub async fn finished(self) {
        match self.never {}
    }
}

#[cfg(all(test, feature = "fetch"))]
mod tests {
    use super::*;

    const LIMITS: RefetchLimits = RefetchLimits {
        burst: 2,
        interval: Duration::from_secs(10),
        negative_ttl: Duration::from_secs(30),
        negative_max: 3,
    };

    fn open(now: Instant) -> RefetchGate {
        let gate = RefetchGate::default();
        gate.open(LIMITS, now);
        gate
    }

    fn fly(gate: &RefetchGate, landed: Landed, now: Instant) {
        gate.begin();
        gate.land(landed, None, now);
    }

    #[test]
    fn the_gate_is_closed_without_a_fetcher() {
        let now = Instant::now();
        let gate = RefetchGate::default();
        assert!(gate.ask("a", now).is_none());
        let first = gate.open(LIMITS, now);
        assert!(gate.ask("a", now).is_some());
        let second = gate.open(LIMITS, now);
        gate.close(first);
        assert!(gate.ask("b", now).is_some(), "the one before cannot close for the one that took over");
        gate.close(second);
        assert!(gate.ask("c", now).is_none());
    }

    #[test]
    fn the_bucket_refills_by_the_interval_up_to_the_burst() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let gate = open(start);
        for (second, allowed) in [
            (0, true),
            (0, true),
            (0, false),
            (9, false),
            (10, true),
            (10, false),
            (19, false),
            (20, true),
            (1000, true),
            (1000, true),
            (1000, false),
        ] {
            let answer = gate.ask(&format!("{second}"), at(second)).is_some();
            assert_eq!(answer, allowed, "at second {second}");
            if answer {
                fly(&gate, Landed::Failed, at(second));
            }
        }
    }

    #[test]
    fn a_name_is_forgotten_after_its_time_and_the_oldest_first() {
        let start = Instant::now();
        let gate = open(start);
        for name in ["a", "b", "c", "d"] {
            assert!(gate.ask(name, start).is_some());
            // All join the one that is wanted.
        }
        fly(&gate, Landed::Answered, start);
        assert!(gate.ask("d", start).is_none() && gate.ask("b", start).is_none());
        assert!(gate.ask("a", start).is_some(), "three names are remembered, not four");
        fly(&gate, Landed::Answered, start);
        assert!(gate.ask("d", start + LIMITS.negative_ttl).is_some(), "its time is over");
    }

    #[test]
    fn no_burst_means_no_fetch() {
        let now = Instant::now();
        let gate = RefetchGate::default();
        gate.open(RefetchLimits { burst: 0, interval: Duration::ZERO, ..LIMITS }, now);
        assert!(gate.ask("a", now).is_none());
    }

    #[test]
    fn memory_does_not_follow_what_callers_send() {
        let now = Instant::now();
        let gate = open(now);
        for name in 0..10_000 {
            let _joined = gate.ask(&format!("{name}"), now);
        }
        assert_eq!(gate.inner().asked.len(), ASKED_MAX);
        fly(&gate, Landed::Answered, now);
        assert_eq!(gate.inner().negative.len(), LIMITS.negative_max);
        assert!(gate.inner().asked.is_empty());
    }
}
