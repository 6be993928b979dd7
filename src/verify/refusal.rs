//! From what the lower layers found to a reason, a step and a sentence. Each list is matched without a wildcard, so
//! that a new malformation or violation does not compile until someone has thought about its reason.
//!
//! Sentences hold nothing of the token, of keys or of expected values; the only names in them are those of claims that
//! the policy asks for.

use super::step::{Step, Stop};
use super::{Place, Reason, Rejection};
use crate::jose::{Malformed, MalformedKind, Segment};
use crate::keys::NoKey;
use crate::policy::Violation;

/// One sentence for every bad signature: whether the length, a range or the equation was wrong is not told.
const SIGNATURE_INVALID: &str = "The signature is not valid for this content and key.";

impl Rejection {
    /// A rejection without a place.
    #[must_use]
    pub(crate) fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self { reason, place: None, detail: detail.into() }
    }

    /// The one answer about a signature that is not good.
    #[must_use]
    pub(crate) fn signature_invalid() -> Self {
        Self::new(Reason::SignatureInvalid, SIGNATURE_INVALID)
    }
}

/// The end of a check at a malformation found in `step`.
pub(super) fn malformed(step: Step, malformed: &Malformed) -> Stop {
    let (reason, what) = describe(malformed);
    let place = (malformed.segment.is_some() || malformed.position.is_some())
        .then_some(Place { segment: malformed.segment, position: malformed.position });
    Stop::rejected(step, Rejection { reason, place, detail: what.to_owned() })
}

fn describe(malformed: &Malformed) -> (Reason, &'static str) {
    let header = malformed.segment == Some(Segment::Header);
    let json_reason = if header { Reason::HeaderInvalid } else { Reason::ClaimsInvalid };
    match malformed.kind {
        MalformedKind::Empty => (Reason::TokenMissing, "The token is empty."),
        MalformedKind::TokenTooLarge => (Reason::TokenTooLarge, "The token is longer than the limit."),
        MalformedKind::HeaderTooLarge => (Reason::HeaderTooLarge, "The header is longer than the limit."),
        MalformedKind::PayloadTooLarge => (Reason::PayloadTooLarge, "The payload is longer than the limit."),
        MalformedKind::NotCompact => {
            (Reason::TokenMalformed, "A token is three segments separated by two dots, with a header and a signature.")
        }
        MalformedKind::JsonSerialization => (
            Reason::JsonSerializationUnsupported,
            "This is a JWS in JSON serialization; only the compact form is accepted.",
        ),
        MalformedKind::Jwe => (Reason::JweUnsupported, "This is an encrypted token; only signed tokens are accepted."),
        MalformedKind::Nested => (
            Reason::NestedTokenUnsupported,
            "The payload is said to be a token itself; nested tokens are not accepted.",
        ),
        MalformedKind::Base64 => (
            Reason::Base64Invalid,
            "A segment is not base64url: padding, white space, other characters and stray bits are refused.",
        ),
        MalformedKind::Utf8 if header => (json_reason, "The header is not UTF-8."),
        MalformedKind::Utf8 => (json_reason, "The claims are not UTF-8."),
        MalformedKind::Json if header => (json_reason, "The header is not a JSON object."),
        MalformedKind::Json => (json_reason, "The claims are not a JSON object."),
        MalformedKind::DuplicateMember if header => (json_reason, "A member name occurs twice in the header."),
        MalformedKind::DuplicateMember => (json_reason, "A member name occurs twice in the claims."),
        MalformedKind::JsonLimit if header => {
            (json_reason, "The header is nested too deeply, or has too many members or too long a number.")
        }
        MalformedKind::JsonLimit => {
            (json_reason, "The claims are nested too deeply, or have too many members or too long a number.")
        }
        MalformedKind::MemberType if header => (json_reason, "A header member has the wrong type or is empty."),
        MalformedKind::MemberType => (json_reason, "A registered claim has the wrong type."),
        MalformedKind::AlgorithmMissing => (Reason::HeaderInvalid, "The header has no \"alg\"."),
        MalformedKind::AlgorithmUnknown => {
            (Reason::AlgorithmUnsupported, "The header's \"alg\" is not an algorithm we implement.")
        }
        MalformedKind::Critical => (
            Reason::CriticalHeaderUnsupported,
            "The header's \"crit\" is ill-formed or names an extension that is not understood.",
        ),
        MalformedKind::UnencodedPayload => {
            (Reason::UnencodedPayloadUnsupported, "The header sets \"b64\" to false, which a JWT must not do.")
        }
        MalformedKind::NumericDate => {
            (Reason::NumericDateInvalid, "A date claim is not a JSON number within the range of a date.")
        }
    }
}

/// The end of a check at a violation of the policy.
pub(super) fn violation(violation: &Violation) -> Stop {
    let (step, reason, detail) = match violation {
        Violation::AlgorithmNotAllowed => (
            Step::AllowedAlgorithm,
            Reason::AlgorithmNotAllowed,
            "The issuer's policy does not allow the token's \"alg\".",
        ),
        Violation::TypeMismatch => {
            (Step::Type, Reason::TypeMismatch, "The header's \"typ\" is not one that the issuer's policy asks for.")
        }
        Violation::IssuerMissing => (Step::Issuer, Reason::IssuerMissing, "The token has no \"iss\"."),
        Violation::IssuerMismatch => (Step::Issuer, Reason::IssuerMismatch, "The token's \"iss\" is not the issuer's."),
        Violation::ExpiryMissing => (Step::Expiry, Reason::ExpiryMissing, "The token has no \"exp\"."),
        Violation::Expired => (Step::Expiry, Reason::Expired, "The token has expired."),
        Violation::NotYetValid => (Step::NotBefore, Reason::NotYetValid, "The token is not valid yet (\"nbf\")."),
        Violation::IssuedInFuture => {
            (Step::IssuedAt, Reason::IssuedInFuture, "The token was issued in the future (\"iat\").")
        }
        Violation::LifetimeTooLong => {
            (Step::Lifetime, Reason::LifetimeTooLong, "The token is valid for longer than the issuer's policy allows.")
        }
        Violation::AudienceMissing => (Step::Audience, Reason::AudienceMissing, "The token has no \"aud\"."),
        Violation::AudienceMismatch => {
            (Step::Audience, Reason::AudienceMismatch, "The token's \"aud\" holds none of the expected audiences.")
        }
        Violation::ClaimMissing(name) => {
            let detail = format!("The claim \"{name}\" is required and absent.");
            return Stop::rejected(Step::RequiredClaims, Rejection::new(Reason::ClaimMissing, detail));
        }
    };
    Stop::rejected(step, Rejection::new(reason, detail))
}

/// The end of a check without a key to try.
pub(super) fn no_key(no_key: NoKey) -> Rejection {
    match no_key {
        NoKey::UnknownKeyId => Rejection::new(Reason::UnknownKeyId, "The key id is not in the issuer's key set."),
        NoKey::AlgorithmMismatch => {
            Rejection::new(Reason::AlgorithmMismatch, "The named key is for another algorithm.")
        }
        NoKey::NoneFits => {
            Rejection::new(Reason::NoMatchingKey, "No key id is named, and no key of the issuer fits the algorithm.")
        }
        NoKey::TooMany => Rejection::new(
            Reason::TooManyMatchingKeys,
            "No key id is named, and more keys of the issuer fit the algorithm than are tried.",
        ),
    }
}
