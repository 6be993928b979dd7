//! Whether settings make sense together. Finds everything that is wrong, not the first thing only; and lists what is
//! allowed and lets in more than an operator may mean.

use std::collections::HashMap;
use std::fmt::Display;
use std::ops::RangeInclusive;

use super::issuer::{IssuerSettings, PlainHttp, SourceKind};
use super::problem::{Origin, Problem};
use super::settings::Settings;
use super::tree::{Step, path_text};
use super::units::{Size, Span};
use crate::faces::batch_bytes;
use crate::keys::remote;

/// Longest leeway that is not called a loosening.
const LEEWAY_USUAL: Span = Span::secs(300);
/// Longest age of unrefreshed keys that is not called a loosening.
const STALE_USUAL: Span = Span::secs(7 * 24 * 3600);

/// The least leaves bulk three quarters of it, enough for a token that is tried with as many keys as there can be.
const SLOTS_PER_SHARD: RangeInclusive<usize> = 32..=65_536;

type Found = Vec<(Vec<Step>, String)>;

/// Everything that is wrong.
pub(super) fn problems(settings: &Settings) -> Found {
    let mut found = Found::new();
    listeners(settings, &mut found);
    engine(settings, &mut found);
    limits(settings, &mut found);
    http(settings, &mut found);
    keys(settings, &mut found);
    issuers(settings, &mut found);
    found
}

fn path(section: &str, name: &str) -> Vec<Step> {
    vec![Step::Name(section.to_owned()), Step::Name(name.to_owned())]
}

fn within<T: PartialOrd + Display>(found: &mut Found, at: Vec<Step>, value: &T, range: &RangeInclusive<T>) {
    if !range.contains(value) {
        found.push((at, format!("{value} is outside {} to {}", range.start(), range.end())));
    }
}

fn listeners(settings: &Settings, found: &mut Found) {
    let listen = &settings.listen;
    let overlap = listen.data.ip() == listen.admin.ip()
        || listen.data.ip().is_unspecified()
        || listen.admin.ip().is_unspecified();
    if listen.data.port() != 0 && listen.data.port() == listen.admin.port() && overlap {
        found.push((path("listen", "admin"), format!("port {} is already the data listener's", listen.admin.port())));
    }
}

fn engine(settings: &Settings, found: &mut Found) {
    let engine = &settings.engine;
    within(found, path("engine", "slots_per_shard"), &engine.slots_per_shard, &SLOTS_PER_SHARD);
    let budget = Span(std::time::Duration::from_micros(10))..=Span::millis(10);
    within(found, path("engine", "turn_budget"), &engine.turn_budget, &budget);
}

fn limits(settings: &Settings, found: &mut Found) {
    let limits = &settings.limits;
    within(found, path("limits", "token"), &limits.token, &(Size(256)..=Size::mib(1)));
    within(found, path("limits", "json_depth"), &limits.json_depth, &(2..=64));
    within(found, path("limits", "json_members"), &limits.json_members, &(16..=100_000));
    within(found, path("limits", "number_chars"), &limits.number_chars, &(16..=1024));
    within(found, path("limits", "candidates_max"), &limits.candidates_max, &(1..=16));
    for (name, size) in [("header", limits.header), ("payload", limits.payload)] {
        within(found, path("limits", name), &size, &(Size(64)..=limits.token.max(Size(64))));
    }
}

