//! The current key set of one issuer, shared by all shards.
//!
//! Readers load a whole snapshot without a lock. One writer (a file watcher, a fetcher, or the program itself) replaces
//! it and keeps the status that metrics, readiness and `verilane check` show. The status has a lock of its own, which
//! no token ever meets.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwapOption, Guard};

#[cfg(feature = "fetch")]
use super::refetch::RefetchGate;
use super::{KeySet, KeySetReport, Refetch};
use crate::kernel::PreparedKey;

/// Handle on the key set of one issuer.
#[derive(Debug, Default)]
pub struct IssuerKeys {
    current: ArcSwapOption<Snapshot>,
    status: Mutex<KeyStatus>,
    #[cfg(feature = "fetch")]
    refetch: RefetchGate,
}

#[derive(Debug)]
struct Snapshot {
    set: Arc<KeySet>,
    usable_until: Option<Instant>,
}

/// A set as it was when it was loaded.
#[derive(Debug)]
pub struct CurrentKeys(Guard<Option<Arc<Snapshot>>>);

impl Deref for CurrentKeys {
    type Target = KeySet;

    fn deref(&self) -> &KeySet {
        &self.0.as_ref().expect("made of a guard that holds a snapshot").set
    }
}

/// How the keys of one issuer are doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyStatus {
    /// Where they come from, for a person: `https://issuer/jwks.json`, `file /etc/keys/jwks.json`, `inline`.
    pub source: String,
    /// Number of the set ([`KeySet::generation`]); 0 if none was ever loaded.
    pub generation: u64,
    /// Usable keys of the current set.
    pub keys: usize,
    /// When the source last gave a good set, or confirmed the current one.
    pub last_success: Option<Instant>,
    /// When the source was last asked.
    pub last_attempt: Option<Instant>,
    /// What went wrong at the last attempt; `None` if it went well.
    pub last_error: Option<String>,
    /// Failed attempts since the last good one.
    pub failures_in_row: u64,
    /// Good attempts ever.
    pub successes: u64,
    /// Failed attempts ever.
    pub failures: u64,
    /// Fetches asked for by a token with an unknown `kid`, ever.
    pub refetches: u64,
    /// When the source is asked next, if by the clock.
    pub next_refresh: Option<Instant>,
    /// Until when the current set may be used without a word from the source; `None` for ever.
    pub usable_until: Option<Instant>,
    /// Entries of the document that were passed over.
    pub skipped: Vec<String>,
    /// What an operator should know about the document.
    pub warnings: Vec<String>,
}

impl KeyStatus {
    /// How long ago the source last gave or confirmed a set.
    #[must_use]
    pub fn age(&self, now: Instant) -> Option<Duration> {
        self.last_success.map(|then| now.saturating_duration_since(then))
    }

    /// Whether tokens can be verified at `now`.
    #[must_use]
    pub fn usable(&self, now: Instant) -> bool {
        self.keys > 0 && self.usable_until.is_none_or(|until| now < until)
    }
}

impl IssuerKeys {
    /// No keys yet, from a source described as `source`: what a fetcher or a file watcher fills.
    #[must_use]
    pub fn waiting(source: impl Into<String>) -> Arc<Self> {
        let keys = Self::default();
        keys.lock_status().source = source.into();
        Arc::new(keys)
    }

    /// A set that never changes by itself.
    #[must_use]
    pub fn fixed(set: KeySet) -> Arc<Self> {
        let keys = Self::waiting("fixed");
        keys.publish(set, None);
        keys
    }

    /// The current set; `None` if none was ever loaded or it is older than its hard age at `now`. Cheap for every token:
    /// shards do not meet at a reference count. Drop it soon; what is published later does not show in it.
    #[must_use]
    pub fn load(&self, now: Instant) -> Option<CurrentKeys> {
        let current = self.current.load();
        let usable = current.as_ref()?.usable_until.is_none_or(|until| now < until);
        usable.then_some(CurrentKeys(current))
    }

