//! The claims set (RFC 7519 section 4): strict, one pass, registered claims extracted, the rest known by name. Whether
//! the claims satisfy anybody is for `policy`.

use std::borrow::Cow;

use super::json::{self, Kind, Value};
use super::{Limits, Malformed, MalformedKind, NumericDate, Segment};

/// `aud`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Audience<'a> {
    /// A single string.
    One(Cow<'a, str>),
    /// An array of strings, possibly empty.
    Many(Vec<Cow<'a, str>>),
}

impl Audience<'_> {
    /// Whether one of the values is exactly `name`.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        match self {
            Self::One(value) => value == name,
            Self::Many(values) => values.iter().any(|value| value == name),
        }
    }
}

/// The registered claims, typed, and the raw members.
#[derive(Clone, Debug)]
pub struct Claims<'a> {
    /// `iss`.
    pub issuer: Option<Cow<'a, str>>,
    /// `sub`.
    pub subject: Option<Cow<'a, str>>,
    /// `aud`.
    pub audience: Option<Audience<'a>>,
    /// `exp`.
    pub expires_at: Option<NumericDate>,
    /// `nbf`.
    pub not_before: Option<NumericDate>,
    /// `iat`.
    pub issued_at: Option<NumericDate>,
    /// `jti`.
    pub jwt_id: Option<Cow<'a, str>>,
    /// Every top-level member in order: decoded name and the JSON text of its value.
    pub members: Vec<(Cow<'a, str>, &'a str)>,
}

impl<'a> Claims<'a> {
    /// The JSON text of a top-level member.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.members.iter().find(|(member, _)| member == name).map(|(_, value)| *value)
    }
}

/// Parses a decoded payload.
///
/// A registered claim that is present has its type or the whole is refused; JSON `null` is no type of any of them, and
/// never means "absent".
///
/// # Errors
/// Not strict JSON, not an object, duplicate members at any depth, limits, a registered claim of the wrong type.
/// Positions are offsets in `json`.
pub fn parse<'a>(json: &'a [u8], limits: &Limits) -> Result<Claims<'a>, Malformed> {
    if json.len() > limits.payload_bytes {
        return Err(Malformed::within(MalformedKind::PayloadTooLarge, Segment::Payload));
    }
    let read = json::object(json, &limits.json())
        .map_err(|error| Malformed::at(error.kind(), Segment::Payload, error.position))?;
    let mut claims = Claims {
        issuer: None,
        subject: None,
        audience: None,
        expires_at: None,
        not_before: None,
        issued_at: None,
        jwt_id: None,
        members: Vec::with_capacity(read.len()),
    };
    for member in read {
        let value = member.value;
        match &*member.name {
            "iss" => claims.issuer = Some(string(value)?),
            "sub" => claims.subject = Some(string(value)?),
            "jti" => claims.jwt_id = Some(string(value)?),
            "aud" => claims.audience = Some(audience(value)?),
            "exp" => claims.expires_at = Some(date(value)?),
            "nbf" => claims.not_before = Some(date(value)?),
            "iat" => claims.issued_at = Some(date(value)?),
            _ => {}
        }
        claims.members.push((member.name, value.text()));
    }
    Ok(claims)
}

fn refused(kind: MalformedKind, value: Value<'_>) -> Malformed {
    Malformed::at(kind, Segment::Payload, value.position())
}

fn string(value: Value<'_>) -> Result<Cow<'_, str>, Malformed> {
    value.string().ok_or_else(|| refused(MalformedKind::MemberType, value))
}

fn audience(value: Value<'_>) -> Result<Audience<'_>, Malformed> {
    match value.kind() {
        Kind::Array => value.elements().map(string).collect::<Result<_, _>>().map(Audience::Many),
        _ => string(value).map(Audience::One),
    }
}

fn date(value: Value<'_>) -> Result<NumericDate, Malformed> {
    value.number().and_then(NumericDate::from_json_number).ok_or_else(|| refused(MalformedKind::NumericDate, value))
}
