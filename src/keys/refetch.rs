//! The gate between tokens that name an unknown `kid` and the one task that fetches their issuer's keys.
//!
//! An issuer that rotates its keys signs with the new one before our next refresh, so an unknown `kid` may start a
//! fetch. The `kid` is the caller's text, so what it can cause is bounded: one fetch in flight, whoever else asks joins
//! it; a token bucket for fetches started this way; and a `kid` that a fetch did not bring is refused without another
//! for a while. Names are remembered as keyed 64-bit hashes, so memory does not depend on what callers send, and time
//! is an argument.
//!
//! The gate has a lock, the only one that shards share on the path of a token. A token meets it only if its `kid` is
//! unknown and may start or join a fetch. What can be refused without one is answered from a snapshot: a source that is
//! never fetched, a name that a fetch did not bring, a bucket that is empty.

#[cfg(feature = "fetch")]
use std::collections::VecDeque;
#[cfg(feature = "fetch")]
use std::hash::{BuildHasher, RandomState};
#[cfg(feature = "fetch")]
use std::sync::atomic::{AtomicU64, Ordering};
#[cfg(feature = "fetch")]
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
#[cfg(feature = "fetch")]
use std::time::Instant;

#[cfg(feature = "fetch")]
use arc_swap::ArcSwap;
#[cfg(feature = "fetch")]
use hashbrown::HashMap;

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

/// No time of ours comes after it.
#[cfg(feature = "fetch")]
const FOR_EVER: u64 = u64::MAX;

#[cfg(feature = "fetch")]
/// The gate. Closed (answers `None`) until a fetcher opens it.
#[derive(Debug)]
pub(super) struct RefetchGate {
    inner: Mutex<Inner>,
    /// Until when each name is refused: what `Inner::negative` says, for readers without the lock.
    negative: ArcSwap<HashMap<u64, Instant>>,
    /// Until when every unknown name is refused, in nanoseconds after `born`. Written under the lock.
    closed_until: AtomicU64,
    born: Instant,
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
            negative: ArcSwap::default(),
            closed_until: AtomicU64::new(FOR_EVER),
            born: Instant::now(),
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
        if self.nanos(now) < self.closed_until.load(Ordering::Acquire) {
            return None;
        }
        let name = self.hasher.hash_one(key_id);
        if self.negative.load().get(&name).is_some_and(|&until| now < until) {
            return None;
        }
        let mut inner = self.inner();
        let limits = inner.limits?;
        match inner.flight {
            Flight::Idle => {
                if let Err(wait) = inner.spend(&limits, now) {
                    let until = wait.and_then(|wait| now.checked_add(wait));
                    self.close_until(until.map_or(FOR_EVER, |until| self.nanos(until)));
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

    /// Time as the lock-free answer knows it. Never decreases as `now` grows.
    fn nanos(&self, now: Instant) -> u64 {
        let age = now.saturating_duration_since(self.born).as_nanos();
        u64::try_from(age).unwrap_or(FOR_EVER).min(FOR_EVER - 1)
    }

    /// Only under the lock, so that it agrees with the flight and the bucket.
    fn close_until(&self, nanos: u64) {
        self.closed_until.store(nanos, Ordering::Release);
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
        self.close_until(0);
        inner.fetcher
    }

    /// That fetcher is gone: who waits is let go, and nobody will wait again, unless another has taken over.
    pub(super) fn close(&self, fetcher: u64) {
        let mut inner = self.inner();
        if inner.fetcher != fetcher {
            return;
        }
        inner.limits = None;
        self.close_until(FOR_EVER);
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
        let mut inner = self.inner();
        inner.flight = Flight::Under;
        // An empty bucket is no reason to refuse who may join this one. Without a fetcher nobody may.
        if inner.limits.is_some() {
            self.close_until(0);
        }
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
            self.negative.store(Arc::new(inner.negative.iter().copied().collect()));
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

    /// Takes one fetch from the bucket.
    ///
    /// # Errors
    /// How long until there is one, if it is empty; `None` if there never is.
    fn spend(&mut self, limits: &RefetchLimits, now: Instant) -> Result<(), Option<Duration>> {
        if let Some(then) = self.credited_at {
            let earned = now.saturating_duration_since(then);
            self.credit = self.credit.saturating_add(earned).min(limits.interval.saturating_mul(limits.burst));
        }
        self.credited_at = Some(now);
        if limits.burst == 0 {
            return Err(None);
        }
        match self.credit.checked_sub(limits.interval) {
            Some(left) => self.credit = left,
            None => return Err(Some(limits.interval.saturating_sub(self.credit))),
        }
        Ok(())
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
    fn what_needs_no_fetch_is_refused_without_the_lock() {
        let start = Instant::now();
        let later = start + Duration::from_secs(5);
        let gate = RefetchGate::default();
        let refused = |gate: &RefetchGate, name: &str, now: Instant| {
            let (answered, answer) = std::sync::mpsc::channel();
            std::thread::scope(|scope| {
                let held = gate.inner();
                scope.spawn(move || answered.send(gate.ask(name, now).is_none()));
                let refused = answer.recv_timeout(Duration::from_secs(60));
                drop(held);
                assert_eq!(refused, Ok(true), "{name}");
            });
        };
        refused(&gate, "no fetcher", start);
        gate.open(LIMITS, start);
        for name in ["a", "b"] {
            assert!(gate.ask(name, start).is_some());
            fly(&gate, Landed::Answered, start);
            refused(&gate, name, later);
        }
        assert!(gate.ask("c", start).is_none(), "the bucket is empty");
        refused(&gate, "d", later);
        gate.begin();
        assert!(gate.ask("d", later).is_some(), "joins the flight that the clock began");
        gate.land(Landed::Failed, None, later);
        assert!(gate.ask("d", start + LIMITS.interval).is_some(), "the bucket has one again");
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
