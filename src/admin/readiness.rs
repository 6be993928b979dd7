//! Whether this process should get traffic.
//!
//! Not before the self-test has passed. Then it waits for every issuer's first key set, but not for ever: an issuer that
//! is down must not keep the tokens of the others from being verified. Tokens of an issuer without keys are answered
//! with an error, never accepted. Once ready it stays ready until the drain; later trouble with keys shows in the detail.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::verify::IssuerEntry;

/// State of readiness, shared by the admin listener and what starts and stops the process.
#[derive(Debug)]
pub struct Readiness {
    first_keys_until: Instant,
    self_test_passed: AtomicBool,
    draining: AtomicBool,
    was_ready: AtomicBool,
}

/// The answer of `/readyz`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReadinessReport {
    /// Whether traffic should come.
    pub ready: bool,
    /// One sentence: why, or why not.
    pub detail: String,
    /// How the keys of each issuer are doing.
    pub issuers: Vec<IssuerReadiness>,
}

/// The keys of one issuer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IssuerReadiness {
    /// Configured name.
    pub name: String,
    /// Where its keys come from.
    pub source: String,
    /// Whether its tokens can be verified now.
    pub usable: bool,
    /// Keys in use.
    pub keys: usize,
    /// Number of the key set.
    pub generation: u64,
    /// Seconds since the source last gave or confirmed the set.
    pub age_s: Option<u64>,
    /// Seconds until the source is asked next.
    pub next_refresh_s: Option<u64>,
    /// What went wrong at the last attempt.
    pub last_error: Option<String>,
    /// Entries of the document that cannot be used, and why.
    pub skipped: Vec<String>,
    /// What an operator should know.
    pub warnings: Vec<String>,
}

impl Readiness {
    /// Not ready. First keys are waited for at most `first_keys_wait` from now.
    #[must_use]
    pub fn new(first_keys_wait: Duration) -> Self {
        let now = Instant::now();
        Self {
            // A wait beyond what the clock can hold is a setting that means "for ever"; a year will do.
            first_keys_until: now.checked_add(first_keys_wait).unwrap_or(now + Duration::from_secs(365 * 86_400)),
            self_test_passed: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            was_ready: AtomicBool::new(false),
        }
    }

    /// The self-test of the kernels has passed.
    pub fn self_test_passed(&self) {
        self.self_test_passed.store(true, Ordering::Relaxed);
    }

    /// The process is about to stop: no more traffic, please.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// The state now.
    #[must_use]
    pub fn report(&self, issuers: &[IssuerEntry]) -> ReadinessReport {
        self.report_at(issuers, Instant::now())
    }

    fn report_at(&self, issuers: &[IssuerEntry], now: Instant) -> ReadinessReport {
        let keys: Vec<IssuerReadiness> = issuers.iter().map(|issuer| issuer_readiness(issuer, now)).collect();
        let without = keys.iter().filter(|issuer| issuer.generation == 0).map(|issuer| issuer.name.as_str());
        let without: Vec<&str> = without.collect();
        let (ready, detail) = if self.draining.load(Ordering::Relaxed) {
            (false, "draining".to_owned())
        } else if !self.self_test_passed.load(Ordering::Relaxed) {
            (false, "the self-test of the kernels has not passed yet".to_owned())
        } else if without.is_empty() {
            (true, "ready".to_owned())
        } else if self.was_ready.load(Ordering::Relaxed) || now >= self.first_keys_until {
            (true, format!("ready, but there are no keys yet of: {}", without.join(", ")))
        } else {
            (false, format!("waiting for the first keys of: {}", without.join(", ")))
        };
        if ready {
            self.was_ready.store(true, Ordering::Relaxed);
        }
        ReadinessReport { ready, detail, issuers: keys }
    }
}

fn issuer_readiness(issuer: &IssuerEntry, now: Instant) -> IssuerReadiness {
    let status = issuer.keys.status();
    IssuerReadiness {
        name: issuer.name.as_ref().to_owned(),
        usable: status.usable(now),
        keys: status.keys,
        generation: status.generation,
        age_s: status.age(now).map(|age| age.as_secs()),
        next_refresh_s: status.next_refresh.map(|at| at.saturating_duration_since(now).as_secs()),
        source: status.source,
        last_error: status.last_error,
        skipped: status.skipped,
        warnings: status.warnings,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::keys::{IssuerKeys, KeySet};
    use crate::policy::Policy;

    fn entry(name: &str, keys: Arc<IssuerKeys>) -> IssuerEntry {
        IssuerEntry { name: Arc::from(name), policy: Policy::default(), keys }
    }

    #[test]
    fn readiness_waits_for_self_test_and_first_keys_but_not_for_ever() {
        let readiness = Readiness::new(Duration::from_secs(30));
        let start = Instant::now();
        let late = IssuerKeys::waiting("nowhere");
        let issuers = [entry("here", IssuerKeys::fixed(KeySet::new(Vec::new()))), entry("late", Arc::clone(&late))];
        let at = |seconds| readiness.report_at(&issuers, start + Duration::from_secs(seconds));

        assert!(!at(0).ready, "no self-test yet");
        readiness.self_test_passed();
        let report = at(0);
        assert!(!report.ready);
        assert!(report.detail.contains("late") && !report.detail.contains("here"), "{}", report.detail);
        assert!(at(31).ready, "the wait is over");
        assert!(at(0).ready, "once ready, ready");
        late.publish(KeySet::new(Vec::new()), None);
        assert_eq!(at(0).detail, "ready");
        readiness.drain();
        assert!(!at(31).ready, "draining");
    }
}
