//! Local sources of keys: configuration itself, files and the environment. Reading is a function from source to set;
//! `watch` calls it again when a file changes.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use zeroize::Zeroizing;

use super::prepare::{self, DocumentLimits, Origin, PrepareError};
use super::{IssuerKeys, KeySet, KeySetReport, VerifyingKey};
use crate::jose::{Algorithm, base64url};

/// A local source of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A JWK Set (or one JWK) written in the configuration.
    InlineJwks(InlineJwks),
    /// A file with a JWK Set (or one JWK).
    JwksFile(PathBuf),
    /// A file with public keys or certificates in PEM.
    PemFile {
        /// The file.
        path: PathBuf,
        /// How its keys may be used.
        binding: Binding,
    },
    /// A file with a shared secret.
    SecretFile {
        /// The file.
        path: PathBuf,
        /// How the bytes are written in it.
        encoding: SecretEncoding,
        /// How the secret may be used.
        binding: Binding,
    },
    /// An environment variable with a shared secret.
    SecretEnv {
        /// The variable.
        variable: String,
        /// How the bytes are written in it.
        encoding: SecretEncoding,
        /// How the secret may be used.
        binding: Binding,
    },
}

/// The text of an inline JWK Set. It may hold secrets, so it is wiped on drop and never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct InlineJwks(Zeroizing<String>);

impl InlineJwks {
    /// Takes the text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }
}

impl std::fmt::Debug for InlineJwks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InlineJwks(..)")
    }
}

/// What the operator says about a key that cannot say it itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    /// `kid` the key answers to. Without one it is tried for every token of its issuer, whatever `kid` that names.
    pub key_id: Option<String>,
    /// Algorithms it may be used with; empty means all its type fits.
    pub algorithms: Vec<Algorithm>,
}

/// How the bytes of a secret are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecretEncoding {
    /// As they are, to the last byte.
    Raw,
    /// As they are, less one line end at the end of the file, which editors and `echo` leave behind.
    #[default]
    Text,
    /// base64url without padding (RFC 4648 section 5); white space around it is ignored.
    Base64Url,
    /// base64 with padding (RFC 4648 section 4), as `openssl rand -base64 32` writes it; white space around it is
    /// ignored.
    Base64,
}

/// Why a source gave no keys.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file cannot be read.
    #[error("cannot read {path}: {error}")]
    Read {
        /// The file.
        path: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// The environment variable is not set, or empty.
    #[error("environment variable {0} is not set")]
    NoVariable(String),
    /// The secret is not in its encoding.
    #[error("{at}: the secret is not {encoding}")]
    Encoding {
        /// File or variable.
        at: String,
        /// The encoding it should have.
        encoding: &'static str,
    },
    /// What was read has no usable key.
    #[error("{at}: {error}")]
    Prepare {
        /// File or variable.
        at: String,
        /// Why.
        error: PrepareError,
    },
}

/// Bytes of a source as read, and what tells two readings apart without keeping the bytes.
pub(super) struct Reading {
    bytes: Zeroizing<Vec<u8>>,
}

impl Reading {
    /// A keyed hash of the bytes.
    #[cfg(feature = "server")]
    pub(super) fn fingerprint(&self, hasher: &std::hash::RandomState) -> u64 {
        use std::hash::BuildHasher;
        hasher.hash_one(self.bytes.as_slice())
    }
}

impl Source {
    /// Reads and prepares the keys. Blocks on the disk.
    ///
    /// # Errors
    /// If the source cannot be read or has no usable key.
    pub fn load(&self, limits: &DocumentLimits) -> Result<(KeySet, KeySetReport), SourceError> {
        self.prepare(&self.read(limits)?, limits)
    }

    /// Reads and prepares the keys once: a handle whose keys never change by themselves.
    ///
    /// # Errors
    /// As [`Source::load`].
    pub fn fixed(&self, limits: &DocumentLimits) -> Result<Arc<IssuerKeys>, SourceError> {
        let (set, report) = self.load(limits)?;
        let keys = IssuerKeys::waiting(self.describe());
        keys.publish_reported(set, report, None, Instant::now());
        Ok(keys)
    }

