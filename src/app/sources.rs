//! From the configuration of an issuer to the source of its keys.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::failure::{Failure, tell};
use crate::config::{IssuerSettings, Proxy, SecretEncoding, Settings, SourceKind};
use crate::keys::prepare::DocumentLimits;
use crate::keys::remote::{self, Endpoint, Fetcher, ProxyUse, RemoteConfig, Schedule};
use crate::keys::source::read_file;
use crate::keys::source::{Binding, InlineJwks, SecretEncoding as KeysEncoding, Source};
use crate::keys::{IssuerKeys, RefetchLimits};
use crate::verify::IssuerEntry;

/// The largest file with certificate authorities.
const CA_FILE_MAX: usize = 4 * 1024 * 1024;

/// How often a command that answers and ends tries to fetch a set.
const FETCH_ATTEMPTS: u64 = 3;

/// Bounds on key documents.
pub(super) fn document_limits(settings: &Settings) -> DocumentLimits {
    DocumentLimits { bytes: settings.keys.document.bytes(), keys: settings.keys.keys_max }
}

/// The remote source of an issuer; `None` if its keys are local.
pub(super) fn remote_source(settings: &Settings, issuer: &IssuerSettings) -> Result<Option<RemoteConfig>, Failure> {
    let own = &issuer.keys;
    let endpoint = match own.sources().first() {
        Some(SourceKind::JwksUrl) => Endpoint::Jwks { url: own.jwks_url.clone().unwrap_or_default() },
        Some(SourceKind::Discovery) => Endpoint::Discovery { issuer: issuer.issuer.clone() },
        _ => return Ok(None),
    };
    let mut config = remote_defaults(settings, endpoint);
    config.plain_http = own.plain_http.unwrap_or_default().into();
    if let Some(path) = &own.ca_file {
        let authorities = read_named_file(path, CA_FILE_MAX)
            .map_err(|failure| Failure::new(format!("issuer {}: {failure}", issuer.name)))?;
        config.ca_bundle = Some(authorities.to_vec());
    }
    let schedule = &mut config.schedule;
    schedule.floor = own.refresh_floor.map_or(schedule.floor, |span| span.0);
    schedule.ceiling = own.refresh_ceiling.map_or(schedule.ceiling, |span| span.0);
    schedule.hard_age = own.stale_max.map_or(schedule.hard_age, |span| span.0);
    let named = |error: remote::RemoteError| Failure::new(format!("issuer {}: {error}", issuer.name));
    config.check().map_err(named)?;
    Ok(Some(config))
}

fn remote_defaults(settings: &Settings, endpoint: Endpoint) -> RemoteConfig {
    let keys = &settings.keys;
    let mut config = RemoteConfig::new(endpoint);
    config.proxy = match keys.proxy {
        Proxy::Direct => ProxyUse::Direct,
        Proxy::Environment => ProxyUse::Environment,
    };
    config.connect_timeout = keys.connect_timeout.0;
    config.total_timeout = keys.fetch_timeout.0;
    config.limits = document_limits(settings);
    config.schedule = Schedule {
        default_lifetime: keys.refresh_default.0,
        floor: keys.refresh_floor.0,
        ceiling: keys.refresh_ceiling.0,
        hard_age: keys.stale_max.0,
        ..Schedule::default()
    };
    config.refetch = RefetchLimits {
        burst: keys.refetch_burst,
        interval: keys.refetch_interval.0,
        negative_ttl: keys.unknown_kid_memory.0,
        ..RefetchLimits::default()
    };
    config
}

/// Every issuer with its keys, loaded or fetched once: for commands that answer and end.
pub(super) fn load_all(settings: &Settings) -> Result<Vec<IssuerEntry>, Failure> {
    let mut entries = Vec::with_capacity(settings.issuers.len());
    let mut remote = Vec::new();
    for issuer in &settings.issuers {
        let keys = match local_source(issuer) {
            Some(source) => source
                .fixed(&document_limits(settings))
                .map_err(|error| Failure::new(format!("issuer {}: {error}", issuer.name)))?,
            None => IssuerKeys::waiting("remote"),
        };
        if let Some(config) = remote_source(settings, issuer)? {
            remote.push((config, Arc::clone(&keys)));
        }
        entries.push(IssuerEntry { name: Arc::from(issuer.name.as_str()), policy: issuer.policy(), keys });
    }
    let fetched: Vec<Arc<IssuerKeys>> = remote.iter().map(|(_, keys)| Arc::clone(keys)).collect();
    fetch_all(remote, settings)?;
    for entry in &entries {
        if fetched.iter().any(|keys| Arc::ptr_eq(keys, &entry.keys)) && entry.keys.load(Instant::now()).is_none() {
            tell(format_args!("warning: issuer {}: no keys: {}", entry.name, why_absent(&entry.keys)));
        }
    }
    Ok(entries)
}

