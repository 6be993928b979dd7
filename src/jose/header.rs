//! The JOSE header of a token (RFC 7515 section 4).
//!
//! `jku`, `x5u`, `jwk` and `x5c` are never looked at: nothing in a token is a source of keys. `crit` is refused unless
//! every name in it is understood; no extension is, so every `crit` is refused. `b64` is refused (RFC 7797 section 7).

use super::{Algorithm, Limits, Malformed};

/// What a header says that matters to verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// `alg`.
    pub algorithm: Algorithm,
    /// `kid`, if present; compared byte for byte.
    pub key_id: Option<String>,
    /// `typ`, if present.
    pub typ: Option<String>,
}

/// Parses a decoded header.
///
/// # Errors
/// Every way in which it is not a JWS header we accept; see [`Malformed`].
pub fn parse(json: &[u8], limits: &Limits) -> Result<Header, Malformed> {
    todo!()
}
