//! Kernels by themselves: every entry of the registry at fills 1, 4, 8 and 16, on messages of 400 bytes (a typical
//! signing input), with the libraries behind the portable kernels called directly beside them.
//!
//! One element is one signature. Favours us: one key, hot caches, no parsing. Leaves out: the engine, keys that compete
//! for cache. `cargo bench --bench kernels -- ed25519` runs one family.

use std::hint::black_box;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{self, EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair, ParsedPublicKey};
use aws_lc_rs::{hmac, rsa};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use verilane::kernel::{GROUP_WIDTH, Job, LaneMask, PreparedKey, Scheme, available};

const MESSAGE_LEN: usize = 400;
const FILLS: [usize; 4] = [1, 4, 8, GROUP_WIDTH];

/// A key and one good signature for each lane; all messages differ.
struct Signed {
    key: PreparedKey,
    messages: Vec<Vec<u8>>,
    signatures: Vec<Vec<u8>>,
}

impl Signed {
    fn new(key: PreparedKey, mut sign: impl FnMut(&[u8]) -> Vec<u8>) -> Self {
        let messages: Vec<Vec<u8>> = (0..GROUP_WIDTH).map(|lane| vec![lane.to_le_bytes()[0]; MESSAGE_LEN]).collect();
        let signatures = messages.iter().map(|message| sign(message)).collect();
        Self { key, messages, signatures }
    }

    fn jobs(&self) -> Vec<Job<'_>> {
        let job = |(message, signature)| Job { key: &self.key, message, signature };
        self.messages.iter().map(Vec::as_slice).zip(self.signatures.iter().map(Vec::as_slice)).map(job).collect()
    }
}

/// All kernels of a scheme.
fn kernels(group: &mut BenchmarkGroup<'_, WallTime>, scheme: Scheme, signed: &Signed) {
    let jobs = signed.jobs();
    for (entry, kernel) in available(scheme) {
        let mut scratch = kernel.scratch();
        for fill in FILLS {
            group.throughput(Throughput::Elements(fill as u64));
            group.bench_function(BenchmarkId::new(entry.backend, fill), |bencher| {
                bencher.iter(|| {
                    let answer = kernel.run(&mut scratch, black_box(&jobs[..fill]));
                    assert_eq!(answer, LaneMask::first(fill));
                });
            });
        }
    }
}

/// One call of a library, without the kernel around it.
fn baseline(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    signed: &Signed,
    mut verify: impl FnMut(&[u8], &[u8]) -> bool,
) {
    group.throughput(Throughput::Elements(1));
    group.bench_function(name, |bencher| {
        bencher.iter(|| assert!(verify(black_box(&signed.messages[0]), black_box(&signed.signatures[0]))));
    });
}

fn ed25519(criterion: &mut Criterion) {
    let pair = SigningKey::from_bytes(&[7; 32]);
    let public = pair.verifying_key().to_bytes();
    let signed = Signed::new(PreparedKey::ed25519(&public).unwrap(), |message| pair.sign(message).to_bytes().to_vec());
    let mut group = criterion.benchmark_group("ed25519");
    kernels(&mut group, Scheme::Ed25519, &signed);

    let dalek = VerifyingKey::from_bytes(&public).unwrap();
    baseline(&mut group, "ed25519-dalek verify_strict", &signed, |message, signature| {
        let signature = ed25519_dalek::Signature::from_slice(signature).unwrap();
        dalek.verify_strict(message, &signature).is_ok()
    });
    let aws = ParsedPublicKey::new(&signature::ED25519, public).unwrap();
    baseline(&mut group, "aws-lc-rs", &signed, |message, signature| aws.verify_sig(message, signature).is_ok());
}