fn http(settings: &Settings, found: &mut Found) {
    let http = &settings.http;
    let token = settings.limits.token;
    let at = |name: &str| path("http", name);
    within(found, at("connections_max"), &http.connections_max, &(1..=1_000_000));
    within(found, at("streams_per_connection"), &http.streams_per_connection, &(1..=100_000));
    within(found, at("batch_items_max"), &http.batch_items_max, &(1..=10_000_000));
    within(found, at("window"), &http.window, &(1..=65_536));
    within(found, at("bulk_in_flight_max"), &http.bulk_in_flight_max, &(1..=65_536));
    // The engine keeps a quarter of the slots from bulk: more in flight than the rest would be refused, not held back.
    let for_bulk = settings.engine.slots_per_shard - settings.engine.slots_per_shard / 4;
    if http.bulk_in_flight_max > for_bulk {
        let message = format!(
            "{} is more than {for_bulk}, three quarters of engine.slots_per_shard; the others are for single checks",
            http.bulk_in_flight_max
        );
        found.push((at("bulk_in_flight_max"), message));
    }
    for (name, size) in [("headers", http.headers), ("body", http.body), ("line", http.line)] {
        let least = Size(token.0 + 1024);
        if size < least {
            found.push((at(name), format!("{size} cannot hold a token of {token}; give at least {least}")));
        }
    }
    within(found, at("headers"), &http.headers, &(Size::kib(8)..=Size::mib(4)));
    within(found, at("body"), &http.body, &(Size(0)..=Size::mib(16)));
    within(found, at("line"), &http.line, &(Size(0)..=Size::mib(16)));
    within(found, at("signature_body"), &http.signature_body, &(Size::kib(4)..=Size::mib(64)));
    within(found, at("batch_body"), &http.batch_body, &(Size::kib(64)..=Size::mib(1024)));
    // Batches and streams leave a quarter to single calls.
    let for_bulk = Size(http.held_per_shard.0 - http.held_per_shard.0 / 4);
    let batch = batch_bytes(http.batch_body.bytes(), http.batch_items_max).max(batch_bytes(http.line.bytes(), 1));
    let bulk = Size(u64::try_from(batch).unwrap_or(u64::MAX));
    let single = http.signature_body.max(http.body);
    if http.held_per_shard < single {
        found.push((at("held_per_shard"), format!("{} cannot hold one body of {single}", http.held_per_shard)));
    } else if for_bulk < bulk {
        let message = format!(
            "three quarters of {} are for batches and cannot hold the largest with its answers, {bulk}",
            http.held_per_shard
        );
        found.push((at("held_per_shard"), message));
    }
    let timeouts = [
        ("request_timeout", http.request_timeout),
        ("header_timeout", http.header_timeout),
        ("body_timeout", http.body_timeout),
        ("write_timeout", http.write_timeout),
    ];
    for (name, span) in timeouts {
        within(found, at(name), &span, &(Span::millis(10)..=Span::secs(3600)));
    }
    within(found, at("idle_timeout"), &http.idle_timeout, &(Span::secs(1)..=Span::secs(24 * 3600)));
    within(found, at("stream_idle_timeout"), &http.stream_idle_timeout, &(Span::secs(1)..=Span::secs(7 * 24 * 3600)));
}

fn keys(settings: &Settings, found: &mut Found) {
    let keys = &settings.keys;
    let at = |name: &str| path("keys", name);
    within(found, at("unknown_kid_wait"), &keys.unknown_kid_wait, &(Span::secs(0)..=Span::secs(10)));
    within(found, at("parked_max"), &keys.parked_max, &(0..=1_000_000));
    within(found, at("readiness_wait"), &keys.readiness_wait, &(Span::secs(0)..=Span::secs(3600)));
    within(found, at("refetch_burst"), &keys.refetch_burst, &(1..=100));
    within(found, at("refetch_interval"), &keys.refetch_interval, &(Span::secs(1)..=Span::secs(3600)));
    within(found, at("unknown_kid_memory"), &keys.unknown_kid_memory, &(Span::secs(1)..=Span::secs(3600)));
    within(found, at("connect_timeout"), &keys.connect_timeout, &(Span::millis(10)..=Span::secs(60)));
    within(found, at("fetch_timeout"), &keys.fetch_timeout, &(Span::millis(10)..=Span::secs(300)));
    within(found, at("file_poll"), &keys.file_poll, &(Span::secs(1)..=Span::secs(3600)));
    within(found, at("table_memory"), &keys.table_memory, &(Size(0)..=Size::mib(64 * 1024)));
    within(found, at("document"), &keys.document, &(Size::kib(1)..=Size::mib(64)));
    within(found, at("keys_max"), &keys.keys_max, &(1..=10_000));
    refresh(found, at, keys.refresh_floor, keys.refresh_ceiling, keys.stale_max);
}

fn refresh(found: &mut Found, at: impl Fn(&str) -> Vec<Step>, floor: Span, ceiling: Span, stale_max: Span) {
    if floor < Span::secs(1) {
        found.push((at("refresh_floor"), format!("{floor} would burden the publisher; at least 1s")));
    }
    if ceiling < floor {
        found.push((at("refresh_ceiling"), format!("{ceiling} is below refresh_floor, {floor}")));
    }
    if stale_max < ceiling {
        let message =
            format!("{stale_max} is below refresh_ceiling, {ceiling}: keys would expire between two refreshes");
        found.push((at("stale_max"), message));
    }
}