    /// The source for a person; nothing of its content.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::InlineJwks(_) => "inline JWK Set".to_owned(),
            Self::JwksFile(path) => format!("JWK Set file {}", path.display()),
            Self::PemFile { path, .. } => format!("PEM file {}", path.display()),
            Self::SecretFile { path, .. } => format!("secret file {}", path.display()),
            Self::SecretEnv { variable, .. } => format!("environment variable {variable}"),
        }
    }

    /// The file it reads, if it is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::JwksFile(path) | Self::PemFile { path, .. } | Self::SecretFile { path, .. } => Some(path),
            Self::InlineJwks(_) | Self::SecretEnv { .. } => None,
        }
    }

    pub(super) fn read(&self, limits: &DocumentLimits) -> Result<Reading, SourceError> {
        let bytes = match self {
            Self::InlineJwks(text) => Zeroizing::new(text.0.as_bytes().to_vec()),
            Self::JwksFile(path) | Self::PemFile { path, .. } | Self::SecretFile { path, .. } => {
                read_file(path, limits.bytes)?
            }
            Self::SecretEnv { variable, .. } => {
                let value = std::env::var_os(variable).map(std::ffi::OsString::into_encoded_bytes);
                let value = value.filter(|value| !value.is_empty());
                Zeroizing::new(value.ok_or_else(|| SourceError::NoVariable(variable.clone()))?)
            }
        };
        Ok(Reading { bytes })
    }

    pub(super) fn prepare(
        &self,
        reading: &Reading,
        limits: &DocumentLimits,
    ) -> Result<(KeySet, KeySetReport), SourceError> {
        let at = || self.describe();
        let failed = |error| SourceError::Prepare { at: at(), error };
        match self {
            Self::InlineJwks(_) | Self::JwksFile(_) => {
                prepare::from_document(&reading.bytes, Origin::Local, limits).map_err(failed)
            }
            Self::PemFile { binding, .. } => {
                let (keys, mut report) = prepare::from_pem_within(&reading.bytes, limits).map_err(failed)?;
                let keys = bind(keys, binding, &mut report);
                prepare::usable(keys, report).map_err(failed)
            }
            Self::SecretFile { encoding, binding, .. } | Self::SecretEnv { encoding, binding, .. } => {
                let secret = decode_secret(&reading.bytes, *encoding, at)?;
                let mut key = prepare::from_secret(&secret, &binding.algorithms).map_err(failed)?;
                key.key_id = binding.key_id.as_deref().map(Arc::from);
                prepare::usable(vec![key], KeySetReport::default()).map_err(failed)
            }
        }
    }
}

/// Gives PEM keys the name and the algorithms the operator chose; keys the algorithms do not go with are left out.
fn bind(keys: Vec<VerifyingKey>, binding: &Binding, report: &mut KeySetReport) -> Vec<VerifyingKey> {
    let mut bound = Vec::with_capacity(keys.len());
    for (position, mut key) in keys.into_iter().enumerate() {
        key.key_id = binding.key_id.as_deref().map(Arc::from);
        match prepare::narrow(&mut key, &binding.algorithms) {
            Ok(()) => bound.push(key),
            Err(error) => report.skipped.push(format!("usable PEM key {}: {error}", position + 1)),
        }
    }
    if bound.len() > 1 && binding.key_id.is_some() {
        report
            .warnings
            .push("one key id is configured for several PEM keys: only the first that fits is tried".to_owned());
    }
    bound
}

/// A secret as editors and `echo` leave it, without the line end.
pub(crate) fn trim_line_end(text: &[u8]) -> &[u8] {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.strip_suffix(b"\r").unwrap_or(text)
}

/// A file that may hold a secret, of at most `max` bytes.
pub(crate) fn read_file(path: &Path, max: usize) -> Result<Zeroizing<Vec<u8>>, SourceError> {
    let failed = |error| SourceError::Read { path: path.display().to_string(), error };
    // Looked at before it is opened: opening a named pipe waits for somebody to write, for ever if need be.
    let about = std::fs::metadata(path).map_err(failed)?;
    if !about.is_file() {
        return Err(failed(std::io::Error::other("not a regular file")));
    }
    let file = std::fs::File::open(path).map_err(failed)?;
    let length = about.len();
    // Reserved whole, so that no half-filled buffer with a part of a secret is left behind by growing.
    let mut bytes = Zeroizing::new(Vec::with_capacity(usize::try_from(length).unwrap_or(max).min(max) + 1));
    let bound = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    file.take(bound).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > max {
        let got = usize::try_from(length).unwrap_or(usize::MAX).max(bytes.len());
        return Err(SourceError::Prepare {
            at: path.display().to_string(),
            error: PrepareError::TooLarge { got, max },
        });
    }
    Ok(bytes)
}

fn decode_secret(
    bytes: &[u8],
    encoding: SecretEncoding,
    at: impl Fn() -> String,
) -> Result<Zeroizing<Vec<u8>>, SourceError> {
    use base64::Engine;
    let text = bytes.trim_ascii();
    let decoded = match encoding {
        SecretEncoding::Raw => Some(bytes.to_vec()),
        SecretEncoding::Text => Some(trim_line_end(bytes).to_vec()),
        SecretEncoding::Base64Url => base64url::decode(text).ok(),
        SecretEncoding::Base64 => base64::engine::general_purpose::STANDARD.decode(text).ok(),
    };
    let name = match encoding {
        SecretEncoding::Raw | SecretEncoding::Text => "text",
        SecretEncoding::Base64Url => "base64url without padding",
        SecretEncoding::Base64 => "base64",
    };
    decoded.map(Zeroizing::new).ok_or_else(|| SourceError::Encoding { at: at(), encoding: name })
}
