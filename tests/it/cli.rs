//! The command line, through the real binary: what it prints, what it refuses, and with which exit code.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use verilane::jose::Algorithm;
use verilane::kernel::Scheme;

use crate::support::binary::{Ended, ISSUER, Keys, NOW, fails, forged, lines_of_json, run, run_with_input, verilane};

#[test]
fn every_command_explains_itself_with_examples() {
    let ended = run(&["--help"]);
    assert_eq!(ended.code, Some(0));
    for command in ["serve", "verify", "mint", "keygen", "check", "cpu", "bench"] {
        assert!(ended.out.contains(command), "{command}");
        let help = run(&[command, "--help"]);
        assert_eq!(help.code, Some(0), "{command}");
        assert!(help.out.contains("Examples:") && help.out.contains(&format!("verilane {command}")), "{}", help.out);
        assert_eq!(help.err, "");
    }
    assert!(run(&["--version"]).out.contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_page_on_the_command_line_names_every_flag() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md")).unwrap();
    for command in verilane::app::command().get_subcommands() {
        for argument in command.get_arguments() {
            let Some(long) = argument.get_long() else { continue };
            assert!(long == "help" || page.contains(&format!("`--{long}")), "{} --{long}", command.get_name());
        }
    }
}

#[test]
fn wrong_usage_is_an_error() {
    for arguments in [&["verfy"][..], &["verify"], &["verify", "token"], &["mint"], &["keygen", "--alg", "RS257"]] {
        let ended = run(arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {ended:?}");
    }
    fails(&["keygen", "--alg", "es256"], &["did you mean `ES256`?"]);
    fails(&["serve", "--dev", "--listen", "localhost:8080"], &["not an IP address and a port, such as"]);
    fails(&["keygen", "--alg", "none"], &["never accepted"]);
    fails(&["keygen", "--alg", "RS256", "--bits", "1024"], &["2048, 3072, 4096 or 8192"]);
}

#[test]
fn cpu_shows_a_kernel_for_every_scheme() {
    let text = run(&["cpu"]);
    let json = run(&["cpu", "--json"]);
    assert_eq!((text.code, json.code), (Some(0), Some(0)));
    let json: Value = serde_json::from_str(&json.out).expect("JSON");
    let kernels = json["kernels"].as_array().expect("a list");
    assert_eq!(kernels.len(), Scheme::COUNT);
    for (scheme, kernel) in Scheme::ALL.into_iter().zip(kernels) {
        assert_eq!(kernel["scheme"], scheme.name());
        assert!(text.out.contains(scheme.name()), "{scheme}");
        let entries = verilane::kernel::entries(scheme).count();
        let candidates = kernel["candidates"].as_array().expect("a list");
        let reasons = candidates.iter().filter(|candidate| candidate["not_chosen"].is_string()).count();
        assert_eq!((candidates.len(), reasons), (entries, entries - 1), "{scheme}: a reason for each other");
    }
    let forced: Value = serde_json::from_str(&run(&["cpu", "--json", "--kernel", "portable"]).out).expect("JSON");
    assert!(forced["kernels"].as_array().unwrap().iter().all(|k| k["forced"] == true && k["backend"] == "portable"));
    fails(&["cpu", "--kernel", "quantum"], &["no kernel is named `quantum`", "hint: "]);
}

/// Short turns: figures mean nothing, rows and verdicts do.
const QUICK_BENCH: [&str; 7] = ["bench", "--time", "1ms", "--run", "20", "--message", "70"];

#[test]
fn bench_has_a_row_for_every_kernel_and_library_with_finite_figures() {
    let schemes = [Scheme::Ed25519, Scheme::EcdsaP256Sha256, Scheme::RsaPssSha384, Scheme::HmacSha512];
    let names = schemes.map(Scheme::name).join(",");
    let ended = run(&[&QUICK_BENCH[..], &["--scheme", &names, "--keys", "1,3", "--tier", "small", "--json"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let json: Value = serde_json::from_str(&ended.out).expect("JSON");
    assert!(json["notes"].as_array().is_some_and(|notes| !notes.is_empty()));
    assert_eq!(json["cpu"]["pinned_to"], Value::Null);
    let rows = json["rows"].as_array().expect("rows");
    for scheme in schemes {
        let libraries = if scheme == Scheme::Ed25519 { 3 } else { 1 };
        let events: &[(u64, &str, &[u64])] = match scheme {
            Scheme::Ed25519 => {
                &[(1, "prepared", &[1, 4, 8, 16, 20]), (3, "prepared", &[16, 20]), (256, "by_value", &[1, 16, 20])]
            }
            _ => &[(1, "prepared", &[1, 4, 8, 16, 20]), (1, "by_value", &[1, 16, 20])],
        };
        for (keys, given, calls) in events {
            let of_event: Vec<&Value> = rows
                .iter()
                .filter(|row| row["scheme"] == scheme.name() && row["keys"] == *keys && row["key_given"] == *given)
                .collect();
            for (entry, _) in verilane::kernel::available(scheme) {
                let got: Vec<Option<u64>> = of_event
                    .iter()
                    .filter(|row| row["kind"] == "kernel" && row["name"] == entry.backend)
                    .map(|row| row["jobs_per_call"].as_u64())
                    .collect();
                assert_eq!(got, calls.iter().map(|&jobs| Some(jobs)).collect::<Vec<_>>(), "{}", entry.name());
            }
            assert_eq!(of_event.iter().filter(|row| row["kind"] == "library").count(), libraries, "{scheme} {given}");
            for row in of_event {
                assert_eq!(row["message_bytes"], 70);
                let figures = ["per_second", "ns", "ns_lower_quartile", "ns_upper_quartile"];
                assert!(figures.iter().all(|name| row[name].as_f64().is_some_and(is_finite_and_positive)), "{row}");
                assert!(row["cycles"].is_null() || row["cycles"].as_f64().is_some_and(is_finite_and_positive), "{row}");
                let ratios = row["times_as_fast_as"].as_array().expect("a list");
                assert_eq!(ratios.len(), if row["kind"] == "kernel" { libraries } else { 0 }, "{row}");
                assert!(ratios.iter().all(|r| r["ratio"].as_f64().is_some_and(is_finite_and_positive)), "{row}");
            }
        }
    }
    assert!(rows.iter().all(|row| schemes.iter().any(|scheme| row["scheme"] == scheme.name())));
}

fn is_finite_and_positive(number: f64) -> bool {
    number.is_finite() && number > 0.0
}

#[test]
fn bench_prints_a_table_and_progress_apart() {
    let ended = run(&[&QUICK_BENCH[..], &["--scheme", "hmac", "--backend", "portable"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for text in ["hmac_sha256, messages of 70 bytes, one prepared key", "keys by value", "a: aws-lc-rs", "Notes\n- "] {
        assert!(ended.out.contains(text), "{text} is not in\n{}", ended.out);
    }
    assert!(ended.err.lines().all(|line| line.starts_with('[')) && ended.err.lines().count() == 6, "{}", ended.err);
}

#[test]
fn bench_refuses_what_it_cannot_measure() {
    fails(&["bench", "--scheme", "md5"], &["no scheme is named `md5`", "ed25519"]);
    fails(&["bench", "--scheme", "hmac", "--backend", "quantum"], &["no", "`quantum`", "hint: "]);
    fails(&["bench", "--pin", "99999"], &["CPU 99999"]);
    for arguments in [
        ["--keys", "0"],
        ["--run", "0"],
        ["--message", "x"],
        ["--rsa-bits", "512"],
        ["--time", "5"],
        ["--tier", "huge"],
    ] {
        let ended = run(&["bench", arguments[0], arguments[1]]);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {ended:?}");
    }
}

#[test]
fn a_key_of_every_algorithm_signs_tokens_that_verify() {
    for algorithm in Algorithm::ALL {
        let keys = Keys::new(algorithm.name());
        let token = keys.mint(&[]);
        // A secret has no public half: the private file is what both sides share.
        let (flag, file) = if algorithm.is_symmetric() { ("--key", keys.private()) } else { ("--jwks", keys.public()) };
        let verify = |token: &str| {
            run(&["verify", flag, &file, "--issuer", ISSUER, "--audience", "api", "--now", NOW, "--json", token])
        };
        let accepted = verify(&token);
        assert_eq!(accepted.code, Some(0), "{algorithm}: {accepted:?}");
        let verdict: Value = serde_json::from_str(&accepted.out).expect("JSON");
        assert_eq!(verdict["verdict"], "accepted", "{algorithm}");
        assert_eq!(verdict["algorithm"], algorithm.name());
        assert_eq!(verdict["claims"]["sub"], "alice");
        let rejected = verify(&forged(&token));
        assert_eq!(rejected.code, Some(1), "{algorithm}: {rejected:?}");
        assert!(rejected.out.contains("signature_invalid"), "{algorithm}: {}", rejected.out);
    }
}

#[test]
fn an_rsa_key_signs_with_every_rsa_algorithm_when_asked() {
    let keys = Keys::new("RS256");
    let text = std::fs::read_to_string(keys.private()).unwrap();
    let mut jwk: Value = serde_json::from_str(&text).unwrap();
    jwk.as_object_mut().unwrap().remove("alg");
    let free = keys.path("free.json");
    std::fs::write(&free, jwk.to_string()).unwrap();
    for algorithm in ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] {
        let token = run(&["mint", "--key", &free, "--alg", algorithm]);
        assert_eq!(token.code, Some(0), "{token:?}");
        let ended = run(&["verify", "--key", &free, "--alg", algorithm, token.out.trim_end()]);
        assert_eq!(ended.code, Some(0), "{algorithm}: {ended:?}");
    }
    fails(&["mint", "--key", &free, "--alg", "ES256"], &["cannot sign ES256"]);
    fails(&["mint", "--key", &keys.private(), "--alg", "PS256"], &["a key for RS256 cannot sign PS256"]);
}

#[test]
fn keygen_protects_private_keys() {
    let keys = Keys::new("EdDSA");
    let public = std::fs::read_to_string(keys.public()).unwrap();
    assert!(!public.contains("\"d\""), "{public}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(keys.private()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let directory = keys.path("");
    let before = std::fs::read(keys.private()).unwrap();
    let ended = run(&["keygen", "--out", &directory]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("--force"), "{}", ended.err);
    assert_eq!(std::fs::read(keys.private()).unwrap(), before);
    assert_eq!(run(&["keygen", "--out", &directory, "--force"]).code, Some(0));
    assert_ne!(std::fs::read(keys.private()).unwrap(), before);

    let printed = run(&["keygen", "--alg", "ES256", "--kid", "k1"]);
    let printed = lines_of_json(&printed.out);
    assert_eq!((printed.len(), &printed[0]["kid"], &printed[1]["keys"][0]["kid"]), (2, &"k1".into(), &"k1".into()));
    assert_eq!(lines_of_json(&run(&["keygen", "--alg", "HS256"]).out).len(), 1, "a secret has no public half");
}

#[test]
fn key_ids_are_rfc_7638_thumbprints() {
    use verilane::jose::base64url;
    let printed = lines_of_json(&run(&["keygen", "--alg", "EdDSA"]).out);
    let jwk = &printed[1]["keys"][0];
    let canonical = format!("{{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":{}}}", jwk["x"]);
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, canonical.as_bytes());
    assert_eq!(jwk["kid"], base64url::encode(hash.as_ref()));
}

#[test]
fn mint_puts_claims_where_they_were_asked() {
    let keys = Keys::new("EdDSA");
    let token = keys.mint(&[
        "--claims",
        "{\"sub\":\"other\",\"a\":1}",
        "--claim",
        "groups=[\"x\",\"y\"]",
        "--claim",
        "note=plain text",
        "--aud",
        "second",
        "--ttl",
        "10m",
        "--typ",
        "at+jwt",
        "--kid",
        "",
    ]);
    let segment = |index: usize| -> Value {
        let encoded = token.split('.').nth(index).expect("three segments");
        serde_json::from_slice(&verilane::jose::base64url::decode(encoded.as_bytes()).unwrap()).unwrap()
    };
    let expected = serde_json::json!({
        "iss": ISSUER, "sub": "alice", "aud": ["api", "second"], "a": 1, "groups": ["x", "y"], "note": "plain text",
        "iat": 1_700_000_000, "exp": 1_700_000_600,
    });
    assert_eq!(segment(1), expected);
    assert_eq!(segment(0), serde_json::json!({ "alg": "EdDSA", "typ": "at+jwt" }));

    let key = keys.private();
    fails(&["mint", "--key", &key, "--claims", "[]"], &["not a JSON object"]);
    fails(&["mint", "--key", &key, "--claim", "novalue"], &["no `=`"]);
    let several = run(&["mint", "--key", &key, "--count", "3"]);
    let several: Vec<&str> = several.out.lines().collect();
    assert_eq!(several.len(), 3);
    assert!(several[0] != several[1] && several[1] != several[2]);
}

/// A name, more flags for `mint`, more flags for `verify`, and the reason; none is accepted.
type Judgement = (&'static str, &'static [&'static str], &'static [&'static str], Option<&'static str>);

const JUDGEMENTS: &[Judgement] = &[
    ("good", &[], &["--issuer", ISSUER, "--audience", "api"], None),
    ("one of two audiences", &[], &["--audience", "x", "--audience", "api"], None),
    ("other issuer", &[], &["--issuer", "https://other.example"], Some("issuer_mismatch")),
    ("other audience", &[], &["--audience", "x"], Some("audience_mismatch")),
    ("expired", &["--ttl", "1s"], &["--now", "1700000001"], Some("expired")),
    ("within leeway", &["--ttl", "1s"], &["--now", "1700000001", "--leeway", "1s"], None),
    ("before 1970", &["--now", "-5", "--ttl", "1s"], &["--now", "-4"], Some("expired")),
    ("not yet expired before 1970", &["--now", "-5", "--ttl", "1s"], &["--now", "-5"], None),
    ("time as a date", &[], &["--now", "2023-11-14T22:13:20Z"], None),
    ("not yet", &["--claim", "nbf=1700000001"], &[], Some("not_yet_valid")),
    ("no expiry", &["--no-expiry"], &[], Some("expiry_missing")),
    ("no expiry allowed", &["--no-expiry"], &["--allow-missing-expiry"], None),
    ("algorithm not allowed", &[], &["--alg", "ES256,RS256"], Some("algorithm_not_allowed")),
    ("algorithm allowed", &[], &["--alg", "EdDSA"], None),
    ("other type", &[], &["--typ", "at+jwt"], Some("type_mismatch")),
    ("claim missing", &[], &["--require", "client_id"], Some("claim_missing")),
    ("claim there", &["--claim", "client_id=c"], &["--require", "client_id"], None),
    ("portable kernels", &[], &["--kernel", "portable"], None),
];

#[test]
fn verify_judges_by_its_flags_and_explains_each_check() {
    let keys = Keys::new("EdDSA");
    for (name, mint, verify, reason) in JUDGEMENTS {
        let token = keys.mint(mint);
        let public = keys.public();
        let mut arguments = vec!["verify", "--jwks", &public];
        if !verify.contains(&"--now") {
            arguments.extend_from_slice(&["--now", NOW]);
        }
        arguments.extend_from_slice(verify);
        arguments.push(&token);
        let ended = run(&arguments);
        assert_eq!(ended.code, Some(i32::from(reason.is_some())), "{name}: {ended:?}");
        let first = ended.out.lines().next().unwrap_or_default();
        match reason {
            None => assert_eq!(first, "accepted", "{name}"),
            Some(reason) => assert_eq!(first, format!("rejected: {reason}"), "{name}"),
        }
        for check in ["structure", "encoding", "header", "key", "signature", "expiry", "audience"] {
            assert!(
                ended.out.lines().any(|line| line.get(7..).is_some_and(|l| l.starts_with(check))),
                "{name}: {check}"
            );
        }
        assert_eq!(ended.out.contains("FAIL"), reason.is_some(), "{name}: {}", ended.out);
    }
}

#[test]
fn terminals_are_safe_from_what_tokens_hold() {
    let keys = Keys::new("EdDSA");
    let token = keys.mint(&["--claim", "sub=\u{1b}[2J\u{7}"]);
    let ended = run(&["verify", "--jwks", &keys.public(), "--now", NOW, &token]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.out.chars().any(|c| c.is_control() && c != '\n'), "{:?}", ended.out);
}

#[test]
fn many_tokens_are_answered_in_order_one_a_line() {
    let keys = Keys::new("ES256");
    let good = run(&["mint", "--key", &keys.private(), "--count", "300", "--now", NOW]);
    assert_eq!(good.code, Some(0), "{good:?}");
    // Plain tokens, objects, blank lines and forged tokens, more than one batch of them.
    let mut input = String::new();
    for (index, token) in good.out.lines().enumerate() {
        let token = if index % 7 == 3 { forged(token) } else { token.to_owned() };
        match index % 3 {
            0 => input.push_str(&format!("{token}\n")),
            1 => input.push_str(&format!("{{\"token\":\"{token}\",\"id\":{index}}}\r\n")),
            _ => input.push_str(&format!("\n  {{\"id\":\"n{index}\",\"token\":\"{token}\"}}\n")),
        }
    }
    let file = keys.path("tokens");
    std::fs::write(&file, &input).unwrap();
    let public = keys.public();
    let base = ["verify", "--jwks", &public, "--now", NOW, "--json"];
    let from_file = run(&[&base[..], &["--file", &file]].concat());
    let from_input = run_with_input(&[&base[..], &["-"]].concat(), &input);
    assert_eq!(from_file.code, Some(1), "{}", from_file.err);
    assert_eq!(from_file.out, from_input.out);
    let verdicts = lines_of_json(&from_file.out);
    assert_eq!(verdicts.len(), 300);
    for (index, verdict) in verdicts.iter().enumerate() {
        let expected = if index % 7 == 3 { "rejected" } else { "accepted" };
        assert_eq!(verdict["verdict"], expected, "{index}: {verdict}");
        if expected == "accepted" {
            assert_eq!(verdict["claims"]["jti"], (index + 1).to_string());
        } else {
            assert_eq!(verdict["reason"], "signature_invalid");
        }
        let id = match index % 3 {
            0 => Value::Null,
            1 => index.into(),
            _ => format!("n{index}").into(),
        };
        assert_eq!(verdict["id"], id, "{index}");
    }

    let summary = run(&["verify", "--jwks", &public, "--now", NOW, "--file", &file]);
    assert!(summary.err.contains("257 accepted, 43 rejected, 0 errors"), "{}", summary.err);
    let explained = run(&["verify", "--jwks", &public, "--now", NOW, "--json", "--explain", "--file", &file]);
    let explained = lines_of_json(&explained.out);
    for (verdict, explained) in verdicts.iter().zip(&explained) {
        assert_eq!(verdict["verdict"], explained["verdict"]);
        assert_eq!(verdict["id"], explained["id"]);
        assert!(explained["steps"].as_array().is_some_and(|steps| steps.len() > 10), "{explained}");
    }
}

#[test]
fn lines_that_are_no_question_are_errors_and_the_rest_is_answered() {
    let keys = Keys::new("EdDSA");
    let token = keys.mint(&[]);
    let input = format!("{token}\n{{\"tokn\":\"x\"}}\n{token}\n");
    let ended = run_with_input(&["verify", "--jwks", &keys.public(), "--now", NOW, "--json", "-"], &input);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let verdicts = lines_of_json(&ended.out);
    let kinds: Vec<&str> = verdicts.iter().map(|verdict| verdict["verdict"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["accepted", "error", "accepted"]);
    assert_eq!((&verdicts[1]["error"], &verdicts[1]["line"]), (&"request_invalid".into(), &2.into()));

    let empty = run_with_input(&["verify", "--jwks", &keys.public(), "-"], "\n\n");
    assert_eq!(empty.code, Some(2), "{empty:?}");
}

#[test]
fn pem_keys_and_secrets_verify_and_sign() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    for (name, algorithm) in [
        ("EdDSA", &rcgen::PKCS_ED25519),
        ("ES256", &rcgen::PKCS_ECDSA_P256_SHA256),
        ("ES384", &rcgen::PKCS_ECDSA_P384_SHA384),
    ] {
        let pair = rcgen::KeyPair::generate_for(algorithm).unwrap();
        let (private, public) = (path("private.pem"), path("public.pem"));
        std::fs::write(&private, pair.serialize_pem()).unwrap();
        std::fs::write(&public, pair.public_key_pem()).unwrap();
        let token = run(&["mint", "--key", &private, "--kid", "any"]);
        assert_eq!(token.code, Some(0), "{token:?}");
        let ended = run(&["verify", "--key", &public, "--json", token.out.trim_end()]);
        assert_eq!(ended.code, Some(0), "{name}: {ended:?}");
        assert!(ended.out.contains(&format!("\"algorithm\":\"{name}\"")), "{}", ended.out);
        fails(&["verify", "--key", &private, "a.b.c"], &["private key", "openssl pkey"]);
    }

    let secret = path("secret.txt");
    std::fs::write(&secret, "0123456789abcdef0123456789abcdef\n").unwrap();
    let token = run(&["mint", "--key", &secret, "--secret", "--alg", "HS256"]);
    assert_eq!(token.code, Some(0), "{token:?}");
    let token = token.out.trim_end();
    assert_eq!(run(&["verify", "--key", &secret, "--secret", token]).code, Some(0));
    // 32 bytes are not enough for SHA-384 (RFC 7518 section 3.2).
    fails(&["mint", "--key", &secret, "--secret", "--alg", "HS384"], &["a secret of 32 bytes is too short for HS384"]);
    fails(&["verify", "--key", &secret, token], &["neither JSON nor PEM", "--secret"]);
    fails(&["verify", "--key", &path("absent"), token], &["cannot read", "absent"]);
}

#[test]
fn check_reports_keys_warnings_and_memory() {
    let keys = Keys::new("ES256");
    let config = keys.path("verilane.yaml");
    let text = "issuers:\n  - name: local\n    issuer: https://a.example\n    leeway: 10m\n    keys: {jwks_file: jwks.json}\n  - name: far\n    issuer: https://b.example\n    audiences: [x]\n    keys: {discovery: true}\n";
    std::fs::write(&config, text).unwrap();
    let ended = run(&["check", &config]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for expected in [
        "keys      1 from JWK Set file",
        "ES256",
        "fetched from discovery of https://b.example",
        "memory, at most",
        "total",
        "warning: issuers[0].audiences: ",
        "warning: issuers[0].leeway: tokens are accepted 10m after",
        "can be served",
    ] {
        assert!(ended.out.contains(expected), "{expected:?} is not in\n{}", ended.out);
    }

    std::fs::write(&config, text.replace("jwks.json", "absent.json")).unwrap();
    let ended = run(&["check", &config]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.out.contains("FAIL: issuer local: cannot read"), "{}", ended.out);

    std::fs::write(&config, text.replace("leeway", "leway")).unwrap();
    fails(&["check", &config], &["line 4, column 5: issuers[0].leway: unknown key `leway`, did you mean `leeway`?"]);
    let ended: Ended = verilane(&["check", &config]).env("VERILANE__ENGIN__PIN", "true").output().unwrap().into();
    assert!(ended.err.contains("the configuration has 2 problems"), "{}", ended.err);
    fails(&["serve", "--config", &config], &["did you mean `leeway`?"]);

    let schema = run(&["check", "--schema"]);
    assert_eq!(serde_json::from_str::<Value>(&schema.out).unwrap()["title"], "Verilane configuration");
}

#[test]
fn verify_takes_issuers_from_a_configuration() {
    let keys = Keys::new("PS256");
    let config = keys.path("verilane.yaml");
    let text = format!(
        "issuers:\n  - {{name: main, issuer: '{ISSUER}', audiences: [api], keys: {{jwks_file: jwks.json}}}}\n  - {{name: other, issuer: 'https://o.example', audiences: [api], keys: {{jwks_file: jwks.json}}}}\n"
    );
    std::fs::write(&config, text).unwrap();
    let token = keys.mint(&[]);
    let verify = |more: &[&str]| {
        let base = ["verify", "--config", &config, "--now", NOW, "--json"];
        run(&[&base[..], more, &[&token]].concat())
    };
    let ended = verify(&[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("\"issuer_name\":\"main\""), "{}", ended.out);
    assert_eq!(verify(&["--issuer", "main", "--audience", "api"]).code, Some(0));
    let ended = verify(&["--issuer", "other"]);
    assert!(ended.out.contains("issuer_mismatch"), "{}", ended.out);
    let ended = verify(&["--audience", "x"]);
    assert!(ended.out.contains("audience_mismatch"), "{}", ended.out);
    // The configuration decides what tokens must satisfy; flags that would change it are refused.
    assert_eq!(verify(&["--leeway", "1h"]).code, Some(2));
}

#[test]
fn a_configured_issuer_whose_keys_do_not_come_is_named_with_the_cause() {
    let keys = Keys::new("EdDSA");
    let config = keys.path("verilane.yaml");
    // Nobody listens on port 1.
    let text = format!(
        "issuers:\n  - {{name: away, issuer: '{ISSUER}', audiences: [api], keys: {{jwks_url: 'http://127.0.0.1:1/', plain_http: loopback}}}}\n"
    );
    std::fs::write(&config, text).unwrap();
    let ended = run(&["verify", "--config", &config, "--now", NOW, "--json", &keys.mint(&[])]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.out.contains("\"keys_unavailable\""), "{ended:?}");
    assert!(ended.err.contains("warning: issuer away: no keys: "), "{ended:?}");
    assert!(ended.err.contains("onnect"), "{ended:?}");
}

#[test]
fn answers_come_while_input_is_still_open() {
    let keys = Keys::new("EdDSA");
    let token = keys.mint(&[]);
    let mut child = verilane(&["verify", "--jwks", &keys.public(), "--now", NOW, "--json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut input = child.stdin.take().expect("piped");
    let mut output = BufReader::new(child.stdout.take().expect("piped"));
    for _ in 0..3 {
        writeln!(input, "{token}").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        assert!(answer.contains("\"accepted\""), "{answer}");
    }
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_reader_that_goes_away_is_no_acceptance() {
    let keys = Keys::new("EdDSA");
    let token = keys.mint(&[]);
    for token in [forged(&token), token] {
        let mut child = verilane(&["verify", "--jwks", &keys.public(), "--now", NOW, "--json", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        drop(child.stdout.take());
        writeln!(child.stdin.take().expect("piped"), "{token}").unwrap();
        let ended = Ended::from(child.wait_with_output().unwrap());
        assert_eq!((ended.code, ended.err.as_str()), (Some(2), ""));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn errors_that_cannot_be_printed_keep_their_exit_code() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let status = verilane(&["verify", "--jwks", "/nonexistent", "a.b.c"]).stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(2));
}
