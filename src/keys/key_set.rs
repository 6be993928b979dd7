//! An immutable set of prepared keys.

use std::sync::Arc;

use crate::jose::Algorithm;
use crate::kernel::PreparedKey;

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
#[derive(Clone, Debug, Default)]
pub struct KeySetReport {
    /// Entries passed over, one line each.
    pub skipped: Vec<String>,
    /// Things an operator should know: private parts in a JWK Set, duplicate key ids.
    pub warnings: Vec<String>,
}

/// Keys of one issuer at one time.
#[derive(Debug, Default)]
pub struct KeySet {/* keys, index by kid, generation */}

/// The keys a token is tried with, at most `max`.
#[derive(Clone, Debug)]
pub struct Candidates<'a> {
    /// The keys, in set order.
    pub keys: arrayvec::ArrayVec<&'a VerifyingKey, 16>,
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

impl KeySet {
    /// A set of these keys. Duplicate key ids are kept in order and reported; a `kid` then binds to the first key that
    /// fits the algorithm among those that carry it.
    #[must_use]
    pub fn new(keys: Vec<VerifyingKey>) -> Self {
        todo!()
    }

    /// All keys.
    #[must_use]
    pub fn keys(&self) -> &[VerifyingKey] {
        todo!()
    }

    /// The keys a token with this `alg` and `kid` is tried with. A named `kid` binds to exactly that key; without a
    /// `kid` every key that fits the algorithm, if they are at most `max` (1 to 16).
    ///
    /// # Errors
    /// Why there is none.
    pub fn candidates(&self, algorithm: Algorithm, key_id: Option<&str>, max: usize) -> Result<Candidates<'_>, NoKey> {
        todo!()
    }
}
