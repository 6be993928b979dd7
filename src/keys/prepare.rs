//! From typed key material to prepared keys: which algorithms a key may serve, and why material is refused.
//!
//! The type of a key decides its algorithms: RSA serves RS* and PS*, a curve serves its one ECDSA algorithm, Ed25519
//! serves both of its names, a secret serves the HMACs whose hash is not longer than it. `alg` of a JWK narrows that to
//! one. A public key can never become an HMAC secret: the two are different types from here on.

use std::sync::Arc;

use super::{KeySet, KeySetReport, VerifyingKey};
use crate::jose::Algorithm;
use crate::jose::Limits;
use crate::jose::jwk::quoted;
use crate::jose::jwk::{self, Jwk, JwkMaterial, JwkSet, JwkSetError};
use crate::kernel::{KeyError, PreparedKey, Scheme};

pub use super::pem::{from_pem, from_pem_within};

/// Where a JWK Set comes from. Decides whether it may hold secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A file or configuration of the operator's own: may hold `oct` keys.
    Local,
    /// A document published on the network. An `oct` key in it is refused: a published secret is none.
    Published,
}

/// Bounds on one document with keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentLimits {
    /// Bytes of the document. Default 1 MiB.
    pub bytes: usize,
    /// Entries of a JWK Set, or blocks of a PEM file. Default 256.
    pub keys: usize,
}

impl Default for DocumentLimits {
    fn default() -> Self {
        Self { bytes: 1024 * 1024, keys: 256 }
    }
}

/// Why there is no key in what was given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrepareError {
    /// The material is not a key we verify with.
    #[error("{0}")]
    Key(#[from] KeyError),
    /// `alg` or the configured algorithms do not go with the type of the key.
    #[error("a key of this type does not serve {0}")]
    AlgorithmMismatch(Algorithm),
    /// An `oct` key in a published document.
    #[error("a shared secret (kty oct) in a published key set: everyone can read it, so it proves nothing")]
    PublishedSecret,
    /// The secret is the text of a key or certificate: the classic of algorithm confusion.
    #[error("the secret is the text of a PEM file; configure that file as a PEM key instead")]
    SecretIsPem,
    /// A private key where a public key is wanted.
    #[error(
        "it holds a private key ({0}); a verifier needs the public half only, \
         for example from `openssl pkey -in FILE -pubout`"
    )]
    PrivateKey(String),
    /// A PEM block or the DER in it cannot be read.
    #[error("{0}")]
    Encoding(String),
    /// The document is larger than allowed.
    #[error("{got} bytes, at most {max} are accepted")]
    TooLarge {
        /// Bytes given.
        got: usize,
        /// The bound.
        max: usize,
    },
    /// The JWK Set as a whole cannot be read.
    #[error("not a JWK Set: {0}")]
    JwkSet(#[from] JwkSetError),
    /// It could be read, and nothing in it verifies signatures.
    #[error("no usable key{}{}", if .skipped.is_empty() { "" } else { ": " }, .skipped.join("; "))]
    NoUsableKey {
        /// What was passed over, one line each, at most eight.
        skipped: Vec<String>,
    },
}

/// Prepares one JWK. Secrets are allowed, as [`Origin::Local`].
///
/// # Errors
/// If it is not a key we verify with, or its `alg` is not one of its type's.
pub fn from_jwk(jwk: &Jwk) -> Result<VerifyingKey, PrepareError> {
    from_jwk_of(jwk, Origin::Local)
}

fn from_jwk_of(jwk: &Jwk, origin: Origin) -> Result<VerifyingKey, PrepareError> {
    let prepared = match &jwk.material {
        JwkMaterial::Rsa { modulus, exponent } => PreparedKey::rsa(modulus, exponent)?,
        JwkMaterial::Ec { curve, x, y } => ecdsa(curve, x, y)?,
        JwkMaterial::Ed25519 { x } => PreparedKey::ed25519(x)?,
        JwkMaterial::Oct { .. } if origin == Origin::Published => return Err(PrepareError::PublishedSecret),
        JwkMaterial::Oct { secret } => PreparedKey::hmac(secret)?,
    };
    let secret_len = match &jwk.material {
        JwkMaterial::Oct { secret } => Some(secret.len()),
        _ => None,
    };
    let algorithms = match jwk.algorithm {
        Some(algorithm) => named_algorithm(&prepared, algorithm, secret_len)?,
        None => fitting_algorithms(&prepared),
    };
    Ok(VerifyingKey { key_id: jwk.key_id.as_deref().map(Arc::from), algorithms, prepared: Arc::new(prepared) })
}

/// Prepares the keys of a set. Keys that cannot be used are left out and reported; the rest stay. Secrets are allowed,
/// as [`Origin::Local`].
#[must_use]
pub fn from_jwk_set(set: &JwkSet) -> (Vec<VerifyingKey>, KeySetReport) {
    from_jwk_set_of(set, Origin::Local)
}

/// As [`from_jwk_set`], for a set of the given origin.
#[must_use]
pub fn from_jwk_set_of(set: &JwkSet, origin: Origin) -> (Vec<VerifyingKey>, KeySetReport) {
    let mut report = KeySetReport::default();
    for skipped in &set.skipped {
        let name = entry_name(skipped.index, skipped.key_id.as_deref());
        report.skipped.push(format!("{name}: {}", skipped.reason));
    }
    let mut keys: Vec<VerifyingKey> = Vec::with_capacity(set.keys.len());
    for jwk in &set.keys {
        let name = match jwk.key_id.as_deref() {
            Some(key_id) => format!("key {}", quoted(key_id)),
            None => "a key without kid".to_owned(),
        };
        if jwk.had_private_parts {
            report
                .warnings
                .push(format!("{name} has private members: they were dropped, but its owner should replace it"));
        }
        match from_jwk_of(jwk, origin) {
            Ok(key) => keys.push(key),
            Err(error) => report.skipped.push(format!("{name}: {error}")),
        }
    }
    warn_duplicates(&keys, &mut report);
    (keys, report)
}