fn issuers(settings: &Settings, found: &mut Found) {
    let mut names = HashMap::new();
    let mut values = HashMap::new();
    for (index, issuer) in settings.issuers.iter().enumerate() {
        let at = |name: &str| vec![Step::Name("issuers".into()), Step::Index(index), Step::Name(name.into())];
        if let Some(first) = names.insert(issuer.name.as_str(), index) {
            found.push((at("name"), format!("issuers[{first}] is already called `{}`", issuer.name)));
        }
        if let Some(first) = values.insert(issuer.issuer.as_str(), index) {
            found.push((at("issuer"), format!("issuers[{first}] already has this value; two policies for one `iss`")));
        }
        if !is_name(&issuer.name) {
            let message = "a name has 1 to 64 lower-case letters, digits, `-`, `_` or `.`".to_owned();
            found.push((at("name"), message));
        }
        if issuer.issuer.is_empty() {
            found.push((at("issuer"), "empty; write the exact `iss` of the tokens".to_owned()));
        }
        let same = |(_, other): &(usize, &IssuerSettings)| other.issuer == issuer.name && other.name != issuer.name;
        if let Some((other, _)) = settings.issuers.iter().enumerate().find(same) {
            let message = format!("`{}` is the `iss` of issuers[{other}]; a request could mean either", issuer.name);
            found.push((at("name"), message));
        }
        let lists =
            [("audiences", &issuer.audiences), ("required_claims", &issuer.required_claims), ("types", &issuer.types)];
        for (name, list) in lists {
            for (element, text) in list.iter().enumerate().filter(|(_, text)| text.trim().is_empty()) {
                let mut at = at(name);
                at.push(Step::Index(element));
                found.push((at, format!("empty text `{text}`")));
            }
        }
        if issuer.leeway.0.subsec_nanos() != 0 {
            found.push((at("leeway"), format!("{} is not a whole number of seconds", issuer.leeway)));
        }
        if issuer.max_lifetime.is_some_and(|span| span < Span::secs(1) || span.0.subsec_nanos() != 0) {
            found.push((at("max_lifetime"), "give at least 1s, in whole seconds".to_owned()));
        }
        source(settings, issuer, &at, found);
    }
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte))
}

fn source(settings: &Settings, issuer: &IssuerSettings, at: &dyn Fn(&str) -> Vec<Step>, found: &mut Found) {
    let keys = &issuer.keys;
    let at_keys = |name: &str| {
        let mut path = at("keys");
        path.push(Step::Name(name.to_owned()));
        path
    };
    let kind = match keys.sources()[..] {
        [kind] => kind,
        [] => {
            let message = "name one source: jwks_file, jwks_inline, pem_file, secret_file, secret_env, jwks_url or \
                           discovery: true";
            found.push((at("keys"), message.to_owned()));
            return;
        }
        ref several => {
            let names: Vec<&str> = several.iter().map(|kind| kind.name()).collect();
            found.push((at("keys"), format!("one source only, not {}", names.join(" and "))));
            return;
        }
    };

    let remote_only = [
        ("ca_file", keys.ca_file.is_some()),
        ("plain_http", keys.plain_http.is_some()),
        ("refresh_floor", keys.refresh_floor.is_some()),
        ("refresh_ceiling", keys.refresh_ceiling.is_some()),
        ("stale_max", keys.stale_max.is_some()),
    ];
    for (name, _) in remote_only.into_iter().filter(|(_, set)| *set && !kind.is_remote()) {
        found.push((at_keys(name), format!("has no meaning with {}", kind.name())));
    }
    if keys.secret_encoding.is_some() && !kind.is_secret() {
        found.push((at_keys("secret_encoding"), format!("has no meaning with {}", kind.name())));
    }
    if keys.key_id.is_some() && !kind.is_secret() && kind != SourceKind::PemFile {
        found.push((at_keys("key_id"), format!("has no meaning with {}, whose keys name themselves", kind.name())));
    }
    if keys.key_id.as_deref() == Some("") {
        found.push((at_keys("key_id"), "empty; leave it out instead".to_owned()));
    }
    if keys.secret_env.as_deref() == Some("") {
        found.push((at_keys("secret_env"), "empty; write the name of an environment variable".to_owned()));
    }

    algorithms(issuer, kind, at, found);
    if kind == SourceKind::JwksInline && has_secret(issuer) {
        let message = "holds a secret (kty oct); secrets come from secret_file, secret_env or jwks_file";
        found.push((at_keys("jwks_inline"), message.to_owned()));
    }
    if kind.is_remote() {
        let own = [keys.refresh_floor, keys.refresh_ceiling, keys.stale_max];
        if own.iter().any(Option::is_some) {
            let floor = keys.refresh_floor.unwrap_or(settings.keys.refresh_floor);
            let ceiling = keys.refresh_ceiling.unwrap_or(settings.keys.refresh_ceiling);
            refresh(found, at_keys, floor, ceiling, keys.stale_max.unwrap_or(settings.keys.stale_max));
        }
        let (place, url) = match &keys.jwks_url {
            Some(url) => (at_keys("jwks_url"), url),
            None => (at("issuer"), &issuer.issuer),
        };
        if let Err(message) = remote::check_url(url, keys.plain_http.unwrap_or_default().into()) {
            found.push((place, message));
        }
    }
}

