//! Layer 2: what an issuer's tokens must satisfy. Pure; time is an argument. Knows no keys and no network.

use crate::jose::{Algorithm, Claims, Header};

/// Policy of one issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Exact value of `iss`. `None` only for key material without an issuer (command line, raw tools): then `iss` is
    /// not looked at.
    pub issuer: Option<String>,
    /// Algorithms allowed; empty means every algorithm the keys fit.
    pub algorithms: Vec<Algorithm>,
    /// At least one must be in `aud`. Empty means: `aud` is not looked at.
    pub audiences: Vec<String>,
    /// Claims that must be present (and not JSON null).
    pub required_claims: Vec<String>,
    /// Expected `typ`, compared without case and with an optional `application/` prefix; a missing `typ` does not
    /// match. Empty means: any.
    pub types: Vec<String>,
    /// Tolerated clock difference in seconds, for `exp`, `nbf` and `iat`. Default 0.
    pub leeway_s: u64,
    /// Whether `exp` must be present. Default true.
    pub require_expiry: bool,
    /// Longest accepted `exp - iat` (or `exp - now` without `iat`) in seconds.
    pub max_lifetime_s: Option<u64>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            issuer: None,
            algorithms: Vec::new(),
            audiences: Vec::new(),
            required_claims: Vec::new(),
            types: Vec::new(),
            leeway_s: 0,
            require_expiry: true,
            max_lifetime_s: None,
        }
    }
}

/// Why claims or header do not satisfy a policy. Declared in the order in which they are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// `alg` is not among the allowed ones.
    AlgorithmNotAllowed,
    /// `typ` is not the expected one.
    TypeMismatch,
    /// `iss` is absent.
    IssuerMissing,
    /// `iss` is another.
    IssuerMismatch,
    /// `exp` is absent and required.
    ExpiryMissing,
    /// now >= exp + leeway.
    Expired,
    /// now + leeway < nbf.
    NotYetValid,
    /// now + leeway < iat.
    IssuedInFuture,
    /// Longer than the maximum lifetime.
    LifetimeTooLong,
    /// `aud` is absent and an audience is required.
    AudienceMissing,
    /// No audience of ours in `aud`.
    AudienceMismatch,
    /// A required claim is absent; the name is ours, from the policy.
    ClaimMissing(String),
}

impl Policy {
    /// What can be decided before the signature is checked: `alg` and `typ`.
    ///
    /// # Errors
    /// The first violation in declaration order.
    pub fn judge_header(&self, header: &Header) -> Result<(), Violation> {
        todo!()
    }

    /// The claims, at `now` (seconds since 1970). Call only with a good signature.
    ///
    /// # Errors
    /// The first violation in declaration order.
    pub fn judge_claims(&self, claims: &Claims<'_>, now: i64) -> Result<(), Violation> {
        todo!()
    }
}
