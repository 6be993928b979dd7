//! JWK and JWK Set (RFC 7517, RFC 7518 section 6, RFC 8037): text to typed material. Whether material is a usable key
//! (on the curve, long enough) is decided by `kernel` when `keys` prepares it.

use super::{Algorithm, Limits};

/// Public key material, decoded. Private members are never kept.
#[derive(Clone, PartialEq, Eq)]
pub enum JwkMaterial {
    /// `kty` RSA: big-endian `n` and `e`.
    Rsa {
        /// Modulus.
        modulus: Vec<u8>,
        /// Public exponent.
        exponent: Vec<u8>,
    },
    /// `kty` EC.
    Ec {
        /// `crv`: `P-256`, `P-384`, `P-521` or `secp256k1`.
        curve: &'static str,
        /// Coordinate x, as given.
        x: Vec<u8>,
        /// Coordinate y, as given.
        y: Vec<u8>,
    },
    /// `kty` OKP, `crv` Ed25519.
    Ed25519 {
        /// The encoded point, as given.
        x: Vec<u8>,
    },
    /// `kty` oct: a secret.
    Oct {
        /// The secret; wiped on drop.
        secret: zeroize::Zeroizing<Vec<u8>>,
    },
}

impl std::fmt::Debug for JwkMaterial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Rsa { .. } => "Rsa(..)",
            Self::Ec { curve, .. } => curve,
            Self::Ed25519 { .. } => "Ed25519(..)",
            Self::Oct { .. } => "Oct(<secret>)",
        })
    }
}

/// One key of a set that may verify signatures.
#[derive(Clone, Debug)]
pub struct Jwk {
    /// `kid`, exactly.
    pub key_id: Option<String>,
    /// `alg`, if present: the only algorithm the key may be used with.
    pub algorithm: Option<Algorithm>,
    /// The key itself.
    pub material: JwkMaterial,
    /// Private members were present and have been dropped.
    pub had_private_parts: bool,
}

/// An entry that was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedKey {
    /// Position in `keys`.
    pub index: usize,
    /// `kid`, if it could be read.
    pub key_id: Option<String>,
    /// Why, for a person.
    pub reason: String,
}

/// A parsed JWK Set.
#[derive(Clone, Debug, Default)]
pub struct JwkSet {
    /// Keys that may verify.
    pub keys: Vec<Jwk>,
    /// Entries passed over: encryption keys, unknown types, ill-formed ones.
    pub skipped: Vec<SkippedKey>,
}

/// The document as a whole cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JwkSetError {
    /// Not strict JSON; the text says what and where.
    #[error("not strict JSON: {0}")]
    Json(String),
    /// No `keys` array (nor a single JWK).
    #[error("no \"keys\" array")]
    NoKeys,
    /// More entries than allowed.
    #[error("{count} keys, at most {max} are accepted")]
    TooManyKeys {
        /// Entries found.
        count: usize,
        /// The bound.
        max: usize,
    },
}

/// Parses a JWK Set document (an object with a `keys` array) or a single JWK object.
///
/// One bad entry never takes the set down. `limits.json_depth` and `limits.number_chars` apply; the byte cap is the
/// caller's.
///
/// # Errors
/// If the document as a whole cannot be read.
pub fn parse_set(document: &[u8], limits: &Limits, max_keys: usize) -> Result<JwkSet, JwkSetError> {
    todo!()
}