fn algorithms(issuer: &IssuerSettings, kind: SourceKind, at: &dyn Fn(&str) -> Vec<Step>, found: &mut Found) {
    for (index, name) in issuer.algorithms.iter().enumerate() {
        let symmetric = name.0.is_symmetric();
        let message = if kind.is_secret() && !symmetric {
            format!("{} needs a public key, and {} holds a secret", name.0, kind.name())
        } else if !kind.is_secret() && symmetric && kind != SourceKind::JwksFile {
            format!("{} needs a secret, and {} holds public keys only", name.0, kind.name())
        } else {
            continue;
        };
        let mut at = at("algorithms");
        at.push(Step::Index(index));
        found.push((at, message));
    }
}

/// Whether an inline JWK Set holds a symmetric key. Text that is no JSON holds none; its loader will say so.
fn has_secret(issuer: &IssuerSettings) -> bool {
    let Some(document) = issuer.keys.inline_document() else {
        return false;
    };
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(&document) else {
        return false;
    };
    let is_oct = |key: &serde_json::Value| key.get("kty").is_some_and(|kty| kty == "oct");
    is_oct(&value) || value.get("keys").and_then(|keys| keys.as_array()).is_some_and(|keys| keys.iter().any(is_oct))
}

/// What is allowed and lets in more than an operator may mean, for `verilane check` and the log at start; listed in
/// `docs/configuration.md`. Sizes and times that only cost memory are not in it: `verilane check` shows their sum.
#[must_use]
pub fn warnings(settings: &Settings) -> Vec<Problem> {
    let mut found = Found::new();
    if settings.issuers.is_empty() {
        let message = "no issuers: no token can be accepted, only raw signatures with a key by value";
        found.push((vec![Step::Name("issuers".into())], message.to_owned()));
    }
    if !settings.listen.data.ip().is_loopback() {
        let message = "tokens travel in the clear: this listener has no TLS and can be reached from other machines; put \
                       a proxy with TLS on this machine, or a network that is yours, in front of it";
        found.push((path("listen", "data"), message.to_owned()));
    }
    if !settings.listen.admin.ip().is_loopback() {
        let message = "the admin listener can be reached from other machines; keep clients away from it";
        found.push((path("listen", "admin"), message.to_owned()));
    }
    for (index, issuer) in settings.issuers.iter().enumerate() {
        let at = |names: &[&str]| {
            let mut path = vec![Step::Name("issuers".into()), Step::Index(index)];
            path.extend(names.iter().map(|name| Step::Name((*name).to_owned())));
            path
        };
        if issuer.audiences.is_empty() {
            let message = "no audience: tokens meant for another service are accepted";
            found.push((at(&["audiences"]), message.to_owned()));
        }
        if !issuer.require_expiry {
            found.push((at(&["require_expiry"]), "tokens without `exp` are accepted, and never expire".to_owned()));
        }
        if issuer.leeway > LEEWAY_USUAL {
            found.push((at(&["leeway"]), format!("tokens are accepted {} after they expired", issuer.leeway)));
        }
        if issuer.keys.plain_http == Some(PlainHttp::Anywhere) {
            let message = "keys may be fetched without TLS: anyone on the way can choose them";
            found.push((at(&["keys", "plain_http"]), message.to_owned()));
        }
        let stale = issuer.keys.stale_max.unwrap_or(settings.keys.stale_max);
        if stale > STALE_USUAL && issuer.keys.sources().iter().any(|kind| kind.is_remote()) {
            let message = format!("keys are trusted for {stale} after the last successful refresh");
            found.push((at(&["keys", "stale_max"]), message));
        }
    }
    found
        .into_iter()
        .map(|(path, message)| Problem { path: path_text(&path), origin: Origin::Nowhere, message })
        .collect()
}
