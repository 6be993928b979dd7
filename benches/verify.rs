//! The whole path of a token in process: parse, key, kernel, claims. One element is one token.
//!
//! `frame` rows replace the kernel by one that accepts everything, which leaves the cost of everything else. Favours us:
//! one issuer, hot caches, headers that are all alike. Leaves out: sockets, the engine's queue, refreshing keys.
//! `cargo bench --bench verify -- frame` runs one family of rows.

use std::time::Instant;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use verilane::engine::Context;
use verilane::kernel::{Job, Kernel, KernelTable, LaneMask, Scheme, Scratch};
use verilane::keys::IssuerKeys;
use verilane::keys::prepare::{DocumentLimits, Origin, from_document};
use verilane::policy::Policy;
use verilane::verify::{IssuerEntry, TokenRequest, Verdict, Verifier, VerifierOptions};

#[path = "../tests/it/support/tokens.rs"]
mod tokens;
use tokens::{Signer, jwk_set};

const NOW: i64 = 1_700_000_000;
const BATCHES: [usize; 3] = [1, 16, 256];

/// Accepts everything.
#[derive(Debug)]
struct NullKernel;

impl Kernel for NullKernel {
    fn lanes(&self) -> usize {
        16
    }

    fn run(&self, _: &mut Scratch, jobs: &[Job<'_>]) -> LaneMask {
        LaneMask::first(jobs.len())
    }
}

/// A claims set of about 250 bytes, as access tokens have; each token has its own subject.
fn claims(number: usize, expires_at: i64) -> String {
    format!(
        r#"{{"iss":"https://issuer.example","aud":["api.example","web.example"],"sub":"user-{number}","exp":{expires_at},"iat":{},"jti":"{number:032x}","scope":"read write profile","client_id":"bench-client","tenant":"t-{number}"}}"#,
        NOW - 60
    )
}

fn request(token: String) -> TokenRequest {
    TokenRequest { token: token.into(), issuer: None, audience: None, now: NOW, deadline: None }
}

fn verify(criterion: &mut Criterion) {
    let signers = [("EdDSA", Signer::ed25519(1)), ("HS256", Signer::hs256(2))];
    let document = jwk_set(&signers.each_ref().map(|(name, signer)| signer.jwk(Some(name))));
    let (set, _) = from_document(document.as_bytes(), Origin::Local, &DocumentLimits::default()).unwrap();
    let policy = Policy {
        issuer: Some("https://issuer.example".to_owned()),
        audiences: vec!["api.example".to_owned()],
        ..Policy::default()
    };
    let entry = IssuerEntry { name: "bench".into(), policy, keys: IssuerKeys::fixed(set) };
    let verifier = Verifier::new(vec![entry], VerifierOptions::default()).unwrap();

    let chosen = KernelTable::select::<&str>(&[]).unwrap();
    let mut null = chosen.clone();
    null.replace(Scheme::Ed25519, &NullKernel);

    let mut rows: Vec<(String, &KernelTable, Vec<TokenRequest>, bool)> = Vec::new();
    let largest = BATCHES.into_iter().max().unwrap_or(1);
    for (name, signer) in &signers {
        let header = format!(r#"{{"alg":"{name}","kid":"{name}","typ":"JWT"}}"#);
        let of = |expires_at| {
            (0..largest).map(|number| request(signer.token(&header, &claims(number, expires_at)))).collect()
        };
        rows.push((format!("{name}/good"), &chosen, of(NOW + 600), true));
        rows.push((format!("{name}/expired"), &chosen, of(NOW - 600), false));
        if *name == "EdDSA" {
            rows.push(("EdDSA/frame".to_owned(), &null, of(NOW + 600), true));
        }
    }
    let garbage = (0..largest).map(|number| request(format!("{number}.not a token.at all"))).collect();
    rows.push(("garbage".to_owned(), &chosen, garbage, false));

    let mut group = criterion.benchmark_group("verify");
    for (name, table, requests, good) in &rows {
        let mut context = Context::new(table);
        for size in BATCHES {
            group.throughput(Throughput::Elements(size as u64));
            group.bench_function(BenchmarkId::new(name, size), |bencher| {
                let mut answers = Vec::with_capacity(size);
                let wall = Instant::now();
                bencher.iter(|| {
                    answers.clear();
                    verifier.verify_batch(&mut context, &requests[..size], wall, &mut answers);
                    // The answers are looked at, so that no work can vanish.
                    let accepted = answers.iter().filter(|answer| matches!(answer, Ok(Verdict::Accepted(_)))).count();
                    assert_eq!(accepted, if *good { size } else { 0 });
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, verify);
criterion_main!(benches);
