//! Reasons of a rejection: code, public sentence, RFC 6750 error code.

use crate::verify::Reason;

/// One row of the table of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReasonRow {
    /// Stable code, snake_case.
    pub code: &'static str,
    /// Public sentence, the same for every occurrence, without a full stop.
    pub message: &'static str,
    /// Value of `error` in `WWW-Authenticate: Bearer` (RFC 6750 section 3.1). `None`: the challenge carries no error,
    /// because no credentials came.
    pub bearer_error: Option<&'static str>,
}

const INVALID_TOKEN: Option<&str> = Some("invalid_token");
const INVALID_REQUEST: Option<&str> = Some("invalid_request");

const fn row(code: &'static str, message: &'static str, bearer_error: Option<&'static str>) -> ReasonRow {
    ReasonRow { code, message, bearer_error }
}

/// The row of a reason.
#[must_use]
pub const fn reason_row(reason: Reason) -> ReasonRow {
    match reason {
        Reason::TokenMissing => row("token_missing", "No token was given", None),
        Reason::TokenTooLarge => row("token_too_large", "The token is longer than the limit", INVALID_TOKEN),
        Reason::HeaderTooLarge => row("header_too_large", "The token's header is longer than the limit", INVALID_TOKEN),
        Reason::PayloadTooLarge => {
            row("payload_too_large", "The token's payload is longer than the limit", INVALID_TOKEN)
        }
        Reason::TokenMalformed => {
            row("token_malformed", "The token is not three segments separated by dots", INVALID_TOKEN)
        }
        Reason::JsonSerializationUnsupported => row(
            "json_serialization_unsupported",
            "JWS JSON serialization is not accepted, send the compact form",
            INVALID_TOKEN,
        ),
        Reason::JweUnsupported => row("jwe_unsupported", "Encrypted tokens are not accepted", INVALID_TOKEN),
        Reason::NestedTokenUnsupported => {
            row("nested_token_unsupported", "Tokens inside tokens are not accepted", INVALID_TOKEN)
        }
        Reason::Base64Invalid => row("base64_invalid", "A segment is not base64url without padding", INVALID_TOKEN),
        Reason::HeaderInvalid => row("header_invalid", "The header is not a strict JOSE header", INVALID_TOKEN),
        Reason::ClaimsInvalid => row("claims_invalid", "The payload is not a strict claims set", INVALID_TOKEN),
        Reason::CriticalHeaderUnsupported => row(
            "critical_header_unsupported",
            "The header names a critical extension that is not supported",
            INVALID_TOKEN,
        ),
        Reason::UnencodedPayloadUnsupported => {
            row("unencoded_payload_unsupported", "Unencoded payloads are not accepted in a JWT", INVALID_TOKEN)
        }
        Reason::AlgorithmUnsupported => row("algorithm_unsupported", "The algorithm is not supported", INVALID_TOKEN),
        Reason::AlgorithmNotAllowed => {
            row("algorithm_not_allowed", "The algorithm is not allowed for this issuer", INVALID_TOKEN)
        }
        Reason::AlgorithmMismatch => row("algorithm_mismatch", "The algorithm is not the key's", INVALID_TOKEN),
        Reason::TypeMismatch => row("type_mismatch", "The token's typ is not the expected one", INVALID_TOKEN),
        Reason::IssuerMissing => row("issuer_missing", "The token names no issuer", INVALID_TOKEN),
        Reason::IssuerUnknown => row("issuer_unknown", "The issuer is not known here", INVALID_TOKEN),
        Reason::IssuerMismatch => row("issuer_mismatch", "The token is from another issuer", INVALID_TOKEN),
        Reason::UnknownKeyId => row("unknown_kid", "The token's kid is not in the issuer's key set", INVALID_TOKEN),
        Reason::NoMatchingKey => row("no_matching_key", "No key of the issuer fits the token", INVALID_TOKEN),
        Reason::TooManyMatchingKeys => {
            row("too_many_matching_keys", "The token names no kid and too many keys fit", INVALID_TOKEN)
        }
        Reason::KeyInvalid => row("key_invalid", "The given key cannot be used", INVALID_REQUEST),
        Reason::SignatureInvalid => row("signature_invalid", "The signature is not valid", INVALID_TOKEN),
        Reason::NumericDateInvalid => {
            row("numeric_date_invalid", "A date claim is not a number, or is beyond 2^53 - 1 seconds", INVALID_TOKEN)
        }
        Reason::ExpiryMissing => row("expiry_missing", "The token has no exp", INVALID_TOKEN),
        Reason::Expired => row("expired", "The token has expired", INVALID_TOKEN),
        Reason::NotYetValid => row("not_yet_valid", "The token is not valid yet", INVALID_TOKEN),
        Reason::IssuedInFuture => row("issued_in_future", "The token was issued in the future", INVALID_TOKEN),
        Reason::LifetimeTooLong => {
            row("lifetime_too_long", "The token is valid for longer than allowed", INVALID_TOKEN)
        }
        Reason::AudienceMissing => row("audience_missing", "The token names no audience", INVALID_TOKEN),
        Reason::AudienceMismatch => row("audience_mismatch", "The token is for another audience", INVALID_TOKEN),
        Reason::ClaimMissing => row("claim_missing", "A required claim is absent", INVALID_TOKEN),
    }
}

/// The stable code of a reason.
#[must_use]
pub const fn reason_code(reason: Reason) -> &'static str {
    reason_row(reason).code
}
