//! The JOSE header of a token (RFC 7515 section 4).
//!
//! `jku`, `x5u`, `jwk` and `x5c` are never looked at: nothing in a token is a source of keys. `crit` is refused unless
//! every name in it is understood; no extension is, so every `crit` is refused. `b64` with a value of false is refused
//! (RFC 7797 section 7); true is the default and changes nothing, so it is accepted as long as `crit` does not name it.
//! `enc` and `zip` belong to encrypted tokens (RFC 7516 section 4.1) and are refused.

use super::json::{self, Kind, Value};
use super::media_type;
use super::{Algorithm, Limits, Malformed, MalformedKind, Segment};

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
/// Checked in this order: strict JSON; `enc` and `zip`; `b64` of false; `crit`; the type of `b64`; `alg`; the types of
/// `kid`, `typ` and `cty`; a `cty` of JWT.
///
/// # Errors
/// Every way in which it is not a JWS header we accept; see [`Malformed`]. Positions are offsets in `json`.
pub fn parse(json: &[u8], limits: &Limits) -> Result<Header, Malformed> {
    if json.len() > limits.header_bytes {
        return Err(Malformed::within(MalformedKind::HeaderTooLarge, Segment::Header));
    }
    let members = json::object(json, &limits.json())
        .map_err(|error| Malformed::at(error.kind(), Segment::Header, error.position))?;
    let (mut alg, mut kid, mut typ, mut cty, mut crit, mut b64, mut jwe) = (None, None, None, None, None, None, None);
    for member in members {
        let slot = match &*member.name {
            "alg" => &mut alg,
            "kid" => &mut kid,
            "typ" => &mut typ,
            "cty" => &mut cty,
            "crit" => &mut crit,
            "b64" => &mut b64,
            "enc" | "zip" => &mut jwe,
            _ => continue,
        };
        *slot = Some(member.value);
    }
    if let Some(value) = jwe {
        return refuse(MalformedKind::Jwe, value);
    }
    if let Some(value) = b64
        && value.kind() == Kind::False
    {
        return refuse(MalformedKind::UnencodedPayload, value);
    }
    if let Some(value) = crit {
        // The position is that of the first name, as none is understood; of the value if it is not a list of names.
        let offender = value.elements().next().unwrap_or(value);
        return refuse(MalformedKind::Critical, offender);
    }
    if let Some(value) = b64
        && value.kind() != Kind::True
    {
        return refuse(MalformedKind::MemberType, value);
    }
    let Some(alg) = alg else {
        return Err(Malformed::within(MalformedKind::AlgorithmMissing, Segment::Header));
    };
    let Some(name) = alg.string() else {
        return refuse(MalformedKind::MemberType, alg);
    };
    let Some(algorithm) = Algorithm::from_name(&name) else {
        return refuse(MalformedKind::AlgorithmUnknown, alg);
    };
    let key_id = optional_text(kid)?;
    let typ = optional_text(typ)?;
    if let Some(value) = cty {
        match value.string() {
            Some(content) if media_type::equal(&content, "JWT") => return refuse(MalformedKind::Nested, value),
            Some(_) => {}
            None => return refuse(MalformedKind::MemberType, value),
        }
    }
    Ok(Header { algorithm, key_id, typ })
}

fn refuse<T>(kind: MalformedKind, value: Value<'_>) -> Result<T, Malformed> {
    Err(Malformed::at(kind, Segment::Header, value.position()))
}

fn optional_text(value: Option<Value<'_>>) -> Result<Option<String>, Malformed> {
    match value.map(|value| (value.string(), value)) {
        None => Ok(None),
        Some((Some(text), _)) => Ok(Some(text.into_owned())),
        Some((None, value)) => refuse(MalformedKind::MemberType, value),
    }
}
