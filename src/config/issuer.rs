//! One issuer in the configuration: its policy and where its keys come from.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::units::{AlgorithmName, Span};
use crate::keys::remote;
use crate::policy::Policy;

/// Whose tokens are verified, against which keys, and what they must satisfy.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IssuerSettings {
    /// Name in requests, metrics and logs: lower-case letters, digits, `-`, `_` and `.`, at most 64 characters.
    pub name: String,
    /// Exact value of the token's `iss`.
    pub issuer: String,
    /// At least one must be in the token's `aud`. Empty: `aud` is not looked at, which `verilane check` warns about.
    #[serde(default)]
    pub audiences: Vec<String>,
    /// Algorithms allowed. Absent: every algorithm its keys fit.
    #[serde(default, deserialize_with = "at_least_one")]
    #[schemars(length(min = 1))]
    pub algorithms: Vec<AlgorithmName>,
    /// Claims that must be present.
    #[serde(default)]
    pub required_claims: Vec<String>,
    /// Accepted values of `typ`, such as `at+jwt`. Empty: any.
    #[serde(default)]
    pub types: Vec<String>,
    /// Tolerated clock difference, in whole seconds. 0 means 0.
    #[serde(default)]
    pub leeway: Span,
    /// Whether `exp` must be present.
    #[serde(default = "yes")]
    pub require_expiry: bool,
    /// Longest accepted time from `iat` to `exp`.
    #[serde(default)]
    pub max_lifetime: Option<Span>,
    /// Where its keys come from.
    pub keys: KeySourceSettings,
}

/// Where the keys of an issuer come from: exactly one of `jwks_file`, `jwks_inline`, `pem_file`, `secret_file`,
/// `secret_env`, `jwks_url` and `discovery`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KeySourceSettings {
    /// A JWK Set in a file; read again when it changes.
    pub jwks_file: Option<PathBuf>,
    /// A JWK Set in this file, as YAML or as JSON text. Public keys only.
    pub jwks_inline: Option<serde_json::Value>,
    /// Public keys or certificates in PEM; read again when the file changes.
    pub pem_file: Option<PathBuf>,
    /// An HMAC secret in a file; read again when it changes.
    pub secret_file: Option<PathBuf>,
    /// The name of an environment variable that holds an HMAC secret.
    pub secret_env: Option<String>,
    /// The address of a JWK Set, fetched in the background.
    pub jwks_url: Option<String>,
    /// `true` finds the JWK Set through OpenID Connect discovery at the issuer's own address.
    pub discovery: Option<bool>,

    /// With `secret_file` and `secret_env`: how the secret is written. Default `text`.
    pub secret_encoding: Option<SecretEncoding>,
    /// With `pem_file`, `secret_file` and `secret_env`: the `kid` of the key. Without it the key serves tokens with any
    /// `kid` or none.
    pub key_id: Option<String>,
    /// With `jwks_url` and `discovery`: certificate authorities (PEM) to trust instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// With `jwks_url` and `discovery`: whether addresses without TLS are allowed. Default `refused`.
    pub plain_http: Option<PlainHttp>,
    /// With `jwks_url` and `discovery`: overrides `keys.refresh_floor`.
    pub refresh_floor: Option<Span>,
    /// With `jwks_url` and `discovery`: overrides `keys.refresh_ceiling`.
    pub refresh_ceiling: Option<Span>,
    /// With `jwks_url` and `discovery`: overrides `keys.stale_max`.
    pub stale_max: Option<Span>,
}

/// Whether keys may travel without TLS: whoever can change them on the way can sign any token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlainHttp {
    /// `https` only.
    #[default]
    Refused,
    /// `http` to this machine itself, for development.
    Loopback,
    /// `http` to any host: only where the network below is authenticated by other means.
    Anywhere,
}

impl From<PlainHttp> for remote::PlainHttp {
    fn from(setting: PlainHttp) -> Self {
        match setting {
            PlainHttp::Refused => Self::Refused,
            PlainHttp::Loopback => Self::LoopbackOnly,
            PlainHttp::Anywhere => Self::Anywhere,
        }
    }
}

/// How an HMAC secret is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SecretEncoding {
    /// The bytes as they stand, but for one line ending at the end.
    #[default]
    Text,
    /// Every byte as it stands.
    Raw,
    /// base64url without padding, as in a JWK.
    Base64url,
    /// base64 with padding, as `openssl rand -base64 32` writes it.
    Base64,
}

/// Which kind of source a [`KeySourceSettings`] names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// `jwks_file`.
    JwksFile,
    /// `jwks_inline`.
    JwksInline,
    /// `pem_file`.
    PemFile,
    /// `secret_file`.
    SecretFile,
    /// `secret_env`.
    SecretEnv,
    /// `jwks_url`.
    JwksUrl,
    /// `discovery`.
    Discovery,
}

impl SourceKind {
    /// The member's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::JwksFile => "jwks_file",
            Self::JwksInline => "jwks_inline",
            Self::PemFile => "pem_file",
            Self::SecretFile => "secret_file",
            Self::SecretEnv => "secret_env",
            Self::JwksUrl => "jwks_url",
            Self::Discovery => "discovery",
        }
    }

    /// Whether it is fetched over the network.
    #[must_use]
    pub const fn is_remote(self) -> bool {
        matches!(self, Self::JwksUrl | Self::Discovery)
    }

    /// Whether it is a shared secret.
    #[must_use]
    pub const fn is_secret(self) -> bool {
        matches!(self, Self::SecretFile | Self::SecretEnv)
    }
}

impl KeySourceSettings {
    /// The sources that are named; a valid configuration has exactly one.
    #[must_use]
    pub fn sources(&self) -> Vec<SourceKind> {
        [
            (self.jwks_file.is_some(), SourceKind::JwksFile),
            (self.jwks_inline.is_some(), SourceKind::JwksInline),
            (self.pem_file.is_some(), SourceKind::PemFile),
            (self.secret_file.is_some(), SourceKind::SecretFile),
            (self.secret_env.is_some(), SourceKind::SecretEnv),
            (self.jwks_url.is_some(), SourceKind::JwksUrl),
            (self.discovery == Some(true), SourceKind::Discovery),
        ]
        .into_iter()
        .filter_map(|(named, kind)| named.then_some(kind))
        .collect()
    }

    /// The inline JWK Set as a JSON document.
    #[must_use]
    pub fn inline_document(&self) -> Option<Vec<u8>> {
        self.jwks_inline.as_ref().map(|value| match value {
            serde_json::Value::String(text) => text.clone().into_bytes(),
            other => other.to_string().into_bytes(),
        })
    }
}

impl IssuerSettings {
    /// The policy of this issuer.
    #[must_use]
    pub fn policy(&self) -> Policy {
        Policy {
            issuer: Some(self.issuer.clone()),
            algorithms: self.algorithms.iter().map(|name| name.0).collect(),
            audiences: self.audiences.clone(),
            required_claims: self.required_claims.clone(),
            types: self.types.clone(),
            leeway_s: self.leeway.0.as_secs(),
            require_expiry: self.require_expiry,
            max_lifetime_s: self.max_lifetime.map(|span| span.0.as_secs()),
        }
    }
}

/// A list that is not empty: whoever writes an empty one does not mean that everything is allowed.
fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<AlgorithmName>, D::Error> {
    let names = Vec::deserialize(deserializer)?;
    if names.is_empty() {
        return Err(serde::de::Error::custom("the list is empty; leave it out to allow every algorithm the keys fit"));
    }
    Ok(names)
}

const fn yes() -> bool {
    true
}