fn ecdsa(criterion: &mut Criterion) {
    type Prepare = fn(&[u8], &[u8]) -> Result<PreparedKey, verilane::kernel::KeyError>;
    type Curve = (Scheme, &'static EcdsaSigningAlgorithm, &'static dyn signature::VerificationAlgorithm, Prepare);
    let curves: [Curve; 4] = [
        (
            Scheme::EcdsaP256Sha256,
            &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
            &signature::ECDSA_P256_SHA256_FIXED,
            PreparedKey::ecdsa_p256,
        ),
        (
            Scheme::EcdsaP384Sha384,
            &signature::ECDSA_P384_SHA384_FIXED_SIGNING,
            &signature::ECDSA_P384_SHA384_FIXED,
            PreparedKey::ecdsa_p384,
        ),
        (
            Scheme::EcdsaP521Sha512,
            &signature::ECDSA_P521_SHA512_FIXED_SIGNING,
            &signature::ECDSA_P521_SHA512_FIXED,
            PreparedKey::ecdsa_p521,
        ),
        (
            Scheme::EcdsaSecp256k1Sha256,
            &signature::ECDSA_P256K1_SHA256_FIXED_SIGNING,
            &signature::ECDSA_P256K1_SHA256_FIXED,
            PreparedKey::ecdsa_secp256k1,
        ),
    ];
    for (scheme, signing, verification, prepare) in curves {
        let pair = EcdsaKeyPair::generate(signing).unwrap();
        let point = pair.public_key().as_ref();
        let (x, y) = point[1..].split_at(point.len() / 2);
        let signed = Signed::new(prepare(x, y).unwrap(), |message| {
            pair.sign(&SystemRandom::new(), message).unwrap().as_ref().to_vec()
        });
        let mut group = criterion.benchmark_group(scheme.name());
        kernels(&mut group, scheme, &signed);

        let aws = ParsedPublicKey::new(verification, point).unwrap();
        baseline(&mut group, "aws-lc-rs", &signed, |message, signature| aws.verify_sig(message, signature).is_ok());
    }
}

fn rsa(criterion: &mut Criterion) {
    let encodings: [(Scheme, &'static signature::RsaSignatureEncoding, &'static signature::RsaParameters); 6] = [
        (Scheme::RsaPkcs1Sha256, &signature::RSA_PKCS1_SHA256, &signature::RSA_PKCS1_2048_8192_SHA256),
        (Scheme::RsaPkcs1Sha384, &signature::RSA_PKCS1_SHA384, &signature::RSA_PKCS1_2048_8192_SHA384),
        (Scheme::RsaPkcs1Sha512, &signature::RSA_PKCS1_SHA512, &signature::RSA_PKCS1_2048_8192_SHA512),
        (Scheme::RsaPssSha256, &signature::RSA_PSS_SHA256, &signature::RSA_PSS_2048_8192_SHA256),
        (Scheme::RsaPssSha384, &signature::RSA_PSS_SHA384, &signature::RSA_PSS_2048_8192_SHA384),
        (Scheme::RsaPssSha512, &signature::RSA_PSS_SHA512, &signature::RSA_PSS_2048_8192_SHA512),
    ];
    for (size, bits) in [(rsa::KeySize::Rsa2048, 2048), (rsa::KeySize::Rsa4096, 4096)] {
        let pair = rsa::KeyPair::generate(size).unwrap();
        let public = pair.public_key().as_ref();
        let (_, x509) = x509_parser::der_parser::der::parse_der_sequence(public).unwrap();
        let [modulus, exponent] = x509.as_sequence().unwrap().as_slice() else { panic!("two numbers") };
        for (scheme, encoding, parameters) in encodings {
            let key = PreparedKey::rsa(modulus.as_slice().unwrap(), exponent.as_slice().unwrap()).unwrap();
            let signed = Signed::new(key, |message| {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(encoding, &SystemRandom::new(), message, &mut signature).unwrap();
                signature
            });
            let mut group = criterion.benchmark_group(format!("{}_{bits}", scheme.name()));
            kernels(&mut group, scheme, &signed);

            let aws = ParsedPublicKey::new(parameters, public).unwrap();
            baseline(&mut group, "aws-lc-rs", &signed, |message, signature| aws.verify_sig(message, signature).is_ok());
        }
    }
}

fn hmac(criterion: &mut Criterion) {
    for (scheme, algorithm) in [
        (Scheme::HmacSha256, hmac::HMAC_SHA256),
        (Scheme::HmacSha384, hmac::HMAC_SHA384),
        (Scheme::HmacSha512, hmac::HMAC_SHA512),
    ] {
        let secret = [7; 64];
        let aws = hmac::Key::new(algorithm, &secret);
        let signed =
            Signed::new(PreparedKey::hmac(&secret).unwrap(), |message| hmac::sign(&aws, message).as_ref().to_vec());
        let mut group = criterion.benchmark_group(scheme.name());
        kernels(&mut group, scheme, &signed);
        baseline(&mut group, "aws-lc-rs", &signed, |message, tag| hmac::verify(&aws, message, tag).is_ok());
    }
}

criterion_group!(benches, ed25519, ecdsa, rsa, hmac);
criterion_main!(benches);
