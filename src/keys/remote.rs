//! Remote JWKS and OIDC discovery.
