//! Fetching keys: rotation, outages, hostile answers, and what tokens with unknown key ids can cause.

use std::sync::Arc;
use std::time::{Duration, Instant};

use verilane::jose::Algorithm;
use verilane::keys::prepare::DocumentLimits;
use verilane::keys::remote::{
    Endpoint, FetchHandle, Fetcher, PlainHttp, ProxyUse, RemoteConfig, RemoteError, Schedule,
};
use verilane::keys::{IssuerKeys, NoKey, RefetchLimits};

use super::files::{eventually, names};
use super::{ed25519_jwk, named_set, oct_jwk, only, set_of};
use crate::support::jwks_server::{JwksServer, Reply, free_address};

const HOUR: Duration = Duration::from_secs(3600);
const MOMENT: Duration = Duration::from_millis(20);

/// Fetches once and then only when asked to.
fn once(url: &str) -> RemoteConfig {
    RemoteConfig {
        plain_http: PlainHttp::LoopbackOnly,
        schedule: Schedule {
            floor: HOUR,
            ceiling: HOUR,
            hard_age: 2 * HOUR,
            retry_min: MOMENT,
            first_retry_max: MOMENT,
            retry_max: MOMENT,
            ..Schedule::default()
        },
        ..RemoteConfig::new(Endpoint::Jwks { url: url.to_owned() })
    }
}

/// Fetches all the time.
fn often(url: &str) -> RemoteConfig {
    let config = once(url);
    RemoteConfig { schedule: Schedule { floor: MOMENT, ceiling: MOMENT, ..config.schedule }, ..config }
}

fn discovering(config: RemoteConfig, issuer: &str) -> RemoteConfig {
    RemoteConfig { endpoint: Endpoint::Discovery { issuer: issuer.to_owned() }, ..config }
}

fn spawn(config: RemoteConfig) -> (Arc<IssuerKeys>, FetchHandle) {
    let keys = IssuerKeys::waiting("test");
    let handle = Fetcher::spawn(config, Arc::clone(&keys)).unwrap();
    (keys, handle)
}

/// Waits for a failure that began after this call: an attempt may be under way now, so two must end.
async fn fails_again(keys: &IssuerKeys) -> String {
    let failures = keys.status().failures;
    eventually("two more failures", || keys.status().failures >= failures + 2).await;
    keys.status().last_error.unwrap()
}

#[tokio::test]
async fn a_rotation_is_picked_up_and_the_removed_key_stops() {
    let server = JwksServer::start().await;
    server.set("/jwks", Reply::ok(named_set(&["old", "both"])));
    let (keys, _handle) = spawn(often(&server.url("/jwks")));
    eventually("first keys", || names(&keys) == ["old", "both"]).await;
    server.set("/jwks", Reply::ok(named_set(&["both", "new"])));
    eventually("new keys", || names(&keys) == ["both", "new"]).await;
    let set = keys.load(Instant::now()).unwrap();
    assert_eq!(only(&set, Algorithm::EdDsa, Some("old")), Err(NoKey::UnknownKeyId));
    assert_eq!(keys.status().source, server.url("/jwks"));
}

#[tokio::test]
async fn an_unchanged_document_keeps_its_generation_with_and_without_etag() {
    for etag in [None, Some("\"v1\"")] {
        let server = JwksServer::start().await;
        let reply = Reply::ok(named_set(&["a"]));
        server.set("/jwks", etag.map_or(reply.clone(), |etag| reply.header("etag", etag)));
        let (keys, _handle) = spawn(often(&server.url("/jwks")));
        eventually("several answers", || keys.status().successes >= 4).await;
        let generation = keys.load(Instant::now()).unwrap().generation();
        eventually("more answers", || keys.status().successes >= 8).await;
        assert_eq!(keys.load(Instant::now()).unwrap().generation(), generation, "{etag:?}");
        let full = server.answered("/jwks", 200);
        assert_eq!(full == 1, etag.is_some(), "{full} full answers with {etag:?}");
        // A new document under a new validator is taken.
        server.set("/jwks", Reply::ok(named_set(&["b"])).header("etag", "\"v2\""));
        eventually("the new document", || names(&keys) == ["b"]).await;
    }
}

