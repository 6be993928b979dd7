//! What is asked.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use super::{Reason, Rejection};
use crate::jose::Algorithm;
use crate::kernel::PreparedKey;
use crate::keys::prepare::{DocumentLimits, Origin, from_document};

/// The longest JWK that is taken by value, in bytes: an RSA key of 8192 bits with all private members has about 7 KiB.
const JWK_BYTES_MAX: usize = 16 * 1024;

/// A token to be verified.
#[derive(Clone)]
pub struct TokenRequest {
    /// The compact serialization, without any prefix.
    pub token: Bytes,
    /// Which issuer's policy applies: an `iss` value or the issuer's configured name. `None`: the only issuer, or the
    /// one the token's own `iss` selects.
    pub issuer: Option<String>,
    /// An audience that must be in `aud` besides what the policy asks.
    pub audience: Option<String>,
    /// The time to judge by, seconds since 1970.
    pub now: i64,
    /// When the caller stops waiting.
    pub deadline: Option<Instant>,
}

impl std::fmt::Debug for TokenRequest {
    /// Whoever has a token can use it, so it is not shown.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenRequest")
            .field("token", &format_args!("{} bytes", self.token.len()))
            .field("issuer", &self.issuer)
            .field("audience", &self.audience)
            .field("now", &self.now)
            .field("deadline", &self.deadline)
            .finish()
    }
}

/// A raw signature to be verified.
#[derive(Clone)]
pub struct SignatureRequest {
    /// The algorithm, which the key must fit.
    pub algorithm: Algorithm,
    /// The key.
    pub key: SignatureKey,
    /// What is signed.
    pub message: Bytes,
    /// The signature in JWA form.
    pub signature: Bytes,
    /// When the caller stops waiting.
    pub deadline: Option<Instant>,
}

impl std::fmt::Debug for SignatureRequest {
    /// Message and signature may be a token's, so they are not shown.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignatureRequest")
            .field("algorithm", &self.algorithm)
            .field("key", &self.key)
            .field("message", &format_args!("{} bytes", self.message.len()))
            .field("signature", &format_args!("{} bytes", self.signature.len()))
            .field("deadline", &self.deadline)
            .finish()
    }
}

/// The key of a raw signature.
#[derive(Clone, Debug)]
pub enum SignatureKey {
    /// A key of a configured issuer.
    Id {
        /// `iss` value or configured name; `None` if only one issuer is configured.
        issuer: Option<String>,
        /// `kid`.
        key_id: String,
    },
    /// A key given with the call.
    Value(Arc<PreparedKey>),
}

impl SignatureKey {
    /// A key given by value as JWK text. Its `alg`, `use` and `key_ops` count: a key is never used for what it is not
    /// for.
    ///
    /// # Errors
    /// [`Reason::KeyInvalid`] if it is not one key we verify with, [`Reason::AlgorithmMismatch`] if it is one for
    /// another algorithm.
    pub fn from_jwk(jwk: &[u8], algorithm: Algorithm) -> Result<Self, Rejection> {
        let limits = DocumentLimits { bytes: JWK_BYTES_MAX, keys: 1 };
        let (set, _report) = from_document(jwk, Origin::Local, &limits)
            .map_err(|error| Rejection::new(Reason::KeyInvalid, format!("The key cannot be used: {error}.")))?;
        match set.keys() {
            [key] if key.algorithms.contains(&algorithm) => Ok(Self::Value(Arc::clone(&key.prepared))),
            [_] => Err(Rejection::new(Reason::AlgorithmMismatch, "The key is for another algorithm.")),
            _ => Err(Rejection::new(Reason::KeyInvalid, "Give exactly one key.")),
        }
    }
}
