//! What is answered.

use std::sync::Arc;

use bytes::Bytes;

use super::Reason;
use crate::jose::{Algorithm, NumericDate, Segment};

/// The answer about a token.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Good signature by a key of the issuer, and every check of the policy passed.
    Accepted(Box<Accepted>),
    /// Not so.
    Rejected(Rejection),
}

/// Facts of an accepted token.
#[derive(Clone)]
pub struct Accepted {
    /// `alg` of the token.
    pub algorithm: Algorithm,
    /// `kid` of the key that verified it.
    pub key_id: Option<Arc<str>>,
    /// Configured name of the issuer.
    pub issuer_name: Arc<str>,
    /// `iss`.
    pub issuer: Option<String>,
    /// `sub`.
    pub subject: Option<String>,
    /// `exp`.
    pub expires_at: Option<NumericDate>,
    /// The decoded payload: strict JSON, an object.
    pub payload: Bytes,
}

impl std::fmt::Debug for Accepted {
    /// What the payload says is its subject's business, so it is not shown.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Accepted")
            .field("algorithm", &self.algorithm)
            .field("key_id", &self.key_id)
            .field("issuer_name", &self.issuer_name)
            .field("expires_at", &self.expires_at)
            .field("payload", &format_args!("{} bytes", self.payload.len()))
            .finish_non_exhaustive()
    }
}

/// Why a token or signature was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The reason.
    pub reason: Reason,
    /// Where in the token, if that helps.
    pub place: Option<Place>,
    /// One sentence for a person; holds nothing of the token, of keys or of expected values but names from the policy.
    pub detail: String,
}

/// A place in a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which segment, once segments are known.
    pub segment: Option<Segment>,
    /// Byte offset in the token, or in the decoded segment for JSON.
    pub position: Option<usize>,
}

/// The answer about a raw signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignatureVerdict {
    /// Good.
    Accepted,
    /// Not good.
    Rejected(Rejection),
}