#[tokio::test]
async fn refresh_follows_the_answers_lifetime_between_floor_and_ceiling() {
    let minute = Duration::from_secs(60);
    for (cache_control, lifetime) in [
        (None, 5 * minute),
        (Some("public, max-age=600"), 10 * minute),
        (Some("max-age=1"), minute),
        (Some("no-store"), minute),
        (Some("max-age=864000"), HOUR),
    ] {
        let server = JwksServer::start().await;
        let reply = Reply::ok(named_set(&["a"]));
        server.set("/jwks", cache_control.map_or(reply.clone(), |value| reply.header("cache-control", value)));
        let config = RemoteConfig { schedule: Schedule::default(), ..once(&server.url("/jwks")) };
        let (keys, _handle) = spawn(config);
        eventually("the plan", || keys.status().keys > 0 && keys.status().next_refresh.is_some()).await;
        let status = keys.status();
        let wait = status.next_refresh.unwrap() - status.last_success.unwrap();
        let slack = Duration::from_secs(10);
        assert!(wait >= lifetime.mul_f64(0.75), "{cache_control:?}: {wait:?}");
        assert!(wait <= lifetime.mul_f64(0.9) + slack, "{cache_control:?}: {wait:?}");
    }
}

#[tokio::test]
async fn an_issuer_that_is_down_at_start_is_retried_until_it_is_up() {
    let address = free_address().await;
    let (keys, _handle) = spawn(once(&format!("http://{address}/jwks")));
    let error = fails_again(&keys).await;
    assert!(error.contains("onnect"), "{error}");
    assert!(keys.load(Instant::now()).is_none(), "no made-up keys");
    let server = JwksServer::start_on(address).await;
    server.set("/jwks", Reply::ok(named_set(&["a"])));
    eventually("keys", || names(&keys) == ["a"]).await;
    assert_eq!(keys.status().last_error, None);
}

#[tokio::test]
async fn stale_keys_serve_while_the_issuer_is_down_up_to_the_hard_age() {
    let server = JwksServer::start().await;
    server.set("/jwks", Reply::ok(named_set(&["a"])));
    let (keys, _handle) = spawn(often(&server.url("/jwks")));
    eventually("keys", || names(&keys) == ["a"]).await;
    server.set("/jwks", Reply::status(503).header("retry-after", "0"));
    assert!(fails_again(&keys).await.contains("503"));
    let last = keys.status().last_success.unwrap();
    assert!(keys.load(last + 2 * HOUR - Duration::from_secs(1)).is_some());
    assert!(keys.load(last + 2 * HOUR).is_none());
    assert_eq!(keys.status().last_success, Some(last), "failures do not prolong the age");
    server.set("/jwks", Reply::ok(named_set(&["b"])));
    eventually("it recovers", || names(&keys) == ["b"]).await;
}

