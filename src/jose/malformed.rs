//! What can be wrong with the form of a token.

/// Which of the three segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// First segment.
    Header,
    /// Second segment.
    Payload,
    /// Third segment.
    Signature,
}

impl Segment {
    /// All three, in order.
    pub const ALL: [Self; 3] = [Self::Header, Self::Payload, Self::Signature];

    /// Lower-case name for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Payload => "payload",
            Self::Signature => "signature",
        }
    }
}

/// The input is not a well-formed compact JWS, header or claims set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// What is wrong.
    pub kind: MalformedKind,
    /// The segment it is in, once segments are known.
    pub segment: Option<Segment>,
    /// Byte offset: in the token for structure and base64url, in the decoded segment for JSON.
    pub position: Option<usize>,
}

/// The closed list of malformations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MalformedKind {
    /// No bytes at all.
    Empty,
    /// Above [`Limits::token_bytes`](super::Limits::token_bytes).
    TokenTooLarge,
    /// Decoded header above its limit.
    HeaderTooLarge,
    /// Decoded payload above its limit.
    PayloadTooLarge,
    /// Not exactly two dots, or an empty header or signature segment.
    NotCompact,
    /// JWS JSON serialization (starts with `{`).
    JsonSerialization,
    /// Five segments, or a header with `enc` or `zip`: a JWE.
    Jwe,
    /// `cty` says the payload is itself a JWT.
    Nested,
    /// Padding, a foreign character, white space, an impossible length or stray bits in base64url.
    Base64,
    /// Not UTF-8.
    Utf8,
    /// Not JSON (RFC 8259), or not an object at the top.
    Json,
    /// A member name occurs twice in one object, at any depth.
    DuplicateMember,
    /// Too deep, too many members, or too long a number.
    JsonLimit,
    /// A known member has the wrong type or an empty value where none is allowed.
    MemberType,
    /// `alg` is absent.
    AlgorithmMissing,
    /// `alg` names nothing we implement; `none` is one of those.
    AlgorithmUnknown,
    /// `crit` is ill-formed or names an extension that is not understood.
    Critical,
    /// `b64` is false: never in a JWT (RFC 7797 section 7).
    UnencodedPayload,
    /// A NumericDate is not a JSON number in the range of [`NumericDate`](super::NumericDate).
    NumericDate,
}

impl Malformed {
    /// Without segment and position.
    #[must_use]
    pub const fn new(kind: MalformedKind) -> Self {
        Self { kind, segment: None, position: None }
    }

    /// With the place.
    #[must_use]
    pub const fn at(kind: MalformedKind, segment: Segment, position: usize) -> Self {
        Self { kind, segment: Some(segment), position: Some(position) }
    }

    /// With the segment only.
    #[must_use]
    pub const fn within(kind: MalformedKind, segment: Segment) -> Self {
        Self { kind, segment: Some(segment), position: None }
    }
}
