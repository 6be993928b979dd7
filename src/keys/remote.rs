//! Remote JWKS and OIDC discovery. Contract; the author of `keys` fills it.