    /// The prepared keys of the current set, whatever its age. Not for the path of a token.
    #[must_use]
    pub fn prepared_keys(&self) -> Vec<Arc<PreparedKey>> {
        let current = self.current.load();
        let keys = current.as_ref().map_or(&[][..], |snapshot| snapshot.set.keys());
        keys.iter().map(|key| Arc::clone(&key.prepared)).collect()
    }

    /// Replaces the set as a whole.
    pub fn publish(&self, set: KeySet, usable_until: Option<Instant>) {
        self.publish_reported(set, KeySetReport::default(), usable_until, Instant::now());
    }

    /// Replaces the set as a whole, with what loading it found. A key that is not in `set` stops working with this
    /// call: checks that start later do not see it.
    pub fn publish_reported(&self, mut set: KeySet, report: KeySetReport, usable_until: Option<Instant>, now: Instant) {
        set.take_over_tables(self.current.load().as_ref().map(|snapshot| &*snapshot.set));
        let mut status = self.lock_status();
        status.generation = set.generation();
        status.keys = set.keys().len();
        status.skipped = report.skipped;
        status.warnings = report.warnings;
        // Swapped under the lock of the status, so that the two never tell different stories for long.
        self.current.store(Some(Arc::new(Snapshot { set: Arc::new(set), usable_until })));
        status.usable_until = usable_until;
        record_success(&mut status, now);
    }

    /// The source confirmed the current set: it may be used until `usable_until`. The set itself, and its generation,
    /// stay.
    pub fn confirm(&self, usable_until: Option<Instant>, now: Instant) {
        let mut status = self.lock_status();
        if let Some(snapshot) = self.current.load_full() {
            self.current.store(Some(Arc::new(Snapshot { set: Arc::clone(&snapshot.set), usable_until })));
            status.usable_until = usable_until;
        }
        record_success(&mut status, now);
    }

    /// The source failed; the current set stays.
    pub fn record_failure(&self, error: impl Into<String>, now: Instant) {
        let mut status = self.lock_status();
        status.last_attempt = Some(now);
        status.last_error = Some(error.into());
        status.failures_in_row += 1;
        status.failures += 1;
    }

    /// When the source will be asked next.
    pub fn record_next_refresh(&self, at: Option<Instant>) {
        self.lock_status().next_refresh = at;
    }

    /// Names the source, for a person.
    pub fn describe(&self, source: impl Into<String>) {
        self.lock_status().source = source.into();
    }

    /// How the keys are doing. Not for the path of a token.
    #[must_use]
    pub fn status(&self) -> KeyStatus {
        KeyStatus { refetches: self.refetches(), ..self.lock_status().clone() }
    }

    /// Reports a `kid` that is not in the current set. A remote source answers with a wait if a refetch is (now)
    /// under way, bounded by rate limit and negative cache; other sources answer `None`: reject at once.
    #[cfg(feature = "fetch")]
    pub fn unknown_key_id(&self, key_id: &str, now: Instant) -> Option<Refetch> {
        self.refetch.ask(key_id, now)
    }

    /// Reports a `kid` that is not in the current set. Without feature `fetch` nothing is fetched: always `None`.
    #[cfg(not(feature = "fetch"))]
    pub fn unknown_key_id(&self, _key_id: &str, _now: Instant) -> Option<Refetch> {
        None
    }

    #[cfg(feature = "fetch")]
    fn refetches(&self) -> u64 {
        self.refetch.started()
    }

    #[cfg(not(feature = "fetch"))]
    fn refetches(&self) -> u64 {
        0
    }

    /// The gate between tokens with unknown key ids and the fetcher.
    #[cfg(feature = "fetch")]
    pub(super) fn refetch(&self) -> &RefetchGate {
        &self.refetch
    }

    fn lock_status(&self) -> MutexGuard<'_, KeyStatus> {
        // The status is plain data that is whole after every statement, so a panic elsewhere does not spoil it.
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn record_success(status: &mut KeyStatus, now: Instant) {
    status.last_success = Some(now);
    status.last_attempt = Some(now);
    status.last_error = None;
    status.failures_in_row = 0;
    status.successes += 1;
}
