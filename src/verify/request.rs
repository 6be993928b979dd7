//! What is asked.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use crate::jose::Algorithm;
use crate::kernel::PreparedKey;

/// A token to be verified.
#[derive(Clone, Debug)]
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

/// A raw signature to be verified.
#[derive(Clone, Debug)]
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
