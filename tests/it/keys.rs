//! Key sets, key preparation, and the sources of keys.

#[cfg(feature = "server")]
mod files;
#[cfg(feature = "server")]
mod remote;

use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use verilane::jose::{Algorithm, Limits, base64url, jwk};
use verilane::keys::prepare::{self, DocumentLimits, Origin, PrepareError};
use verilane::keys::source::{Binding, InlineJwks, Source};
use verilane::keys::{IssuerKeys, KeySet, NoKey, VerifyingKey};

/// A fresh Ed25519 key as a JWK.
fn ed25519_jwk(key_id: Option<&str>) -> String {
    let pair = Ed25519KeyPair::generate().unwrap();
    let x = base64url::encode(pair.public_key().as_ref());
    let kid = key_id.map(|kid| format!(r#","kid":"{kid}""#)).unwrap_or_default();
    format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}"{kid}}}"#)
}

/// A secret of so many bytes as a JWK.
fn oct_jwk(key_id: &str, bytes: usize, more: &str) -> String {
    let k = base64url::encode(&vec![7; bytes]);
    format!(r#"{{"kty":"oct","k":"{k}","kid":"{key_id}"{more}}}"#)
}

fn set_of(jwks: &[String]) -> String {
    format!(r#"{{"keys":[{}]}}"#, jwks.join(","))
}

/// A set document of fresh Ed25519 keys with these names.
fn named_set(names: &[&str]) -> String {
    set_of(&names.iter().map(|name| ed25519_jwk(Some(name))).collect::<Vec<_>>())
}

fn load(document: &str) -> Result<(KeySet, verilane::keys::KeySetReport), PrepareError> {
    prepare::from_document(document.as_bytes(), Origin::Local, &DocumentLimits::default())
}

fn secret(key_id: Option<&str>, algorithms: &[Algorithm], fill: u8) -> VerifyingKey {
    let mut key = prepare::from_secret(&[fill; 64], algorithms).unwrap();
    key.key_id = key_id.map(Arc::from);
    key
}

/// Position of the only candidate.
fn only(set: &KeySet, algorithm: Algorithm, key_id: Option<&str>) -> Result<usize, NoKey> {
    let candidates = set.candidates(algorithm, key_id, 16)?;
    assert_eq!(candidates.keys.len(), 1);
    Ok(set.keys().iter().position(|key| std::ptr::eq(key, candidates.keys[0])).unwrap())
}

#[test]
fn a_named_key_id_binds_to_exactly_that_key() {
    use Algorithm::{Hs256, Hs384, Hs512};
    let set = KeySet::new(vec![
        secret(Some("a"), &[Hs256], 1),
        secret(Some("b"), &[Hs256], 2),
        secret(Some("b"), &[Hs384], 3),
        secret(Some("b"), &[Hs384], 4),
        secret(None, &[Hs256], 5),
    ]);
    for (case, algorithm, key_id, expected) in [
        ("its key", Hs256, "a", Ok(0)),
        ("several keys of a name: the one that fits", Hs384, "b", Ok(2)),
        ("several keys of a name: the first for its algorithm", Hs256, "b", Ok(1)),
        ("another algorithm never falls through to another key", Hs384, "a", Err(NoKey::AlgorithmMismatch)),
        ("no key of the name fits", Hs512, "b", Err(NoKey::AlgorithmMismatch)),
        ("unknown name, although an unnamed key would fit", Hs256, "c", Err(NoKey::UnknownKeyId)),
        ("names are compared exactly", Hs256, "A", Err(NoKey::UnknownKeyId)),
        ("the empty name is a name", Hs256, "", Err(NoKey::UnknownKeyId)),
        ("a name with a zero byte", Hs256, "a\0", Err(NoKey::UnknownKeyId)),
    ] {
        assert_eq!(only(&set, algorithm, Some(key_id)), expected, "{case}");
    }
}

#[test]
fn without_key_id_every_key_that_fits_is_tried_up_to_the_bound() {
    use Algorithm::{Hs256, Hs384, Rs256};
    let mut keys: Vec<VerifyingKey> = (0..20).map(|fill| secret(None, &[Hs256], fill)).collect();
    keys.push(secret(Some("x"), &[Hs384], 99));
    let set = KeySet::new(keys);
    assert_eq!(set.candidates(Hs256, None, 16).unwrap_err(), NoKey::TooMany);
    assert_eq!(set.candidates(Hs384, None, 16).unwrap().keys.len(), 1);
    assert_eq!(set.candidates(Rs256, None, 16).unwrap_err(), NoKey::NoneFits);
    let ten = KeySet::new((0..10).map(|fill| secret(None, &[Hs256], fill)).collect());
    for (max, expected) in [(10, Some(10)), (16, Some(10)), (usize::MAX, Some(10)), (9, None), (1, None), (0, None)] {
        let got = ten.candidates(Hs256, None, max);
        assert_eq!(got.as_ref().ok().map(|candidates| candidates.keys.len()), expected, "max {max}");
        assert!(got.is_ok() || got.is_err_and(|error| error == NoKey::TooMany));
    }
    let sixteen = KeySet::new((0..17).map(|fill| secret(None, &[Hs256], fill)).collect());
    assert_eq!(sixteen.candidates(Hs256, None, usize::MAX).unwrap_err(), NoKey::TooMany, "never more than 16");
}

#[test]
fn where_no_key_has_a_name_the_tokens_key_id_says_nothing() {
    let unnamed = KeySet::new(vec![secret(None, &[Algorithm::Hs256], 1)]);
    assert_eq!(only(&unnamed, Algorithm::Hs256, Some("anything")), Ok(0));
    assert_eq!(only(&unnamed, Algorithm::Hs384, Some("anything")), Err(NoKey::NoneFits));
    assert_eq!(KeySet::default().candidates(Algorithm::Hs256, Some("a"), 16).unwrap_err(), NoKey::NoneFits);
}

#[test]
fn the_type_of_a_key_decides_its_algorithms() {
    use Algorithm::*;
    let with_alg = |jwk: String, alg: &str| jwk.replacen('{', &format!(r#"{{"alg":"{alg}","#), 1);
    for (case, jwk, expected) in [
        ("Ed25519 has two names", ed25519_jwk(None), vec![EdDsa, Ed25519]),
        ("alg EdDSA allows both", with_alg(ed25519_jwk(None), "EdDSA"), vec![EdDsa, Ed25519]),
        ("alg Ed25519 allows both", with_alg(ed25519_jwk(None), "Ed25519"), vec![EdDsa, Ed25519]),
        ("secret of 32 bytes", oct_jwk("k", 32, ""), vec![Hs256]),
        ("secret of 48 bytes", oct_jwk("k", 48, ""), vec![Hs256, Hs384]),
        ("secret of 64 bytes", oct_jwk("k", 64, ""), vec![Hs256, Hs384, Hs512]),
        ("alg narrows a secret", oct_jwk("k", 64, r#","alg":"HS384""#), vec![Hs384]),
    ] {
        let set = jwk::parse_set(jwk.as_bytes(), &Limits::DEFAULT, 1).unwrap();
        let key = prepare::from_jwk(&set.keys[0]).unwrap();
        assert_eq!(key.algorithms, expected, "{case}");
    }
}

#[test]
fn one_bad_key_is_reported_and_never_takes_the_set_down() {
    let good = ed25519_jwk(Some("good"));
    let small_order = format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{}"}}"#, base64url::encode(&[0; 32]));
    let off_curve =
        format!(r#"{{"kty":"EC","crv":"P-256","x":"{0}","y":"{0}","kid":"off"}}"#, base64url::encode(&[1; 32]));
    let rsa = |bytes: usize, last: u8, e: &str| {
        let mut n = vec![0xc1; bytes];
        n[bytes - 1] = last;
        format!(r#"{{"kty":"RSA","n":"{}","e":"{e}"}}"#, base64url::encode(&n))
    };
    for (bad, word) in [
        (small_order, "small order"),
        (off_curve, "curve"),
        (rsa(128, 1, "AQAB"), "1024 bits"),
        (rsa(256, 2, "AQAB"), "even"),
        (rsa(256, 1, "AQ"), "exponent"),
        (rsa(1280, 1, "AQAB"), "10240 bits"),
        (oct_jwk("short", 16, ""), "16 bytes"),
        (oct_jwk("short", 40, r#","alg":"HS512""#), "40 bytes"),
        (r#"{"kty":"AKP","alg":"ML-DSA-65","pub":"AA","kid":"pq"}"#.to_owned(), "implement"),
        (r#"{"kty":"OKP","crv":"X25519","x":"AA"}"#.to_owned(), "X25519"),
        ("17".to_owned(), "object"),
    ] {
        for document in [set_of(&[bad.clone(), good.clone()]), set_of(&[good.clone(), bad.clone()])] {
            let (set, report) = load(&document).unwrap();
            assert_eq!(set.keys().len(), 1, "{bad}");
            assert_eq!(only(&set, Algorithm::EdDsa, Some("good")), Ok(0), "{bad}");
            assert_eq!(report.skipped.len(), 1, "{bad}");
            assert!(report.skipped[0].contains(word), "{:?} should say {word:?}", report.skipped[0]);
        }
        assert!(matches!(load(&set_of(&[bad])), Err(PrepareError::NoUsableKey { .. })));
    }
}

#[test]
fn private_parts_and_duplicate_names_leave_a_warning() {
    let private = ed25519_jwk(Some("p")).replacen('{', r#"{"d":"AAAA","#, 1);
    let (set, report) = load(&set_of(&[private])).unwrap();
    assert_eq!((set.keys().len(), report.warnings.len()), (1, 1));
    assert!(report.warnings[0].contains("private") && !report.warnings[0].contains("AAAA"), "{report:?}");

    let (set, report) = load(&named_set(&["x", "x", "x", "y"])).unwrap();
    assert_eq!((set.keys().len(), report.warnings.len()), (4, 1), "{report:?}");
    assert!(report.warnings[0].contains("\"x\""));
}

#[test]
fn a_name_from_the_issuer_cannot_break_a_log_line() {
    let long = "n".repeat(5000);
    let nasty = format!(r"a\n2026-01-01 forged line\u001b[2J{long}");
    let (_, report) = load(&named_set(&[&nasty, &nasty])).unwrap();
    assert!(report.warnings[0].chars().all(|character| !character.is_control()), "{report:?}");
    assert!(report.warnings[0].len() < 400);
}

#[test]
fn a_published_secret_is_no_secret() {
    let document = set_of(&[oct_jwk("s", 64, ""), ed25519_jwk(Some("good"))]);
    let limits = DocumentLimits::default();
    let (set, report) = prepare::from_document(document.as_bytes(), Origin::Published, &limits).unwrap();
    assert_eq!(set.keys().len(), 1);
    assert_eq!(only(&set, Algorithm::Hs256, Some("s")), Err(NoKey::UnknownKeyId));
    assert!(report.skipped[0].contains("oct"), "{report:?}");
    let (set, _) = prepare::from_document(document.as_bytes(), Origin::Local, &limits).unwrap();
    assert_eq!(set.keys().len(), 2, "a file of one's own may hold secrets");
}

#[test]
fn documents_beyond_the_bounds_are_refused_whole() {
    let document = named_set(&["a", "b", "c"]);
    let load =
        |bytes, keys| prepare::from_document(document.as_bytes(), Origin::Local, &DocumentLimits { bytes, keys });
    assert!(load(document.len(), 3).is_ok());
    assert!(matches!(load(document.len() - 1, 3), Err(PrepareError::TooLarge { .. })));
    assert!(matches!(load(document.len(), 2), Err(PrepareError::JwkSet(_))));
    let full: Vec<String> = (0..256).map(|index| ed25519_jwk(Some(&format!("k{index}")))).collect();
    assert_eq!(self::load(&set_of(&full)).unwrap().0.keys().len(), 256, "the default bound can be reached");
}

#[test]
fn pem_keys_and_certificates_load_or_say_why_not() {
    use Algorithm::*;
    let rsa = vec![Rs256, Rs384, Rs512, Ps256, Ps384, Ps512];
    let file = |name: &str| std::fs::read(format!("{}/tests/data/keys/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    for (name, expected) in [
        ("ed25519.pem", Ok(vec![EdDsa, Ed25519])),
        ("p256.pem", Ok(vec![Es256])),
        ("p384.pem", Ok(vec![Es384])),
        ("p521.pem", Ok(vec![Es512])),
        ("secp256k1.pem", Ok(vec![Es256k])),
        ("p256-certificate.pem", Ok(vec![Es256])),
        ("rsa-2048.pem", Ok(rsa.clone())),
        ("rsa-2048-pkcs1.pem", Ok(rsa.clone())),
        ("rsa-pss-any.pem", Ok(vec![Ps256, Ps384, Ps512])),
        ("rsa-pss-sha384.pem", Ok(vec![Ps384])),
        ("rsa-1024.pem", Err("1024 bits")),
        ("rsa-ca-certificate.pem", Err("key usage")),
        ("p256-compressed.pem", Err("compressed")),
        ("p256-explicit.pem", Err("explicit parameters")),
        ("ed448.pem", Err("1.3.101.113")),
    ] {
        match (prepare::from_pem(&file(name)), expected) {
            (Ok((keys, _)), Ok(algorithms)) => {
                assert_eq!(keys.len(), 1, "{name}");
                assert_eq!(keys[0].algorithms, algorithms, "{name}");
            }
            (Err(error), Err(word)) => assert!(error.to_string().contains(word), "{name}: {error}"),
            (got, expected) => panic!("{name}: {got:?}, expected {expected:?}"),
        }
    }
    let bundle = [file("ed25519.pem"), file("ed448.pem"), b"words between\n".to_vec(), file("p256.pem")].concat();
    let (keys, report) = prepare::from_pem(&bundle).unwrap();
    assert_eq!((keys.len(), report.skipped.len()), (2, 1));
    let crlf = String::from_utf8(file("p256.pem")).unwrap().replace('\n', "\r\n");
    assert_eq!(prepare::from_pem(crlf.as_bytes()).unwrap().0.len(), 1);
}

#[test]
fn a_private_key_file_is_refused_with_advice_and_without_its_content() {
    let pem = rcgen::KeyPair::generate().unwrap().serialize_pem();
    let error = prepare::from_pem(pem.as_bytes()).unwrap_err();
    assert!(matches!(error, PrepareError::PrivateKey(_)));
    let text = error.to_string();
    assert!(text.contains("openssl pkey") && !text.contains(pem.lines().nth(1).unwrap()), "{text}");
    let mixed = format!("{}{pem}", rcgen::KeyPair::generate().unwrap().public_key_pem());
    assert!(matches!(prepare::from_pem(mixed.as_bytes()), Err(PrepareError::PrivateKey(_))));
}

#[test]
fn broken_pem_is_an_error_and_never_a_panic() {
    let good = rcgen::KeyPair::generate().unwrap().public_key_pem();
    for text in
        ["", "\n", "nothing", "-----BEGIN PUBLIC KEY-----", "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----"]
    {
        assert!(prepare::from_pem(text.as_bytes()).is_err(), "{text:?}");
    }
    assert!(prepare::from_pem(good.replace("PUBLIC KEY", "PUBLIC KEX").as_bytes()).is_err());
    let bytes = good.as_bytes();
    for cut in 0..bytes.len() - 1 {
        // Only the last dashes of the end line may be missing.
        if prepare::from_pem(&bytes[..cut]).is_ok() {
            assert!(good[cut..].len() < "-----END PUBLIC KEY-----\n".len(), "cut at {cut}");
        }
    }
    for position in 0..bytes.len() {
        let mut changed = bytes.to_vec();
        changed[position] ^= 0xff;
        // Whatever it is now, it is an answer.
        let _answer = prepare::from_pem(&changed);
    }
}

#[test]
fn no_changed_byte_of_a_key_structure_makes_a_panic() {
    use x509_parser::prelude::Pem;
    let directory = format!("{}/tests/data/keys", env!("CARGO_MANIFEST_DIR"));
    let mut answered = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "pem") {
            continue;
        }
        let block = Pem::iter_from_buffer(&std::fs::read(&path).unwrap()).next().unwrap().unwrap();
        for position in 0..block.contents.len() {
            for change in [0x01, 0x80, 0xff] {
                let mut changed = block.contents.clone();
                changed[position] ^= change;
                let body = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &changed);
                let text = format!("-----BEGIN {0}-----\n{body}\n-----END {0}-----\n", block.label);
                if let Ok((keys, _)) = prepare::from_pem(text.as_bytes()) {
                    assert!(keys.iter().all(|key| !key.algorithms.is_empty()), "{path:?} {position}");
                }
                answered += 1;
            }
        }
    }
    assert!(answered > 5000, "{answered}");
}

#[test]
fn secrets_are_judged_by_length_algorithm_and_form() {
    use Algorithm::*;
    let pem = rcgen::KeyPair::generate().unwrap().public_key_pem();
    assert_eq!(prepare::from_secret(&[1; 64], &[]).unwrap().algorithms, [Hs256, Hs384, Hs512]);
    assert_eq!(prepare::from_secret(&[1; 64], &[Hs512, Hs512, Hs256]).unwrap().algorithms, [Hs512, Hs256]);
    for (secret, algorithms, word) in [
        (&[1; 31][..], &[][..], "31 bytes"),
        (&[1; 47], &[Hs384], "47 bytes"),
        (&[1; 63], &[Hs256, Hs512], "63 bytes"),
        (&[], &[], "0 bytes"),
        (&[1; 64], &[Rs256], "RS256"),
        (&[1; 64], &[Hs256, EdDsa], "EdDSA"),
        (pem.as_bytes(), &[], "PEM"),
    ] {
        let error = prepare::from_secret(secret, algorithms).unwrap_err().to_string();
        assert!(error.contains(word), "{error:?} should say {word:?}");
    }
}

#[test]
fn a_swap_replaces_the_whole_set_and_a_removed_key_stops_at_once() {
    let now = Instant::now();
    let set = |names: &[&str]| load(&named_set(names)).unwrap().0;
    let keys = IssuerKeys::fixed(set(&["old", "both"]));
    let before = keys.load(now).unwrap();
    keys.publish(set(&["both", "new"]), None);
    let after = keys.load(now).unwrap();
    assert_ne!(before.generation(), after.generation());
    assert_eq!(only(&after, Algorithm::EdDsa, Some("old")), Err(NoKey::UnknownKeyId));
    assert_eq!(only(&after, Algorithm::EdDsa, Some("new")), Ok(1));
    assert_eq!(only(&before, Algorithm::EdDsa, Some("old")), Ok(0), "a check under way keeps its own snapshot");
    assert!(keys.unknown_key_id("old", now).is_none(), "nothing to fetch for a fixed set");
}

#[test]
fn a_set_is_used_up_to_its_hard_age_and_not_a_moment_longer() {
    let now = Instant::now();
    let hour = Duration::from_secs(3600);
    let keys = IssuerKeys::waiting("a test");
    assert!(keys.load(now).is_none() && !keys.status().usable(now));
    keys.publish(load(&named_set(&["a"])).unwrap().0, Some(now + hour));
    let generation = keys.load(now).unwrap().generation();
    assert!(keys.load(now + hour - Duration::from_nanos(1)).is_some());
    assert!(keys.load(now + hour).is_none());
    assert!(!keys.status().usable(now + hour));
    keys.record_failure("the issuer is away", now + hour);
    assert_eq!(keys.status().last_error.as_deref(), Some("the issuer is away"));
    keys.confirm(Some(now + 3 * hour), now + 2 * hour);
    assert_eq!(keys.load(now + 2 * hour).unwrap().generation(), generation, "a confirmed set is the same set");
    let status = keys.status();
    assert_eq!((status.last_error, status.failures_in_row, status.failures), (None, 0, 1));
    assert_eq!(status.last_success, Some(now + 2 * hour));
}

#[test]
fn nothing_of_a_secret_is_shown() {
    let text = set_of(&[oct_jwk("k", 64, "")]);
    let value = base64url::encode(&[7; 64]);
    let source = Source::InlineJwks(InlineJwks::new(text));
    let keys = source.fixed(&DocumentLimits::default()).unwrap();
    let shown = format!("{source:?} {keys:?} {:?}", keys.load(Instant::now()).unwrap());
    assert!(!shown.contains(&value) && !shown.contains("7, 7, 7"), "{shown}");
    let broken = Source::InlineJwks(InlineJwks::new(set_of(&[oct_jwk("k", 8, "")])));
    let error = broken.load(&DocumentLimits::default()).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("BwcHBw"), "{error:?}");
}

#[test]
fn a_configured_key_id_turns_strict_matching_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key.pem");
    std::fs::write(&path, rcgen::KeyPair::generate().unwrap().public_key_pem()).unwrap();
    let load = |key_id: Option<&str>, algorithms: Vec<Algorithm>| {
        let binding = Binding { key_id: key_id.map(str::to_owned), algorithms };
        Source::PemFile { path: path.clone(), binding }.load(&DocumentLimits::default())
    };
    let (set, _) = load(None, vec![]).unwrap();
    assert_eq!(only(&set, Algorithm::Es256, Some("whatever")), Ok(0));
    let (set, _) = load(Some("k1"), vec![Algorithm::Es256]).unwrap();
    assert_eq!(only(&set, Algorithm::Es256, Some("k1")), Ok(0));
    assert_eq!(only(&set, Algorithm::Es256, Some("whatever")), Err(NoKey::UnknownKeyId));
    let error = load(None, vec![Algorithm::Rs256]).unwrap_err().to_string();
    assert!(error.contains("RS256") && error.contains("key.pem"), "{error}");
}
