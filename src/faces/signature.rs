//! A raw signature as a client describes it, and the keys a client may bring along.

use std::time::Instant;

use bytes::Bytes;

use super::state::rejection;
use crate::jose::Algorithm;
use crate::verify::{Reason, Rejection, SignatureKey, SignatureRequest};

/// A raw signature to be verified, as it came in.
#[derive(Clone, Debug)]
pub struct SignatureSpec {
    /// JOSE name of the algorithm, not looked up yet.
    pub algorithm: String,
    /// What is signed.
    pub message: Bytes,
    /// The signature in JWA form.
    pub signature: Bytes,
    /// The key.
    pub key: KeySpec,
    /// When the caller stops waiting.
    pub deadline: Option<Instant>,
}

/// The key of a raw signature, as it came in.
#[derive(Clone)]
pub enum KeySpec {
    /// A key of a configured issuer.
    Id {
        /// `iss` value or configured name.
        issuer: Option<String>,
        /// `kid`.
        key_id: String,
    },
    /// The text of a JWK. May be a secret: it is used for this one check, and shown to nobody.
    Jwk(Bytes),
}

impl std::fmt::Debug for KeySpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Id { issuer, key_id } => {
                f.debug_struct("Id").field("issuer", issuer).field("key_id", key_id).finish()
            }
            Self::Jwk(_) => f.write_str("Jwk(..)"),
        }
    }
}

impl SignatureSpec {
    /// The question for `verify`.
    ///
    /// # Errors
    /// A rejection if the algorithm is none of ours, or the given key is not one we verify that algorithm with.
    pub fn into_request(self) -> Result<SignatureRequest, Rejection> {
        let algorithm = Algorithm::from_name(&self.algorithm).ok_or_else(|| rejection(Reason::AlgorithmUnsupported))?;
        let key = match self.key {
            KeySpec::Id { issuer, key_id } => SignatureKey::Id { issuer, key_id },
            KeySpec::Jwk(text) => SignatureKey::from_jwk(&text, algorithm)?,
        };
        let Self { message, signature, deadline, .. } = self;
        Ok(SignatureRequest { algorithm, key, message, signature, deadline })
    }
}
