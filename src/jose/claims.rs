//! The claims set (RFC 7519 section 4): strict, one pass, registered claims extracted, the rest known by name.

use std::borrow::Cow;

use super::{Limits, Malformed};

/// Seconds since 1970-01-01T00:00:00Z, UTC, within years 0 to 9999. A fraction is allowed in the JSON and kept as
/// nanoseconds, so that comparison is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NumericDate {
    /// Whole seconds, rounded down.
    pub seconds: i64,
    /// 0 to 999,999,999.
    pub nanos: u32,
}

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
/// # Errors
/// Not strict JSON, not an object, duplicate members at any depth, limits, a registered claim of the wrong type.
pub fn parse<'a>(json: &'a [u8], limits: &Limits) -> Result<Claims<'a>, Malformed> {
    todo!()
}
