//! Layer 2: what an issuer's tokens must satisfy. Pure; time is an argument. Knows no keys and no network.

use crate::jose::{Algorithm, Claims, Header, NumericDate, media_type};

/// Policy of one issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Exact value of `iss`. `None` only for key material without an issuer (command line, raw tools): then `iss` is
    /// not looked at.
    pub issuer: Option<String>,
    /// Algorithms allowed, by exact name; empty means every algorithm the keys fit. `EdDSA` and `Ed25519` are two
    /// names: a list may pin one of them, or hold both.
    pub algorithms: Vec<Algorithm>,
    /// At least one must be in `aud`, exactly. Empty means: `aud` is not looked at.
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
    /// Longest accepted `exp - iat` (or `exp - now` without `iat`) in seconds; a token without `exp` is then refused
    /// too. Leeway does not lengthen it.
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
        if !self.allows(header.algorithm) {
            return Err(Violation::AlgorithmNotAllowed);
        }
        let has_type = |typ: &str| self.types.iter().any(|wanted| media_type::equal(wanted, typ));
        if !self.types.is_empty() && !header.typ.as_deref().is_some_and(has_type) {
            return Err(Violation::TypeMismatch);
        }
        Ok(())
    }

    /// Whether `algorithm` is allowed: the list is empty, or holds exactly this name.
    #[must_use]
    pub fn allows(&self, algorithm: Algorithm) -> bool {
        self.algorithms.is_empty() || self.algorithms.contains(&algorithm)
    }

    /// The claims, at `now` (seconds since 1970). Call only with a good signature.
    ///
    /// # Errors
    /// The first violation in declaration order.
    pub fn judge_claims(&self, claims: &Claims<'_>, now: i64) -> Result<(), Violation> {
        self.judge_issuer(claims)?;
        self.judge_times(claims, now)?;
        self.judge_audience(claims)?;
        match self.required_claims.iter().find(|name| claims.get(name).is_none_or(|value| value == "null")) {
            Some(name) => Err(Violation::ClaimMissing(name.clone())),
            None => Ok(()),
        }
    }

    /// An empty `iss` matches nothing, not even an empty setting.
    fn judge_issuer(&self, claims: &Claims<'_>) -> Result<(), Violation> {
        let Some(expected) = &self.issuer else {
            return Ok(());
        };
        let Some(issuer) = &claims.issuer else {
            return Err(Violation::IssuerMissing);
        };
        if issuer.is_empty() || issuer != expected {
            return Err(Violation::IssuerMismatch);
        }
        Ok(())
    }

    /// Everything is in nanoseconds and 128 bits: no 64-bit time, leeway or sum of them comes near an overflow.
    fn judge_times(&self, claims: &Claims<'_>, now: i64) -> Result<(), Violation> {
        let now = i128::from(now) * NANOS;
        let leeway = i128::from(self.leeway_s) * NANOS;
        let expires_at = claims.expires_at.map(NumericDate::as_nanos);
        let issued_at = claims.issued_at.map(NumericDate::as_nanos);

        match expires_at {
            None if self.require_expiry => return Err(Violation::ExpiryMissing),
            Some(expires_at) if now >= expires_at + leeway => return Err(Violation::Expired),
            _ => {}
        }
        if claims.not_before.is_some_and(|not_before| now + leeway < not_before.as_nanos()) {
            return Err(Violation::NotYetValid);
        }
        if issued_at.is_some_and(|issued_at| now + leeway < issued_at) {
            return Err(Violation::IssuedInFuture);
        }
        if let Some(max) = self.max_lifetime_s {
            // A token without expiry lives for ever.
            let is_short = |expires_at| expires_at - issued_at.unwrap_or(now) <= i128::from(max) * NANOS;
            if !expires_at.is_some_and(is_short) {
                return Err(Violation::LifetimeTooLong);
            }
        }
        Ok(())
    }

    /// An empty string in `aud` matches nothing, not even an empty setting.
    fn judge_audience(&self, claims: &Claims<'_>) -> Result<(), Violation> {
        if self.audiences.is_empty() {
            return Ok(());
        }
        let Some(audience) = &claims.audience else {
            return Err(Violation::AudienceMissing);
        };
        if !self.audiences.iter().any(|ours| !ours.is_empty() && audience.contains(ours)) {
            return Err(Violation::AudienceMismatch);
        }
        Ok(())
    }
}

/// Nanoseconds in a second.
const NANOS: i128 = 1_000_000_000;
