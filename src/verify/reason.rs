//! The closed lists of reasons (about the token) and errors (about us).

/// Why a token or signature was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// No token was given.
    TokenMissing,
    /// The token is longer than the limit.
    TokenTooLarge,
    /// The decoded header is longer than the limit.
    HeaderTooLarge,
    /// The decoded payload is longer than the limit.
    PayloadTooLarge,
    /// Not three segments.
    TokenMalformed,
    /// JWS JSON serialization.
    JsonSerializationUnsupported,
    /// Encrypted token.
    JweUnsupported,
    /// Token inside a token.
    NestedTokenUnsupported,
    /// A segment is not strict base64url.
    Base64Invalid,
    /// The header is not a strict JOSE header.
    HeaderInvalid,
    /// The payload is not a strict claims set.
    ClaimsInvalid,
    /// `crit` names something we do not implement, or is ill-formed.
    CriticalHeaderUnsupported,
    /// `b64` of false in a JWT.
    UnencodedPayloadUnsupported,
    /// `alg` is nothing we implement; `none` is one of those.
    AlgorithmUnsupported,
    /// `alg` is not allowed by the issuer's policy.
    AlgorithmNotAllowed,
    /// `alg` is not the key's.
    AlgorithmMismatch,
    /// `typ` is not the expected one.
    TypeMismatch,
    /// `iss` is absent.
    IssuerMissing,
    /// `iss` is none we know.
    IssuerUnknown,
    /// `iss` is not the expected one.
    IssuerMismatch,
    /// `kid` is not in the issuer's key set.
    UnknownKeyId,
    /// No `kid`, and no key fits the algorithm.
    NoMatchingKey,
    /// No `kid`, and more keys fit than are tried.
    TooManyMatchingKeys,
    /// A key given by value is not one we verify with.
    KeyInvalid,
    /// The signature is not good: wrong length, out of range or not by the key; which of these is not told.
    SignatureInvalid,
    /// A NumericDate is not a number in range.
    NumericDateInvalid,
    /// `exp` is absent and required.
    ExpiryMissing,
    /// Expired.
    Expired,
    /// `nbf` is in the future.
    NotYetValid,
    /// `iat` is in the future.
    IssuedInFuture,
    /// Longer than the maximum lifetime.
    LifetimeTooLong,
    /// `aud` is absent and required.
    AudienceMissing,
    /// No audience of ours.
    AudienceMismatch,
    /// A required claim is absent.
    ClaimMissing,
}

impl Reason {
    /// Every reason, in declaration order.
    pub const ALL: [Self; 34] = [
        Self::TokenMissing,
        Self::TokenTooLarge,
        Self::HeaderTooLarge,
        Self::PayloadTooLarge,
        Self::TokenMalformed,
        Self::JsonSerializationUnsupported,
        Self::JweUnsupported,
        Self::NestedTokenUnsupported,
        Self::Base64Invalid,
        Self::HeaderInvalid,
        Self::ClaimsInvalid,
        Self::CriticalHeaderUnsupported,
        Self::UnencodedPayloadUnsupported,
        Self::AlgorithmUnsupported,
        Self::AlgorithmNotAllowed,
        Self::AlgorithmMismatch,
        Self::TypeMismatch,
        Self::IssuerMissing,
        Self::IssuerUnknown,
        Self::IssuerMismatch,
        Self::UnknownKeyId,
        Self::NoMatchingKey,
        Self::TooManyMatchingKeys,
        Self::KeyInvalid,
        Self::SignatureInvalid,
        Self::NumericDateInvalid,
        Self::ExpiryMissing,
        Self::Expired,
        Self::NotYetValid,
        Self::IssuedInFuture,
        Self::LifetimeTooLong,
        Self::AudienceMissing,
        Self::AudienceMismatch,
        Self::ClaimMissing,
    ];
}

/// Why we could not answer. Never a statement about the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum Error {
    /// A bound was reached; try again shortly.
    #[error("overloaded, try again shortly")]
    Overloaded,
    /// The issuer's keys have never been loaded, or are older than the hard limit.
    #[error("the issuer's keys are not available")]
    KeysUnavailable,
    /// The caller's deadline passed before the check ran.
    #[error("the deadline passed before the check ran")]
    DeadlineExceeded,
    /// The service is draining.
    #[error("shutting down")]
    ShuttingDown,
    /// A fault of ours.
    #[error("internal error")]
    Internal,
}

impl Error {
    /// Every error, in declaration order.
    pub const ALL: [Self; 5] =
        [Self::Overloaded, Self::KeysUnavailable, Self::DeadlineExceeded, Self::ShuttingDown, Self::Internal];
}
