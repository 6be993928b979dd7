//! JWK and JWK Set (RFC 7517, RFC 7518 section 6, RFC 8037): text to typed material. Whether material is a usable key
//! (on the curve, long enough) is decided by `kernel` when `keys` prepares it.
//!
//! The document is strict JSON as a whole: a duplicate member in one entry refuses the document, since no two readers
//! agree on what it says. Anything else that is wrong with an entry passes over that entry alone. Bare members are the
//! key; `x5c`, `x5t` and `x5u` are not looked at.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::json::{self, JsonLimits, JsonProblem, Kind, Value};
use super::{Algorithm, Limits, base64url};

/// Public key material, decoded. Private members are never kept.
#[derive(Clone, PartialEq, Eq)]
pub enum JwkMaterial {
    /// `kty` RSA: big-endian `n` and `e`, without leading zero bytes (RFC 7518 section 2 allows none; some issuers write
    /// them).
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

/// Members that only a private key has (RFC 7518 sections 6.2.2 and 6.3.2, RFC 8037 section 2). `k` is not among them:
/// in an `oct` key it is the key.
const PRIVATE_MEMBERS: [&str; 7] = ["d", "p", "q", "dp", "dq", "qi", "oth"];

/// Characters of foreign text that a reason repeats.
const QUOTED_CHARS_MAX: usize = 64;

/// Parses a JWK Set document (an object with a `keys` array) or a single JWK object.
///
/// One bad entry never takes the set down. `limits.json_depth` and `limits.number_chars` apply; the byte cap is the
/// caller's. Entries are passed over if they are no objects, lack `kty` or a member their type needs, are not for
/// verifying signatures (`use`, `key_ops`, `alg`), are of a type or curve that we do not implement, or hold text that
/// is not strict base64url. No secret or private part is ever in a reason.
///
/// # Errors
/// If the document as a whole cannot be read.
pub fn parse_set(document: &[u8], limits: &Limits, max_keys: usize) -> Result<JwkSet, JwkSetError> {
    // The byte cap bounds the members: a key set of the size of a large identity provider's has more than a token may.
    let limits = JsonLimits { members: usize::MAX, ..limits.json() };
    let members = json::object(document, &limits).map_err(|error| match error.problem {
        JsonProblem::NotAnObject => JwkSetError::NoKeys,
        _ => JwkSetError::Json(error.to_string()),
    })?;
    let mut set = JwkSet::default();
    if let Some(keys) = members.iter().find(|member| member.name == "keys") {
        if keys.value.kind() != Kind::Array {
            return Err(JwkSetError::NoKeys);
        }
        let count = keys.value.elements().count();
        if count > max_keys {
            return Err(JwkSetError::TooManyKeys { count, max: max_keys });
        }
        for (index, entry) in keys.value.elements().enumerate() {
            if entry.kind() == Kind::Object {
                set.add(index, &Entry::new(entry.members().map(|member| (member.name, member.value))));
            } else {
                set.skipped.push(SkippedKey { index, key_id: None, reason: "not an object".to_owned() });
            }
        }
    } else if members.iter().any(|member| member.name == "kty") {
        if max_keys == 0 {
            return Err(JwkSetError::TooManyKeys { count: 1, max: 0 });
        }
        set.add(0, &Entry::new(members.into_iter().map(|member| (member.name, member.value))));
    } else {
        return Err(JwkSetError::NoKeys);
    }
    Ok(set)
}

/// The JWK thumbprint with SHA-256 (RFC 7638, RFC 8037 section 2), base64url.
///
/// Do not publish the thumbprint of an `oct` key that is not random: it lets secrets be guessed (RFC 7638 section 7).
#[must_use]
pub fn thumbprint(material: &JwkMaterial) -> String {
    let mut hash = Sha256::new();
    // The required members in lexicographic order, without space. All names and values need no escapes.
    let parts: &[(&str, &[u8])] = match material {
        JwkMaterial::Rsa { modulus, exponent } => {
            &[(r#"{"e":""#, exponent), (r#"","kty":"RSA","n":""#, modulus), (r#""}"#, &[])]
        }
        JwkMaterial::Ec { curve, x, y } => {
            hash.update(format!(r#"{{"crv":"{curve}","kty":"EC","#));
            &[(r#""x":""#, x), (r#"","y":""#, y), (r#""}"#, &[])]
        }
        JwkMaterial::Ed25519 { x } => &[(r#"{"crv":"Ed25519","kty":"OKP","x":""#, x), (r#""}"#, &[])],
        JwkMaterial::Oct { secret } => &[(r#"{"k":""#, secret), (r#"","kty":"oct"}"#, &[])],
    };
    for (text, value) in parts {
        hash.update(text);
        hash.update(Zeroizing::new(base64url::encode(value)).as_bytes());
    }
    base64url::encode(&hash.finalize())
}

impl JwkSet {
    fn add(&mut self, index: usize, entry: &Entry<'_>) {
        match entry.read() {
            Ok(key) => self.keys.push(key),
            Err(reason) => {
                let key_id = entry.get("kid").and_then(|kid| kid.string()).map(Cow::into_owned);
                self.skipped.push(SkippedKey { index, key_id, reason });
            }
        }
    }
}

/// Which algorithms a key can be used with.
type Fits = fn(Algorithm) -> bool;

/// The members of one JWK.
struct Entry<'a> {
    members: Vec<(Cow<'a, str>, Value<'a>)>,
}

impl<'a> Entry<'a> {
    fn new(members: impl Iterator<Item = (Cow<'a, str>, Value<'a>)>) -> Self {
        Self { members: members.collect() }
    }

    fn get(&self, name: &str) -> Option<Value<'a>> {
        self.members.iter().find(|(member, _)| member == name).map(|(_, value)| *value)
    }

    /// A member that, if present, is a string.
    fn optional_text(&self, name: &str) -> Result<Option<Cow<'a, str>>, String> {
        match self.get(name).map(|value| value.string()) {
            None => Ok(None),
            Some(Some(text)) => Ok(Some(text)),
            Some(None) => Err(format!("{name} is not a string")),
        }
    }

    fn text(&self, name: &str) -> Result<Cow<'a, str>, String> {
        self.optional_text(name)?.ok_or_else(|| format!("{name} is missing"))
    }

    /// A member in strict base64url, not empty. Wiped on drop: the caller may have asked for a secret.
    fn bytes(&self, name: &str) -> Result<Zeroizing<Vec<u8>>, String> {
        let text = self.text(name)?;
        // As large as can be needed, so that no half of a secret stays behind when a vector grows.
        let mut bytes = Zeroizing::new(Vec::with_capacity(base64url::decoded_len(text.len())));
        let decoded = base64url::decode_into(text.as_bytes(), &mut bytes);
        if let Cow::Owned(unescaped) = text {
            drop(Zeroizing::new(unescaped));
        }
        decoded.map_err(|error| format!("{name} is {error}"))?;
        if bytes.is_empty() {
            return Err(format!("{name} is empty"));
        }
        Ok(bytes)
    }

    fn public_bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        self.bytes(name).map(|mut bytes| std::mem::take(&mut *bytes))
    }

    /// A big-endian number (Base64urlUInt, RFC 7518 section 2) without leading zero bytes.
    fn unsigned(&self, name: &str) -> Result<Vec<u8>, String> {
        let bytes = self.public_bytes(name)?;
        match bytes.iter().position(|byte| *byte != 0) {
            Some(0) => Ok(bytes),
            // `zeros` is a place in `bytes`.
            Some(zeros) => Ok(bytes[zeros..].to_vec()),
            None => Err(format!("{name} is zero")),
        }
    }

    fn read(&self) -> Result<Jwk, String> {
        let kty = self.text("kty")?;
        let read_material = match &*kty {
            "RSA" => Self::rsa,
            "EC" => Self::ec,
            "OKP" => Self::okp,
            "oct" => Self::oct,
            _ => return Err(format!("kty {} is not a key type we implement", quoted(&kty))),
        };
        let key_id = self.optional_text("kid")?.map(Cow::into_owned);
        if let Some(usage) = self.optional_text("use")?
            && usage != "sig"
        {
            return Err(format!("use is {}, not \"sig\"", quoted(&usage)));
        }
        if let Some(operations) = self.get("key_ops") {
            let operations = operations.strings().ok_or("key_ops is not an array of strings")?;
            if !operations.iter().any(|operation| operation == "verify") {
                return Err("key_ops does not hold \"verify\"".to_owned());
            }
        }
        let algorithm = match self.optional_text("alg")? {
            None => None,
            Some(name) => match Algorithm::from_name(&name) {
                None => return Err(format!("alg {} is not a signature algorithm we implement", quoted(&name))),
                known => known,
            },
        };
        let (material, fits) = read_material(self)?;
        if let Some(algorithm) = algorithm.filter(|algorithm| !fits(*algorithm)) {
            return Err(format!("alg {algorithm} does not fit a key of this type"));
        }
        let had_private_parts = PRIVATE_MEMBERS.iter().any(|name| self.get(name).is_some());
        Ok(Jwk { key_id, algorithm, material, had_private_parts })
    }

    fn rsa(&self) -> Result<(JwkMaterial, Fits), String> {
        let material = JwkMaterial::Rsa { modulus: self.unsigned("n")?, exponent: self.unsigned("e")? };
        Ok((material, |algorithm| {
            matches!(
                algorithm,
                Algorithm::Rs256
                    | Algorithm::Rs384
                    | Algorithm::Rs512
                    | Algorithm::Ps256
                    | Algorithm::Ps384
                    | Algorithm::Ps512
            )
        }))
    }

    fn ec(&self) -> Result<(JwkMaterial, Fits), String> {
        let crv = self.text("crv")?;
        let (curve, fits): (_, Fits) = match &*crv {
            "P-256" => ("P-256", |algorithm| algorithm == Algorithm::Es256),
            "P-384" => ("P-384", |algorithm| algorithm == Algorithm::Es384),
            "P-521" => ("P-521", |algorithm| algorithm == Algorithm::Es512),
            "secp256k1" => ("secp256k1", |algorithm| algorithm == Algorithm::Es256k),
            _ => return Err(format!("crv {} is not a curve we implement", quoted(&crv))),
        };
        Ok((JwkMaterial::Ec { curve, x: self.public_bytes("x")?, y: self.public_bytes("y")? }, fits))
    }

    fn oct(&self) -> Result<(JwkMaterial, Fits), String> {
        Ok((JwkMaterial::Oct { secret: self.bytes("k")? }, Algorithm::is_symmetric))
    }

    fn okp(&self) -> Result<(JwkMaterial, Fits), String> {
        let crv = self.text("crv")?;
        if crv != "Ed25519" {
            return Err(format!("crv {} is not a signature curve we implement", quoted(&crv)));
        }
        let material = JwkMaterial::Ed25519 { x: self.public_bytes("x")? };
        Ok((material, |algorithm| matches!(algorithm, Algorithm::EdDsa | Algorithm::Ed25519)))
    }
}

/// The start of foreign text, escaped, for a reason that a person reads.
pub(crate) fn quoted(text: &str) -> String {
    let head: String = text.chars().take(QUOTED_CHARS_MAX).collect();
    let more = if head.len() < text.len() { ".." } else { "" };
    format!("{head:?}{more}")
}