#[tokio::test]
async fn hostile_and_broken_answers_never_replace_a_good_set() {
    let server = JwksServer::start().await;
    let other = JwksServer::start().await;
    other.set("/jwks", Reply::ok(named_set(&["foreign"])));
    let many: Vec<String> = (0..17).map(|index| format!("k{index}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let good = Reply::ok(named_set(&["good"]));
    server.set("/jwks", good.clone());
    let limits = DocumentLimits { bytes: 64 * 1024, keys: 16 };
    let (keys, _handle) = spawn(RemoteConfig { limits, ..often(&server.url("/jwks")) });
    eventually("the good set", || names(&keys) == ["good"]).await;
    let generation = keys.status().generation;
    for (case, reply, word) in [
        ("HTML", Reply::ok("<html>not here</html>").header("content-type", "application/json"), "JSON"),
        ("nothing", Reply::ok(""), "JSON"),
        ("no keys", Reply::ok(r#"{"keys":[]}"#), "no usable key"),
        ("an array", Reply::ok("[]"), "JWK Set"),
        ("another document", Reply::ok(r#"{"error":"x"}"#), "JWK Set"),
        ("only a secret", Reply::ok(set_of(&[oct_jwk("s", 64, "")])), "shared secret"),
        ("too many keys", Reply::ok(named_set(&many)), "17 keys"),
        ("too large, announced", Reply::ok(vec![b' '; 70_000]), "65536"),
        ("too large, not announced", Reply::ok(vec![b' '; 70_000]).chunked(), "65536"),
        ("not found", Reply::status(404), "404"),
        ("an empty success", Reply::status(204), "204"),
        ("unasked 304", Reply::status(304), "304"),
        ("redirect to another host", Reply::redirect(&other.url("/jwks")), "another origin"),
        ("redirect to itself", Reply::redirect("/jwks"), "too many redirects"),
        ("redirect to a file", Reply::redirect("file:///etc/passwd"), ""),
        ("deep nesting", Reply::ok(format!(r#"{{"keys":{}"#, "[".repeat(60_000))), "JSON"),
        ("duplicate members", Reply::ok(r#"{"keys":[],"keys":[]}"#), ""),
    ] {
        server.set("/jwks", reply);
        let error = fails_again(&keys).await;
        assert!(error.contains(word), "{case}: {error}");
        assert_eq!(names(&keys), ["good"], "{case}");
        assert_eq!(keys.status().generation, generation, "{case}");
        server.set("/jwks", good.clone());
        eventually("good again", || keys.status().last_error.is_none()).await;
    }
    assert_eq!(other.total(), 0, "no request ever went to the other host");
}

#[tokio::test]
async fn a_redirect_within_the_origin_is_followed() {
    let server = JwksServer::start().await;
    server.set("/old", Reply::redirect("/new"));
    server.set("/new", Reply::ok(named_set(&["a"])));
    let (keys, _handle) = spawn(once(&server.url("/old")));
    eventually("keys", || names(&keys) == ["a"]).await;
}

#[tokio::test]
async fn a_secret_in_a_published_set_is_skipped_and_the_rest_serves() {
    let server = JwksServer::start().await;
    server.set("/jwks", Reply::ok(set_of(&[oct_jwk("s", 64, ""), ed25519_jwk(Some("a"))])));
    let (keys, _handle) = spawn(once(&server.url("/jwks")));
    eventually("keys", || names(&keys) == ["a"]).await;
    let status = keys.status();
    assert_eq!((status.keys, status.skipped.len()), (1, 1));
    assert!(status.skipped[0].contains("oct"), "{status:?}");
}

#[tokio::test]
async fn unknown_key_ids_share_one_flight_and_a_name_not_found_is_remembered() {
    let server = JwksServer::start().await;
    server.set("/jwks", Reply::ok(named_set(&["a"])));
    let limits = RefetchLimits { interval: HOUR, burst: 2, negative_ttl: HOUR, negative_max: 4 };
    let (keys, _handle) = spawn(RemoteConfig { refetch: limits, ..once(&server.url("/jwks")) });
    eventually("keys", || keys.status().next_refresh.is_some()).await;
    let now = Instant::now();
    server.hold();
    let waits: Vec<_> = (0..50).map(|_| keys.unknown_key_id("b", now).expect("joins the flight")).collect();
    eventually("the flight", || server.count("/jwks") == 2).await;
    let late = keys.unknown_key_id("c", now).expect("a flight under way is joined");
    server.release();
    for wait in waits.into_iter().chain([late]) {
        wait.finished().await;
    }
    assert_eq!(server.count("/jwks"), 2, "fifty-one tokens, one fetch");
    assert!(keys.unknown_key_id("b", now).is_none(), "known not to exist");
    // The late one joined a flight that may have been answered before: it may ask once more.
    keys.unknown_key_id("c", now).expect("the second of the burst").finished().await;
    assert_eq!(server.count("/jwks"), 3);
    for name in ["b", "c", "d", "e", ""] {
        assert!(keys.unknown_key_id(name, now).is_none(), "the burst is spent, {name:?}");
    }
    let later = now + HOUR + Duration::from_secs(10);
    keys.unknown_key_id("b", later).expect("one more after the interval").finished().await;
    assert_eq!(server.count("/jwks"), 4);
    assert_eq!(keys.status().refetches, 3);
    assert!(keys.unknown_key_id("x", later).is_none());
}

#[tokio::test]
async fn a_token_signed_with_a_brand_new_key_gets_it_by_asking() {
    let server = JwksServer::start().await;
    server.set("/jwks", Reply::ok(named_set(&["a"])));
    let (keys, _handle) = spawn(once(&server.url("/jwks")));
    eventually("keys", || keys.status().next_refresh.is_some()).await;
    let before = keys.load(Instant::now()).unwrap();
    assert_eq!(only(&before, Algorithm::EdDsa, Some("b")), Err(NoKey::UnknownKeyId));
    server.set("/jwks", Reply::ok(named_set(&["a", "b"])));
    keys.unknown_key_id("b", Instant::now()).expect("a fetch").finished().await;
    let after = keys.load(Instant::now()).unwrap();
    assert_eq!(only(&after, Algorithm::EdDsa, Some("b")), Ok(1));
    assert!(keys.unknown_key_id("b", Instant::now()).is_some(), "a name that was brought is not held against anyone");
}

#[tokio::test]
async fn a_failed_flight_lets_waiters_go_and_holds_nothing_against_a_name() {
    let server = JwksServer::start().await;
    server.set("/jwks", Reply::ok(named_set(&["a"])));
    let (keys, _handle) = spawn(once(&server.url("/jwks")));
    eventually("keys", || keys.status().next_refresh.is_some()).await;
    server.set("/jwks", Reply::status(500));
    keys.unknown_key_id("b", Instant::now()).expect("a fetch").finished().await;
    assert!(keys.status().failures >= 1);
    assert_eq!(names(&keys), ["a"]);
    assert!(keys.unknown_key_id("b", Instant::now()).is_some());
}

#[tokio::test]
async fn dropping_the_handle_ends_the_task_and_frees_who_waits() {
    let server = JwksServer::start().await;
    server.set("/jwks", Reply::ok(named_set(&["a"])));
    let (keys, handle) = spawn(once(&server.url("/jwks")));
    eventually("keys", || keys.status().next_refresh.is_some()).await;
    server.hold();
    let wait = keys.unknown_key_id("b", Instant::now()).expect("a fetch");
    drop(handle);
    wait.finished().await;
    assert!(keys.unknown_key_id("b", Instant::now()).is_none(), "nobody is left to fetch");
    assert_eq!(names(&keys), ["a"], "the keys stay until their hard age");
}

#[tokio::test]
async fn a_fetcher_that_takes_over_is_not_disturbed_by_the_end_of_the_one_before() {
    let server = JwksServer::start().await;
    server.set("/jwks", Reply::ok(named_set(&["a"])));
    let (keys, before) = spawn(once(&server.url("/jwks")));
    eventually("keys", || keys.status().next_refresh.is_some()).await;
    server.set("/moved", Reply::ok(named_set(&["b"])));
    let planned = keys.status().next_refresh;
    let _after = Fetcher::spawn(once(&server.url("/moved")), Arc::clone(&keys)).unwrap();
    drop(before);
    eventually("keys of the new place", || names(&keys) == ["b"] && keys.status().next_refresh != planned).await;
    server.set("/moved", Reply::ok(named_set(&["b", "c"])));
    keys.unknown_key_id("c", Instant::now()).expect("the gate is open").finished().await;
    assert_eq!(names(&keys), ["b", "c"]);
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_given_up() {
    let server = JwksServer::start().await;
    server.hold();
    let config = RemoteConfig { total_timeout: MOMENT, ..once(&server.url("/jwks")) };
    let (keys, _handle) = spawn(config);
    let error = fails_again(&keys).await;
    assert!(error.contains("no answer") || error.contains("timed out"), "{error}");
}

#[tokio::test]
async fn one_issuer_that_hangs_does_nothing_to_another() {
    let (hung, well) = (JwksServer::start().await, JwksServer::start().await);
    hung.hold();
    well.set("/jwks", Reply::ok(named_set(&["a"])));
    let (one, _first) = spawn(often(&hung.url("/jwks")));
    let (two, _second) = spawn(often(&well.url("/jwks")));
    eventually("the other refreshes", || two.status().successes >= 5).await;
    assert_eq!(hung.total(), 1);
    assert!(one.load(Instant::now()).is_none());
}

fn metadata(issuer: &str, jwks_uri: &str) -> Reply {
    Reply::ok(format!(r#"{{"issuer":"{issuer}","jwks_uri":"{jwks_uri}","response_types_supported":["code"]}}"#))
}

#[tokio::test]
async fn discovery_finds_the_keys_and_follows_when_they_move() {
    let (issuer, first, second) = (JwksServer::start().await, JwksServer::start().await, JwksServer::start().await);
    let name = issuer.url("/tenant");
    let path = "/tenant/.well-known/openid-configuration";
    issuer.set(path, metadata(&name, &first.url("/keys")));
    first.set("/keys", Reply::ok(named_set(&["a"])));
    second.set("/keys", Reply::ok(named_set(&["b"])));
    let (keys, _handle) = spawn(discovering(often(""), &name));
    eventually("keys", || names(&keys) == ["a"]).await;
    eventually("refreshes", || keys.status().successes >= 5).await;
    assert_eq!(issuer.count(path), 1, "the document is not read for every refresh");
    issuer.set(path, metadata(&name, &second.url("/keys")));
    first.set("/keys", Reply::status(410));
    eventually("the moved keys", || names(&keys) == ["b"]).await;
}

#[tokio::test]
async fn a_discovery_document_of_another_issuer_is_refused() {
    let server = JwksServer::start().await;
    let name = server.url("");
    let path = "/.well-known/openid-configuration";
    server.set("/keys", Reply::ok(named_set(&["a"])));
    server.set(path, metadata("https://evil.example", &server.url("/keys")));
    let (keys, _handle) = spawn(discovering(often(""), &name));
    assert!(fails_again(&keys).await.contains("another issuer"));
    server.set(path, metadata(&format!("{name}/"), &server.url("/keys")));
    assert!(fails_again(&keys).await.contains("another issuer"), "a slash is a difference");
    server.set(path, metadata(&name, "http://keys.example/keys"));
    assert!(fails_again(&keys).await.contains("jwks_uri"));
    assert_eq!(server.count("/keys"), 0, "nothing is fetched on such a word");
    server.set(path, metadata(&name, &server.url("/keys")));
    eventually("keys", || names(&keys) == ["a"]).await;
}

#[tokio::test]
async fn a_private_ca_is_trusted_only_where_it_is_configured() {
    let authority = |name: &str| {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        rcgen::CertifiedIssuer::self_signed(params, key).unwrap()
    };
    let (ours, other) = (authority("ours"), authority("other"));
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &ours).unwrap();
    let server = JwksServer::start_tls(vec![certificate.der().clone()], key.serialize_der()).await;
    server.set("/jwks", Reply::ok(named_set(&["a"])));
    let config = |url: &str, bundle: Option<String>| RemoteConfig {
        plain_http: PlainHttp::Refused,
        ca_bundle: bundle.map(String::into_bytes),
        ..once(url)
    };
    let by_name = server.url_by_name("/jwks");
    let (keys, _handle) = spawn(config(&by_name, Some(ours.pem())));
    eventually("keys over TLS", || names(&keys) == ["a"]).await;
    for (case, url, bundle) in [
        ("the system's roots", &by_name, None),
        ("another CA", &by_name, Some(other.pem())),
        ("a name the certificate is not for", &server.url("/jwks"), Some(ours.pem())),
    ] {
        let (keys, _handle) = spawn(config(url, bundle));
        let error = fails_again(&keys).await;
        assert!(error.contains("certificate"), "{case}: {error}");
        assert!(keys.load(Instant::now()).is_none(), "{case}");
    }
}

#[tokio::test]
async fn configurations_that_cannot_work_are_refused_before_the_first_request() {
    let https = "https://issuer.example/jwks";
    let spawn = |config: RemoteConfig| Fetcher::spawn(config, IssuerKeys::waiting("test")).map(|_| ());
    let with = |url: &str, plain_http| RemoteConfig { plain_http, ..once(url) };
    for (url, plain_http) in [
        ("http://issuer.example/jwks", PlainHttp::Refused),
        ("http://127.0.0.1/jwks", PlainHttp::Refused),
        ("http://issuer.example/jwks", PlainHttp::LoopbackOnly),
        ("http://127.0.0.1.issuer.example/jwks", PlainHttp::LoopbackOnly),
        ("http://localhost.example/jwks", PlainHttp::LoopbackOnly),
        ("file:///etc/jwks.json", PlainHttp::Anywhere),
        ("ftp://issuer.example/jwks", PlainHttp::Anywhere),
        ("https://user:password@issuer.example/jwks", PlainHttp::Refused),
        ("issuer.example/jwks", PlainHttp::Anywhere),
        ("", PlainHttp::Anywhere),
    ] {
        let error = spawn(with(url, plain_http)).unwrap_err();
        assert!(matches!(error, RemoteError::Url(_)), "{url}: {error}");
        assert!(!error.to_string().contains("password@"), "{error}");
    }
    for url in ["http://127.0.0.1:1/jwks", "http://[::1]:1/jwks", "http://localhost:1/jwks"] {
        assert_eq!(spawn(with(url, PlainHttp::LoopbackOnly)), Ok(()), "{url}");
    }
    let refused = [
        RemoteConfig { ca_bundle: Some(b"nothing".to_vec()), ..once(https) },
        RemoteConfig { proxy: ProxyUse::Url("http://user:pass word@".to_owned()), ..once(https) },
        RemoteConfig { total_timeout: Duration::ZERO, ..once(https) },
        RemoteConfig { schedule: Schedule { hard_age: MOMENT, ..Schedule::default() }, ..once(https) },
        discovering(once(""), "https://issuer.example/?tenant=1"),
    ];
    for config in refused {
        let shown = format!("{config:?}");
        let error = spawn(config).expect_err(&shown);
        assert!(!error.to_string().contains("pass word") && !shown.contains("pass word"), "{error} {shown}");
    }
}

#[tokio::test]
async fn requests_say_who_asks_and_what_for() {
    let server = JwksServer::start().await;
    server.set("/jwks", Reply::ok(named_set(&["a"])));
    let (keys, _handle) = spawn(once(&server.url("/jwks")));
    eventually("keys", || keys.status().keys == 1).await;
    let headers = server.first_headers();
    assert!(headers["user-agent"].to_str().unwrap().starts_with("verilane/"));
    assert!(headers["accept"].to_str().unwrap().contains("application/jwk-set+json"));
    assert!(!headers.contains_key("cookie") && !headers.contains_key("authorization"));
}

#[tokio::test]
async fn a_configured_proxy_is_used() {
    let proxy = JwksServer::start().await;
    proxy.set("/jwks", Reply::ok(named_set(&["a"])));
    let config = RemoteConfig {
        plain_http: PlainHttp::Anywhere,
        proxy: ProxyUse::Url(proxy.url("")),
        ..once("http://issuer.invalid/jwks")
    };
    let (keys, _handle) = spawn(config);
    eventually("keys by the proxy", || names(&keys) == ["a"]).await;
}