/// Why a set that was to be fetched is not there.
fn why_absent(keys: &IssuerKeys) -> String {
    keys.status().last_error.unwrap_or_else(|| "no answer in time".to_owned())
}

/// The keys at `url`, fetched once.
pub(super) fn fetch_once(url: &str, settings: &Settings) -> Result<Arc<IssuerKeys>, Failure> {
    let mut config = remote_defaults(settings, Endpoint::Jwks { url: url.to_owned() });
    config.plain_http = remote::PlainHttp::LoopbackOnly;
    config.proxy = ProxyUse::Environment;
    config.check().map_err(Failure::new)?;
    let keys = IssuerKeys::waiting(url);
    fetch_all(vec![(config, Arc::clone(&keys))], settings)?;
    if keys.load(Instant::now()).is_none() {
        return Err(Failure::new(format!("no keys from {url}: {}", why_absent(&keys))));
    }
    Ok(keys)
}

/// Fetches until every set is there or has failed a few times in a row, or the time for a fetch is over. Sets that did
/// not come are simply absent: their tokens are answered with an error, the others are not held up.
fn fetch_all(remote: Vec<(RemoteConfig, Arc<IssuerKeys>)>, settings: &Settings) -> Result<(), Failure> {
    if remote.is_empty() {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start the fetch: {error}")))?;
    runtime.block_on(async {
        let mut handles = Vec::with_capacity(remote.len());
        let mut waiting = Vec::with_capacity(remote.len());
        for (config, keys) in remote {
            waiting.push(Arc::clone(&keys));
            handles.push(Fetcher::spawn(config, keys).map_err(Failure::new)?);
        }
        let end = Instant::now() + settings.keys.fetch_timeout.0;
        let waits = |keys: &Arc<IssuerKeys>| {
            keys.load(Instant::now()).is_none() && keys.status().failures_in_row < FETCH_ATTEMPTS
        };
        while Instant::now() < end && waiting.iter().any(waits) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    })
}

/// The local source of an issuer; `None` if its keys are fetched.
pub(super) fn local_source(issuer: &IssuerSettings) -> Option<Source> {
    let keys = &issuer.keys;
    let binding =
        || Binding { key_id: keys.key_id.clone(), algorithms: issuer.algorithms.iter().map(|name| name.0).collect() };
    let encoding = match keys.secret_encoding.unwrap_or_default() {
        SecretEncoding::Text => KeysEncoding::Text,
        SecretEncoding::Raw => KeysEncoding::Raw,
        SecretEncoding::Base64url => KeysEncoding::Base64Url,
        SecretEncoding::Base64 => KeysEncoding::Base64,
    };
    match keys.sources().first()? {
        SourceKind::JwksFile => keys.jwks_file.clone().map(Source::JwksFile),
        SourceKind::JwksInline => {
            let document = String::from_utf8(keys.inline_document()?).ok()?;
            Some(Source::InlineJwks(InlineJwks::new(document)))
        }
        SourceKind::PemFile => keys.pem_file.clone().map(|path| Source::PemFile { path, binding: binding() }),
        SourceKind::SecretFile => {
            keys.secret_file.clone().map(|path| Source::SecretFile { path, encoding, binding: binding() })
        }
        SourceKind::SecretEnv => {
            keys.secret_env.clone().map(|variable| Source::SecretEnv { variable, encoding, binding: binding() })
        }
        SourceKind::JwksUrl | SourceKind::Discovery => None,
    }
}

/// Reads a file that a person named on the command line.
pub(super) fn read_named_file(path: &std::path::Path, max: usize) -> Result<zeroize::Zeroizing<Vec<u8>>, Failure> {
    read_file(path, max).map_err(Failure::new)
}