/// Reads a whole JWK Set document: size cap, strict parse, preparation.
///
/// # Errors
/// If it cannot be read as a whole or has no usable key.
pub fn from_document(
    document: &[u8],
    origin: Origin,
    limits: &DocumentLimits,
) -> Result<(KeySet, KeySetReport), PrepareError> {
    if document.len() > limits.bytes {
        return Err(PrepareError::TooLarge { got: document.len(), max: limits.bytes });
    }
    let set = jwk::parse_set(document, &Limits::DEFAULT, limits.keys)?;
    let (keys, report) = from_jwk_set_of(&set, origin);
    usable(keys, report)
}

/// Prepares a shared secret. `algorithms` names the HMACs it may be used with; empty means every HMAC it is long
/// enough for.
///
/// # Errors
/// Shorter than the hash of a named algorithm (RFC 7518 section 3.2) or than 32 bytes; an algorithm that is no HMAC;
/// the text of a PEM file.
pub fn from_secret(secret: &[u8], algorithms: &[Algorithm]) -> Result<VerifyingKey, PrepareError> {
    if secret.trim_ascii_start().starts_with(b"-----BEGIN ") {
        return Err(PrepareError::SecretIsPem);
    }
    let prepared = PreparedKey::hmac(secret)?;
    let mut allowed = Vec::new();
    for &algorithm in algorithms {
        for algorithm in named_algorithm(&prepared, algorithm, Some(secret.len()))? {
            if !allowed.contains(&algorithm) {
                allowed.push(algorithm);
            }
        }
    }
    if algorithms.is_empty() {
        allowed = fitting_algorithms(&prepared);
    }
    Ok(VerifyingKey { key_id: None, algorithms: allowed, prepared: Arc::new(prepared) })
}

/// Narrows what a key may be used with. An empty list changes nothing; either EdDSA name stands for both.
///
/// # Errors
/// If none of `algorithms` is one of the key's.
pub fn narrow(key: &mut VerifyingKey, algorithms: &[Algorithm]) -> Result<(), PrepareError> {
    let Some(&first) = algorithms.first() else { return Ok(()) };
    let wanted = |algorithm: &Algorithm| algorithms.iter().any(|name| name.scheme() == algorithm.scheme());
    if !key.algorithms.iter().any(wanted) {
        return Err(PrepareError::AlgorithmMismatch(first));
    }
    key.algorithms.retain(wanted);
    Ok(())
}

/// A set, if there is anything in it.
pub(super) fn usable(keys: Vec<VerifyingKey>, report: KeySetReport) -> Result<(KeySet, KeySetReport), PrepareError> {
    if keys.is_empty() {
        let mut skipped = report.skipped;
        if skipped.len() > 8 {
            let more = skipped.len() - 8;
            skipped.truncate(8);
            skipped.push(format!("and {more} more"));
        }
        return Err(PrepareError::NoUsableKey { skipped });
    }
    Ok((KeySet::new(keys), report))
}

/// ECDSA key on the named curve, by its affine coordinates.
pub(super) fn ecdsa(curve: &str, x: &[u8], y: &[u8]) -> Result<PreparedKey, KeyError> {
    match curve {
        "P-256" => PreparedKey::ecdsa_p256(x, y),
        "P-384" => PreparedKey::ecdsa_p384(x, y),
        "P-521" => PreparedKey::ecdsa_p521(x, y),
        "secp256k1" => PreparedKey::ecdsa_secp256k1(x, y),
        _ => Err(KeyError::Rejected),
    }
}

/// Every algorithm the key can serve.
pub(super) fn fitting_algorithms(prepared: &PreparedKey) -> Vec<Algorithm> {
    Algorithm::ALL.into_iter().filter(|algorithm| prepared.supports(algorithm.scheme())).collect()
}

/// The algorithms one name stands for: both names for Ed25519, else itself.
fn named_algorithm(
    prepared: &PreparedKey,
    algorithm: Algorithm,
    secret_len: Option<usize>,
) -> Result<Vec<Algorithm>, PrepareError> {
    let scheme = algorithm.scheme();
    if prepared.supports(scheme) {
        return Ok(Algorithm::ALL.into_iter().filter(|other| other.scheme() == scheme).collect());
    }
    match (secret_len, scheme) {
        (Some(got), Scheme::HmacSha256 | Scheme::HmacSha384 | Scheme::HmacSha512) => {
            let expected = match scheme {
                Scheme::HmacSha256 => 32,
                Scheme::HmacSha384 => 48,
                _ => 64,
            };
            Err(KeyError::SecretTooShort { got, expected, scheme }.into())
        }
        _ => Err(PrepareError::AlgorithmMismatch(algorithm)),
    }
}

fn warn_duplicates(keys: &[VerifyingKey], report: &mut KeySetReport) {
    let mut seen = hashbrown::HashMap::<&str, usize>::new();
    for key_id in keys.iter().filter_map(|key| key.key_id.as_deref()) {
        let count = seen.entry(key_id).or_insert(0);
        *count += 1;
        if *count == 2 {
            let name = quoted(key_id);
            report
                .warnings
                .push(format!("several keys have kid {name}: only the first that fits a token's alg is tried"));
        }
    }
}

fn entry_name(index: usize, key_id: Option<&str>) -> String {
    match key_id {
        Some(key_id) => format!("entry {index} (kid {})", quoted(key_id)),
        None => format!("entry {index}"),
    }
}
