//! Counters of answered checks. A shard's observer is their only writer.

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hashbrown::HashMap;

use crate::api::{error_code, reason_code};
use crate::jose::Algorithm;
use crate::verify::{Error, Observation, Observe, Reason};

/// Upper bounds of the duration histogram, in nanoseconds.
const BOUNDS_NS: [u64; 16] = [
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    500_000_000,
    1_000_000_000,
];

/// Accepted, then every reason, then every error.
const OUTCOMES: usize = 1 + Reason::ALL.len() + Error::ALL.len();
/// Unknown, then every algorithm.
const ALGORITHMS: usize = 1 + Algorithm::ALL.len();
const KINDS: usize = 2;
/// Label of issuers that were not configured at start; not a name an issuer would have.
const OTHER: &str = "(other)";

/// What was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Token,
    Signature,
}

impl Kind {
    pub(super) const ALL: [Self; KINDS] = [Self::Token, Self::Signature];
}

/// Counters of all shards.
#[derive(Debug)]
pub struct CheckMetrics {
    /// Labels of issuers: no issuer selected, every configured name, a name that is not configured (after a reload).
    issuers: Vec<Arc<str>>,
    shards: Vec<Arc<ShardChecks>>,
}

#[derive(Debug)]
#[repr(align(128))]
struct ShardChecks {
    index: HashMap<Arc<str>, usize>,
    /// By issuer. Made when an issuer is first met, so that issuers without traffic cost nothing.
    issuers: Vec<OnceLock<Box<Cells>>>,
    durations: [Durations; KINDS],
}

#[derive(Debug)]
struct Cells([AtomicU64; KINDS * OUTCOMES * ALGORITHMS]);

#[derive(Debug, Default)]
struct Durations {
    buckets: [AtomicU64; BOUNDS_NS.len() + 1],
    sum_ns: AtomicU64,
}

/// One line of the counter: labels and value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CheckCount<'a> {
    pub(super) issuer: &'a str,
    pub(super) verdict: &'static str,
    pub(super) reason: &'static str,
    pub(super) algorithm: &'static str,
    pub(super) count: u64,
}

/// The duration histogram of one kind.
#[derive(Debug)]
pub(super) struct DurationHistogram {
    pub(super) sum_s: f64,
    pub(super) count: u64,
    /// Upper bound in seconds, and how many fell between it and the bound before.
    pub(super) buckets: Vec<(f64, u64)>,
}

impl CheckMetrics {
    /// Counters for `shards` shards and the issuers of these names.
    #[must_use]
    pub fn new(issuer_names: impl IntoIterator<Item = Arc<str>>, shards: usize) -> Self {
        let mut issuers: Vec<Arc<str>> = vec![Arc::from("")];
        issuers.extend(issuer_names);
        issuers.push(Arc::from(OTHER));
        let index: HashMap<Arc<str>, usize> =
            issuers.iter().enumerate().map(|(at, name)| (Arc::clone(name), at)).rev().collect();
        let shard = || {
            Arc::new(ShardChecks {
                index: index.clone(),
                issuers: issuers.iter().map(|_| OnceLock::new()).collect(),
                durations: Default::default(),
            })
        };
        let shards = (0..shards).map(|_| shard()).collect();
        Self { issuers, shards }
    }

    /// The observer of shard `index`. Make one per shard, on its thread: two writers would lose counts.
    ///
    /// # Panics
    /// If there is no such shard.
    #[must_use]
    pub fn observer(&self, index: usize) -> Rc<ShardObserver> {
        Rc::new(ShardObserver { checks: Arc::clone(&self.shards[index]), _bound: std::marker::PhantomData })
    }

    /// Everything that was ever counted, summed over shards.
    pub(super) fn counts(&self, kind: Kind) -> Vec<CheckCount<'_>> {
        let mut counts = Vec::new();
        for (at, issuer) in self.issuers.iter().enumerate() {
            let met: Vec<&Cells> =
                self.shards.iter().filter_map(|shard| shard.issuers[at].get()).map(Box::as_ref).collect();
            if met.is_empty() {
                continue;
            }
            for outcome in 0..OUTCOMES {
                for algorithm in 0..ALGORITHMS {
                    let cell = cell(kind, outcome, algorithm);
                    let count = met.iter().map(|cells| cells.0[cell].load(Ordering::Relaxed)).sum();
                    if count > 0 {
                        let (verdict, reason) = outcome_labels(outcome);
                        let algorithm = algorithm.checked_sub(1).map_or("", |known| Algorithm::ALL[known].name());
                        counts.push(CheckCount { issuer, verdict, reason, algorithm, count });
                    }
                }
            }
        }
        counts
    }

    /// Durations, summed over shards.
    pub(super) fn durations(&self, kind: Kind) -> DurationHistogram {
        let durations = || self.shards.iter().map(|shard| &shard.durations[kind as usize]);
        let sum = |read: &dyn Fn(&Durations) -> u64| durations().map(read).sum::<u64>();
        let buckets: Vec<(f64, u64)> = (0..=BOUNDS_NS.len())
            .map(|at| {
                let bound = BOUNDS_NS.get(at).map_or(f64::INFINITY, |ns| Duration::from_nanos(*ns).as_secs_f64());
                (bound, sum(&|each| each.buckets[at].load(Ordering::Relaxed)))
            })
            .collect();
        DurationHistogram {
            sum_s: Duration::from_nanos(sum(&|each| each.sum_ns.load(Ordering::Relaxed))).as_secs_f64(),
            count: buckets.iter().map(|(_, count)| count).sum(),
            buckets,
        }
    }
}

