//! The steps of a token, in the order in which they are taken. A check ends at the first step that fails.

use super::{Error, Rejection};

/// A step of the check. The order of declaration is the order of checks, and part of the product's contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// Sizes and the split into segments.
    Structure,
    /// base64url of the three segments, before anything in them is looked at.
    Encoding,
    /// The header as strict JSON, and its members.
    Header,
    /// Which issuer's policy and keys apply.
    IssuerSelection,
    /// `alg` against the issuer's policy.
    AllowedAlgorithm,
    /// `typ` against the issuer's policy.
    Type,
    /// The keys that the token may be signed by.
    Key,
    /// Length of the signature, then the kernel's answer.
    Signature,
    /// The payload as a strict claims set.
    Claims,
    /// `iss`.
    Issuer,
    /// `exp`.
    Expiry,
    /// `nbf`.
    NotBefore,
    /// `iat`.
    IssuedAt,
    /// `exp` minus `iat`.
    Lifetime,
    /// `aud` against the policy.
    Audience,
    /// Claims that must be there.
    RequiredClaims,
    /// `aud` against what the caller asked for.
    RequestedAudience,
}

impl Step {
    /// Every step, in order.
    pub(super) const ALL: [Self; 17] = [
        Self::Structure,
        Self::Encoding,
        Self::Header,
        Self::IssuerSelection,
        Self::AllowedAlgorithm,
        Self::Type,
        Self::Key,
        Self::Signature,
        Self::Claims,
        Self::Issuer,
        Self::Expiry,
        Self::NotBefore,
        Self::IssuedAt,
        Self::Lifetime,
        Self::Audience,
        Self::RequiredClaims,
        Self::RequestedAudience,
    ];

    /// Name for a person.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Structure => "structure",
            Self::Encoding => "encoding",
            Self::Header => "header",
            Self::IssuerSelection => "issuer selection",
            Self::AllowedAlgorithm => "algorithm",
            Self::Type => "type",
            Self::Key => "key",
            Self::Signature => "signature",
            Self::Claims => "claims",
            Self::Issuer => "issuer",
            Self::Expiry => "expiry",
            Self::NotBefore => "not before",
            Self::IssuedAt => "issued at",
            Self::Lifetime => "lifetime",
            Self::Audience => "audience",
            Self::RequiredClaims => "required claims",
            Self::RequestedAudience => "requested audience",
        }
    }
}

/// The end of a check before acceptance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    /// Where.
    pub(super) step: Step,
    /// What is answered.
    pub(super) answer: Result<Rejection, Error>,
}

impl Stop {
    pub(super) fn rejected(step: Step, rejection: Rejection) -> Self {
        Self { step, answer: Ok(rejection) }
    }

    pub(super) fn failed(step: Step, error: Error) -> Self {
        Self { step, answer: Err(error) }
    }
}
