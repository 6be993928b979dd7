//! An immutable set of prepared keys, and the rule that picks the keys a token is tried with.
//!
//! # Which key
//! 1. A `kid` of the token that is in the set binds to that key alone. If several keys carry the same `kid`, the first
//!    one that fits the algorithm is tried and no other; loading such a set leaves a warning. If none of them fits, the
//!    token is refused ([`NoKey::AlgorithmMismatch`]): other keys are never tried in its place.
//! 2. A `kid` that is not in the set is refused ([`NoKey::UnknownKeyId`]) as soon as one key of the set has a name.
//! 3. In a set where *no* key has a name (a PEM file, a shared secret, one bare JWK) a name in the token says nothing,
//!    and the token is treated as if it had none. Giving the source a key id turns rule 2 on.
//! 4. Without a `kid` every key that fits the algorithm is tried, named or not, if they are at most `max`.
//!
//! In all cases the key decides which algorithms are possible; the token only picks among them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrayvec::ArrayVec;
use hashbrown::HashMap;

use crate::jose::Algorithm;
use crate::kernel::{PreparedKey, Tier};

/// Keys of one set that get a small table when the set is published; what is beyond waits for traffic.
const TABLES_AT_LOAD_MAX: usize = 64;

/// A prepared key with what its issuer said about it.
#[derive(Clone, Debug)]
pub struct VerifyingKey {
    /// `kid`.
    pub key_id: Option<Arc<str>>,
    /// The algorithms it may be used with; never empty. One entry when the JWK has `alg` (both EdDSA names for
    /// Ed25519), else all its type fits.
    pub algorithms: Vec<Algorithm>,
    /// The key.
    pub prepared: Arc<PreparedKey>,
}

/// What loading found, for logs, metrics and `verilane check`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySetReport {
    /// Entries passed over, one line each.
    pub skipped: Vec<String>,
    /// Things an operator should know: private parts in a JWK Set, duplicate key ids.
    pub warnings: Vec<String>,
}

/// Keys of one issuer at one time.
#[derive(Debug, Default)]
pub struct KeySet {
    keys: Vec<VerifyingKey>,
    /// Positions in `keys` of the keys that carry a name, in set order.
    by_key_id: HashMap<Arc<str>, Vec<usize>>,
    generation: u64,
}

/// The keys a token is tried with, at most `max`.
#[derive(Clone, Debug)]
pub struct Candidates<'a> {
    /// The keys, in set order.
    pub keys: ArrayVec<&'a VerifyingKey, 16>,
}

/// Why a set has no key for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoKey {
    /// The token names a `kid` that is not in the set.
    UnknownKeyId,
    /// The named key exists and is for another algorithm.
    AlgorithmMismatch,
    /// The token names no `kid` and no key fits its algorithm.
    NoneFits,
    /// The token names no `kid` and more keys fit than may be tried.
    TooMany,
}

/// Numbers the sets of this process. Zero is the empty default set.
static GENERATIONS: AtomicU64 = AtomicU64::new(1);

impl KeySet {
    /// A set of these keys. Duplicate key ids are kept in order; a `kid` then binds to the first key that fits the
    /// algorithm among those that carry it.
    #[must_use]
    pub fn new(keys: Vec<VerifyingKey>) -> Self {
        let mut by_key_id: HashMap<Arc<str>, Vec<usize>> = HashMap::new();
        for (position, key) in keys.iter().enumerate() {
            if let Some(key_id) = &key.key_id {
                by_key_id.entry(Arc::clone(key_id)).or_default().push(position);
            }
        }
        Self { keys, by_key_id, generation: GENERATIONS.fetch_add(1, Ordering::Relaxed) }
    }

    /// Makes the keys that `previous` has as well the same objects, and gives the others their first table. A set that
    /// is fetched again with nothing changed for a key does not lose what was built for it.
    pub(super) fn take_over_tables(&mut self, previous: Option<&Self>) {
        for key in &mut self.keys {
            let known = previous
                .into_iter()
                .flat_map(|set| &set.keys)
                .find(|known| known.prepared.is_same_with_tables(&key.prepared));
            if let Some(known) = known {
                key.prepared = Arc::clone(&known.prepared);
            }
        }
        for key in self.keys.iter().take(TABLES_AT_LOAD_MAX) {
            if key.prepared.tier() == Some(Tier::Bare) {
                key.prepared.set_tier(Tier::Small);
            }
        }
    }

    /// All keys.
    #[must_use]
    pub fn keys(&self) -> &[VerifyingKey] {
        &self.keys
    }

    /// A number no other set of this process has: what a cache of anything derived from the set is keyed with.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The keys a token with this `alg` and `kid` is tried with, by the rule at the top of this module. `max` is
    /// clamped to 1 to 16.
    ///
    /// # Errors
    /// Why there is none.
    pub fn candidates(&self, algorithm: Algorithm, key_id: Option<&str>, max: usize) -> Result<Candidates<'_>, NoKey> {
        let fits = |key: &&VerifyingKey| key.algorithms.contains(&algorithm);
        let mut chosen = Candidates { keys: ArrayVec::new() };
        if let Some(key_id) = key_id
            && !self.by_key_id.is_empty()
        {
            let positions = self.by_key_id.get(key_id).ok_or(NoKey::UnknownKeyId)?;
            let key = positions.iter().filter_map(|&position| self.keys.get(position)).find(fits);
            chosen.keys.push(key.ok_or(NoKey::AlgorithmMismatch)?);
            return Ok(chosen);
        }
        let max = max.clamp(1, chosen.keys.capacity());
        for key in self.keys.iter().filter(fits) {
            if chosen.keys.len() == max {
                return Err(NoKey::TooMany);
            }
            chosen.keys.push(key);
        }
        if chosen.keys.is_empty() { Err(NoKey::NoneFits) } else { Ok(chosen) }
    }
}
