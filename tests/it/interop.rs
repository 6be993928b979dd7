//! Independent issuers and signers: tokens made by others are judged by the real binary.
//!
//! `oidc-provider` and `jose` come from npm, PyJWT from PyPI; `.ci/setup` installs them. Where they are not installed a
//! test says so and passes, unless `VERILANE_INTEROP=required` is set, as the gate does.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::binary::{self, ANY_PORTS, Server, eventually, get};

const ISSUER: &str = "https://issuer.example";
const AUDIENCE: &str = "interop-api";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Whether `path` is there; if it must be and is not, the test fails.
fn installed(path: &Path) -> bool {
    let there = path.exists();
    if !there {
        let required = std::env::var_os("VERILANE_INTEROP").is_some_and(|value| value == "required");
        assert!(!required, "{} is missing; run .ci/setup", path.display());
        eprintln!("left out: {} is missing; .ci/setup installs it", path.display());
    }
    there
}

/// A child that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn verilane() -> Command {
    Command::new(env!("CARGO_BIN_EXE_verilane"))
}

/// Verdicts of `verilane verify --json`, one a token, and its exit code.
fn verify(jwks: &Value, tokens: &[&str]) -> (Vec<Value>, Option<i32>) {
    let dir = tempfile::tempdir().unwrap();
    let jwks_path = dir.path().join("jwks.json");
    let tokens_path = dir.path().join("tokens.txt");
    std::fs::write(&jwks_path, jwks.to_string()).unwrap();
    std::fs::write(&tokens_path, tokens.join("\n") + "\n").unwrap();
    let output = verilane()
        .args(["verify", "--json", "--issuer", ISSUER, "--audience", AUDIENCE, "--jwks"])
        .arg(&jwks_path)
        .arg("--file")
        .arg(&tokens_path)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let verdicts: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert_eq!(verdicts.len(), tokens.len(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    (verdicts, output.status.code())
}

/// Judges what a signer printed: good tokens accepted, expired ones rejected as such, forged ones as forged.
fn judge_signer(signed: &Value, algorithms: &[&str]) {
    let tokens = signed["tokens"].as_array().unwrap();
    let seen: BTreeSet<&str> = tokens.iter().map(|token| token["alg"].as_str().unwrap()).collect();
    assert_eq!(seen, algorithms.iter().copied().collect(), "the signer covers other algorithms than this test names");

    let good: Vec<&str> =
        tokens.iter().filter(|t| t["expired"] == false).map(|t| t["token"].as_str().unwrap()).collect();
    let (verdicts, code) = verify(&signed["jwks"], &good);
    for (verdict, token) in verdicts.iter().zip(tokens.iter().filter(|t| t["expired"] == false)) {
        assert_eq!(verdict["verdict"], "accepted", "{}: {verdict}", token["alg"]);
        assert_eq!(verdict["algorithm"], token["alg"]);
        assert_eq!(verdict["subject"], "interop");
    }
    assert_eq!(code, Some(0));

    let expired: Vec<&str> =
        tokens.iter().filter(|t| t["expired"] == true).map(|t| t["token"].as_str().unwrap()).collect();
    let (verdicts, code) = verify(&signed["jwks"], &expired);
    assert!(verdicts.iter().all(|verdict| verdict["reason"] == "expired"), "{verdicts:?}");
    assert_eq!(code, Some(1));

    let forged: Vec<String> = good
        .iter()
        .map(|token| {
            let (input, signature) = token.rsplit_once('.').unwrap();
            let first = if signature.starts_with('A') { 'B' } else { 'A' };
            format!("{input}.{first}{}", &signature[1..])
        })
        .collect();
    let (verdicts, code) = verify(&signed["jwks"], &forged.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(verdicts.iter().all(|verdict| verdict["reason"] == "signature_invalid"), "{verdicts:?}");
    assert_eq!(code, Some(1));
}

fn signer_output(command: &mut Command) -> Value {
    let output = command.args([ISSUER, AUDIENCE]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn tokens_signed_by_jose_are_judged_right() {
    let folder = root().join("tests/interop");
    if installed(&folder.join("node_modules/jose")) {
        let signed = signer_output(Command::new("node").arg("sign_jose.mjs").current_dir(&folder));
        judge_signer(
            &signed,
            &[
                "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384",
                "ES512", "EdDSA", "Ed25519",
            ],
        );
    }
}

#[test]
fn tokens_signed_by_pyjwt_are_judged_right() {
    let python = root().join("target/interop-venv/bin/python");
    if installed(&python) {
        let signed = signer_output(Command::new(python).arg("sign_pyjwt.py").current_dir(root().join("tests/interop")));
        judge_signer(
            &signed,
            &[
                "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384",
                "ES512", "ES256K", "EdDSA",
            ],
        );
    }
}

#[test]
fn tokens_of_a_real_provider_are_accepted_through_discovery() {
    let folder = root().join("tests/interop");
    if !installed(&folder.join("node_modules/oidc-provider")) {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = crate::support::server::http_client().build().unwrap();

    let mut provider = Running(
        Command::new("node")
            .arg("oidc_issuer.mjs")
            .current_dir(&folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let mut line = String::new();
    BufReader::new(provider.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let provider_facts: Value = serde_json::from_str(&line).expect("the provider prints one JSON line");
    let issuer = provider_facts["issuer"].as_str().unwrap();

    let dir = tempfile::tempdir().unwrap();
    let config = format!(
        "{ANY_PORTS}\
         issuers:\n\
         - name: provider\n  issuer: {issuer}\n  audiences: [interop-api]\n  types: [at+jwt]\n  \
         keys: {{discovery: true, plain_http: loopback}}\n"
    );
    let config_path = dir.path().join("verilane.yaml");
    std::fs::write(&config_path, config).unwrap();
    let mut server = Server::spawn(binary::verilane(&["serve", "--config", config_path.to_str().unwrap()]));
    let (data, admin) = server.serving();
    eventually("ready", || get(&admin, "/readyz"), |answer| answer.as_ref().is_some_and(|(status, _)| *status == 200));

    for algorithm in ["RS256", "ES256", "EdDSA"] {
        let form = format!(
            "grant_type=client_credentials&client_id=interop&client_secret=interop-secret&scope=read&resource=urn:{algorithm}"
        );
        let verify = |token: String| {
            runtime.block_on(async {
                let body = serde_json::json!({ "token": token }).to_string();
                let response = client
                    .post(format!("http://{data}/v1/verify"))
                    .header("content-type", "application/json")
                    .body(body)
                    .send()
                    .await
                    .unwrap();
                assert_eq!(response.status(), 200);
                serde_json::from_slice::<Value>(&response.bytes().await.unwrap()).unwrap()
            })
        };
        let token = runtime.block_on(async {
            let response = client
                .post(provider_facts["token_endpoint"].as_str().unwrap())
                .header("content-type", "application/x-www-form-urlencoded")
                .body(form)
                .send()
                .await
                .unwrap();
            let answer: Value = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
            answer["access_token"].as_str().unwrap_or_else(|| panic!("no token: {answer}")).to_owned()
        });
        let verdict = verify(token.clone());
        assert_eq!(verdict["verdict"], "accepted", "{algorithm}: {verdict}");
        assert_eq!(verdict["algorithm"], algorithm);
        assert_eq!(verdict["issuer"], issuer);
        assert_eq!(verdict["claims"]["client_id"], "interop");

        let (input, signature) = token.rsplit_once('.').unwrap();
        let first = if signature.starts_with('A') { 'B' } else { 'A' };
        let forged = verify(format!("{input}.{first}{}", &signature[1..]));
        assert_eq!(forged["reason"], "signature_invalid", "{algorithm}: {forged}");
    }
}