/// Counts the answers of one shard, on its thread.
#[derive(Debug)]
pub struct ShardObserver {
    checks: Arc<ShardChecks>,
    /// Not `Send`: there is one writer.
    _bound: std::marker::PhantomData<Rc<()>>,
}

impl Observe for ShardObserver {
    fn observe(&self, observation: &Observation<'_>) {
        let kind = if observation.raw { Kind::Signature } else { Kind::Token };
        let outcome = match observation.outcome {
            Ok(None) => 0,
            Ok(Some(reason)) => 1 + reason as usize,
            Err(error) => 1 + Reason::ALL.len() + error as usize,
        };
        let algorithm = observation.algorithm.map_or(0, |algorithm| 1 + algorithm as usize);
        let checks = &self.checks;
        let other = checks.issuers.len() - 1;
        let issuer = checks.index.get(observation.issuer_name).copied().unwrap_or(other);
        let cells = checks.issuers[issuer].get_or_init(|| Box::new(Cells([const { AtomicU64::new(0) }; _])));
        add(&cells.0[cell(kind, outcome, algorithm)], 1);

        let ns = u64::try_from(observation.elapsed.as_nanos()).unwrap_or(u64::MAX);
        let durations = &checks.durations[kind as usize];
        add(&durations.buckets[BOUNDS_NS.partition_point(|bound| *bound < ns)], 1);
        add(&durations.sum_ns, ns);
    }
}

/// Adds `n`. Correct because one thread alone writes.
fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
}

const fn cell(kind: Kind, outcome: usize, algorithm: usize) -> usize {
    (kind as usize * OUTCOMES + outcome) * ALGORITHMS + algorithm
}

/// `verdict` and `reason`: the code of a reason, or of an error.
fn outcome_labels(outcome: usize) -> (&'static str, &'static str) {
    match outcome.checked_sub(1) {
        None => ("accepted", ""),
        Some(at) => match Reason::ALL.get(at) {
            Some(reason) => ("rejected", reason_code(*reason)),
            None => ("error", error_code(Error::ALL[at - Reason::ALL.len()])),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observation(issuer_name: &str, outcome: Result<Option<Reason>, Error>, micros: u64) -> Observation<'_> {
        let elapsed = Duration::from_micros(micros);
        Observation { issuer_name, algorithm: Some(Algorithm::EdDsa), outcome, elapsed, raw: false }
    }

    #[test]
    fn shards_are_summed_and_labels_are_told_apart() {
        let metrics = CheckMetrics::new([Arc::from("main")], 2);
        for shard in 0..2 {
            let observer = metrics.observer(shard);
            observer.observe(&observation("main", Ok(None), 7));
            observer.observe(&observation("main", Ok(Some(Reason::Expired)), 7));
            observer.observe(&observation("gone", Err(Error::Overloaded), 2_000_000));
        }
        let line = |issuer, verdict, reason| CheckCount { issuer, verdict, reason, algorithm: "EdDSA", count: 2 };
        assert_eq!(
            metrics.counts(Kind::Token),
            vec![line("main", "accepted", ""), line("main", "rejected", "expired"), line(OTHER, "error", "overloaded")]
        );
        assert_eq!(metrics.counts(Kind::Signature), vec![]);
        let histogram = metrics.durations(Kind::Token);
        assert_eq!(histogram.count, 6);
        assert_eq!(histogram.buckets[1], (0.000_01, 4));
        assert_eq!(histogram.buckets[16], (f64::INFINITY, 2));
    }

    #[test]
    fn every_outcome_and_algorithm_has_a_cell_of_its_own() {
        let metrics = CheckMetrics::new([], 1);
        let observer = metrics.observer(0);
        let outcomes =
            std::iter::once(Ok(None)).chain(Reason::ALL.map(|reason| Ok(Some(reason)))).chain(Error::ALL.map(Err));
        for outcome in outcomes {
            for algorithm in std::iter::once(None).chain(Algorithm::ALL.map(Some)) {
                for raw in [false, true] {
                    let elapsed = Duration::ZERO;
                    observer.observe(&Observation { issuer_name: "", algorithm, outcome, elapsed, raw });
                }
            }
        }
        for kind in Kind::ALL {
            let counts = metrics.counts(kind);
            assert_eq!(counts.len(), OUTCOMES * ALGORITHMS);
            assert!(counts.iter().all(|each| each.count == 1));
        }
    }

    #[test]
    fn enum_order_is_the_order_of_the_lists() {
        assert!(Reason::ALL.iter().enumerate().all(|(at, reason)| *reason as usize == at));
        assert!(Error::ALL.iter().enumerate().all(|(at, error)| *error as usize == at));
        assert!(Algorithm::ALL.iter().enumerate().all(|(at, algorithm)| *algorithm as usize == at));
    }
}
