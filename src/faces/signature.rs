//! A raw signature as a client describes it, and the keys a client may bring along.

use std::time::Instant;

use bytes::Bytes;

use super::state::rejection;
use crate::jose::Algorithm;
use crate::verify::{Reason, Rejection, SignatureKey, SignatureRequest};

/// A raw signature to be verified, as it came in.
#[derive(Clone)]
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

impl std::fmt::Debug for SignatureSpec {
    /// A signed message may be a token's, so its bytes are not shown.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignatureSpec")
            .field("algorithm", &self.algorithm)
            .field("message", &format_args!("{} bytes", self.message.len()))
            .field("signature", &format_args!("{} bytes", self.signature.len()))
            .field("key", &self.key)
            .field("deadline", &self.deadline)
            .finish()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_signed_and_with_what_is_not_shown() {
        let spec = SignatureSpec {
            algorithm: "HS256".to_owned(),
            message: Bytes::from_static(b"s3cret"),
            signature: Bytes::from_static(b"s3cret"),
            key: KeySpec::Jwk(Bytes::from_static(b"s3cret")),
            deadline: None,
        };
        let shown = format!("{spec:?}");
        assert!(shown.contains("6 bytes") && !shown.contains("s3cret"), "{shown}");
    }
}
