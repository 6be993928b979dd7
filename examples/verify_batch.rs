//! Verifies tokens in process, without any server: `cargo run --no-default-features --example verify_batch`.
//!
//! Takes a JWK Set file and a file with one token a line; without arguments it uses an example of RFC 7515.
//!
//! ```console
//! cargo run --example verify_batch -- jwks.json tokens.txt https://issuer.example
//! ```

use std::time::{Instant, SystemTime};

use bytes::Bytes;
use verilane::engine::Context;
use verilane::kernel::{KernelTable, self_test};
use verilane::keys::IssuerKeys;
use verilane::keys::prepare::{DocumentLimits, Origin, from_document};
use verilane::policy::Policy;
use verilane::verify::{IssuerEntry, TokenRequest, Verdict, Verifier, VerifierOptions};

/// RFC 7515 appendix A.3; it expired in 2011.
const JWK: &str = r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#;
const TOKEN: &str = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNv\
    bS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let clock = i64::try_from(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs())?;
    let (document, lines, issuer, now) = match arguments.as_slice() {
        [jwks, tokens, issuer] => (std::fs::read(jwks)?, std::fs::read_to_string(tokens)?, issuer.as_str(), clock),
        [] => (JWK.into(), TOKEN.to_owned(), "joe", 1_300_819_379),
        _ => return Err("usage: verify_batch [JWKS-FILE TOKEN-FILE ISSUER]".into()),
    };

    // The kernels of this CPU, checked against known answers before they are trusted.
    let mut kernels = KernelTable::select::<&str>(&[])?;
    self_test(&mut kernels).map_err(|failures| format!("no usable kernel: {failures:?}"))?;

    // One issuer: its keys, and what its tokens must satisfy.
    let (set, report) = from_document(&document, Origin::Local, &DocumentLimits::default())?;
    for line in report.skipped.iter().chain(&report.warnings) {
        eprintln!("keys: {line}");
    }
    let policy = Policy { issuer: Some(issuer.to_owned()), ..Policy::default() };
    let entry = IssuerEntry { name: "main".into(), policy, keys: IssuerKeys::fixed(set) };
    let verifier = Verifier::new(vec![entry], VerifierOptions::default())?;

    // One context a thread, reused: the batch fills lane groups across tokens, and each token has its own answer.
    let mut context = Context::new(&kernels);
    let requests: Vec<TokenRequest> = lines
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| TokenRequest {
            token: Bytes::copy_from_slice(line.as_bytes()),
            issuer: None,
            audience: None,
            now,
            deadline: None,
        })
        .collect();
    let mut answers = Vec::new();
    verifier.verify_batch(&mut context, &requests, Instant::now(), &mut answers);

    for (number, answer) in answers.iter().enumerate() {
        match answer {
            Ok(Verdict::Accepted(accepted)) => println!("{number}: accepted, subject {:?}", accepted.subject),
            Ok(Verdict::Rejected(rejection)) => println!("{number}: rejected, {}", rejection.detail),
            Err(error) => println!("{number}: not answered, {error}"),
        }
    }
    Ok(())
}
