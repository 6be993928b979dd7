//! Every kernel of the registry against the portable one of its scheme, at every fill and in every lane, on inputs that
//! are random, mutated or built to be awkward; and portable kernels against independent libraries. The same comparison
//! is run on kernels with planted faults, which it has to find.
//!
//! `VERILANE_TEST_SEED` repeats a run; `VERILANE_DIFFERENTIAL_ROUNDS` makes it longer (the default is 4 groups a fill).

use std::sync::Arc;

use aws_lc_rs::{hmac, rand::SystemRandom, rsa, signature};
use curve25519_dalek::constants::{ED25519_BASEPOINT_POINT, EIGHT_TORSION};
use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::Scalar;
use sha2::{Digest, Sha512};
use verilane::kernel::{GROUP_WIDTH, Kernel, KeyError, PreparedKey, Scheme, available};

use crate::support::cases::{Case, Disagreement, garbage, run_group, run_group_on, run_in_lanes};
use crate::support::faulty_kernels::{Fault, FaultyKernel};
use crate::support::random::Random;

/// Around the block boundaries of the hashes, with the 64 bytes `R || A` before and without, and beyond.
const MESSAGE_LENS: [usize; 26] = [
    0, 1, 3, 47, 48, 55, 56, 63, 64, 65, 111, 112, 119, 120, 127, 128, 129, 175, 176, 239, 240, 255, 256, 257, 400,
    1500,
];

fn message(random: &mut Random) -> Vec<u8> {
    let len = *random.pick(&MESSAGE_LENS);
    random.bytes(len)
}

/// The comparison: groups of every fill, picked at random from a pool with known answers.
fn compare(kernel: &dyn Kernel, pool: &[(Case, bool)], rounds: usize, random: &mut Random) -> Result<(), Disagreement> {
    // Every case once, then every fill and every lane with cases picked at random.
    run_in_lanes(kernel, pool, 1, random)?;
    let mut scratch = kernel.scratch();
    let (good, bad): (Vec<_>, Vec<_>) = pool.iter().map(|(case, expected)| (case, *expected)).partition(|pair| pair.1);
    for fill in 0..=GROUP_WIDTH {
        for _ in 0..rounds {
            // Half of them good, whatever the share in the pool.
            let group: Vec<(&Case, bool)> = (0..fill)
                .map(|_| if random.below(2) == 0 { *random.pick(&good) } else { *random.pick(&bad) })
                .collect();
            run_group_on(kernel, &mut scratch, &group)?;
        }
    }
    // One case alone in each lane of a group that answers otherwise.
    for lane in 0..GROUP_WIDTH {
        for (odd, rest) in [(good[0], bad[0]), (bad[0], good[0])] {
            let mut group = [rest; GROUP_WIDTH];
            group[lane] = odd;
            run_group_on(kernel, &mut scratch, &group)?;
        }
    }
    Ok(())
}

fn rounds() -> usize {
    std::env::var("VERILANE_DIFFERENTIAL_ROUNDS")
        .map_or(4, |text| text.parse().expect("VERILANE_DIFFERENTIAL_ROUNDS is a number"))
}

/// Cases of a scheme with the oracle's answers.
fn pool(scheme: Scheme, random: &mut Random) -> Vec<(Case, bool)> {
    let signed = match scheme {
        Scheme::Ed25519 => ed25519_cases(random).into_iter().map(|(case, _)| case).collect(),
        Scheme::EcdsaP256Sha256 | Scheme::EcdsaP384Sha384 | Scheme::EcdsaP521Sha512 | Scheme::EcdsaSecp256k1Sha256 => {
            ecdsa_cases(scheme, random)
        }
        Scheme::RsaPkcs1Sha256
        | Scheme::RsaPkcs1Sha384
        | Scheme::RsaPkcs1Sha512
        | Scheme::RsaPssSha256
        | Scheme::RsaPssSha384
        | Scheme::RsaPssSha512 => rsa_cases(scheme, random),
        Scheme::HmacSha256 | Scheme::HmacSha384 | Scheme::HmacSha512 => hmac_cases(scheme, random),
    };
    let (_, oracle) = available(scheme).last().expect("every scheme has a portable kernel");
    let answer = |case: &Case| oracle.run(&mut oracle.scratch(), &[case.job()]).contains(0);
    let mut cases = signed.clone();
    for case in &signed {
        // Near misses of good signatures are worth most.
        if answer(case) || random.below(8) == 0 {
            cases.extend(mutations(case, &signed, random));
        }
    }
    cases.extend(garbage(scheme, &signed[0].key).into_iter().map(|(case, _)| case));
    cases.into_iter().map(|case| (answer(&case), case)).map(|(good, case)| (case, good)).collect()
}

/// What a signature turns into by accident or by an attacker's hand.
fn mutations(case: &Case, others: &[Case], random: &mut Random) -> Vec<Case> {
    let change = |name: &str, change: &mut dyn FnMut(&mut Case)| {
        let mut changed = case.clone();
        changed.name = format!("{}, {name}", case.name);
        change(&mut changed);
        changed
    };
    let len = case.signature.len();
    let bit = random.below(len * 8);
    let byte = random.below(len);
    let other = random.pick(others);
    vec![
        change("signature bit flipped", &mut |case| case.signature[bit / 8] ^= 1 << (bit % 8)),
        change("first bit of the signature flipped", &mut |case| case.signature[0] ^= 0x80),
        change("last bit of the signature flipped", &mut |case| case.signature[len - 1] ^= 1),
        change("signature byte zeroed", &mut |case| case.signature[byte] = 0),
        change("signature byte 0xff", &mut |case| case.signature[byte] = 0xff),
        change("signature cut", &mut |case| case.signature.truncate(byte)),
        change("signature longer", &mut |case| case.signature.push(0)),
        change("signature behind a zero", &mut |case| case.signature.insert(0, 0)),
        change("halves exchanged", &mut |case| case.signature.rotate_left(len / 2)),
        change("signature all zero", &mut |case| case.signature.fill(0)),
        change("signature all ones", &mut |case| case.signature.fill(0xff)),
        change("message longer", &mut |case| case.message.push(0)),
        change("message empty", &mut |case| case.message.clear()),
        change("signature of another", &mut |case| case.signature.clone_from(&other.signature)),
        change("key of another", &mut |case| case.key = Arc::clone(&other.key)),
    ]
}

/// Signs as RFC 8032 does, with any private scalar, any nonce and any point of small order added to key and R.
/// Gives the encoded key beside the case; `None` if such a key does not load.
fn ed25519_sign(
    name: String,
    secret: Scalar,
    key_torsion: EdwardsPoint,
    nonce: Scalar,
    nonce_torsion: EdwardsPoint,
    message: Vec<u8>,
) -> Option<(Case, [u8; 32])> {
    let public = (ED25519_BASEPOINT_POINT * secret + key_torsion).compress();
    let key = PreparedKey::ed25519(public.as_bytes()).ok()?;
    let r = (ED25519_BASEPOINT_POINT * nonce + nonce_torsion).compress();
    let hash = Sha512::new().chain_update(r.as_bytes()).chain_update(public.as_bytes()).chain_update(&message);
    let h = Scalar::from_bytes_mod_order_wide(&hash.finalize().into());
    let s = nonce + h * secret;
    let signature = [*r.as_bytes(), s.to_bytes()].concat();
    Some((Case { name, key: Arc::new(key), message, signature }, public.to_bytes()))
}

/// Scalars at the edges: near 0, near L, near 2^252, and digit patterns of all-max and all-min for signed windows.
fn ed25519_scalars(random: &mut Random) -> Vec<(String, Scalar)> {
    let power = |exponent: usize| {
        let mut bytes = [0; 32];
        bytes[exponent / 8] = 1 << (exponent % 8);
        Scalar::from_bytes_mod_order(bytes)
    };
    let pattern = |byte: u8| {
        let mut bytes = [byte; 32];
        bytes[31] &= 0x0f;
        Scalar::from_bytes_mod_order(bytes)
    };
    let mut scalars = vec![
        ("0".to_owned(), Scalar::ZERO),
        ("1".to_owned(), Scalar::ONE),
        ("2".to_owned(), Scalar::from(2u8)),
        ("8".to_owned(), Scalar::from(8u8)),
        ("L-1".to_owned(), -Scalar::ONE),
        ("L-2".to_owned(), -Scalar::from(2u8)),
        ("1/2".to_owned(), Scalar::from(2u8).invert()),
        ("2^252".to_owned(), power(252)),
        ("2^252-1".to_owned(), power(252) - Scalar::ONE),
        ("2^128".to_owned(), power(128)),
    ];
    for byte in [0x11, 0x55, 0x77, 0x7f, 0x80, 0x88, 0xaa, 0xf7, 0xff] {
        scalars.push((format!("bytes {byte:02x}"), pattern(byte)));
    }
    for index in 0..6 {
        let mut wide = [0; 64];
        wide.copy_from_slice(&random.bytes(64));
        scalars.push((format!("random {index}"), Scalar::from_bytes_mod_order_wide(&wide)));
    }
    scalars
}

/// Cases with their encoded keys.
fn ed25519_cases(random: &mut Random) -> Vec<(Case, [u8; 32])> {
    let identity = EIGHT_TORSION[0];
    let scalars = ed25519_scalars(random);
    let mut cases = Vec::new();
    for (secret_name, secret) in &scalars {
        for _ in 0..3 {
            let (nonce_name, nonce) = random.pick(&scalars).clone();
            let name = format!("a = {secret_name}, r = {nonce_name}");
            cases.extend(ed25519_sign(name, *secret, identity, nonce, identity, message(random)));
        }
    }
    // Points of mixed order as keys, and every small-order part in R: about one in eight is good.
    for (index, key_torsion) in EIGHT_TORSION.iter().enumerate() {
        let text = message(random);
        for (other, nonce_torsion) in EIGHT_TORSION.iter().enumerate() {
            let (secret, nonce) = (random.pick(&scalars).1, random.pick(&scalars).1);
            let name = format!("key with torsion {index}, R with torsion {other}");
            cases.extend(ed25519_sign(name, secret, *key_torsion, nonce, *nonce_torsion, text.clone()));
        }
    }
    // S at and around the group order, and R that decodes to nothing or to two encodings of one point.
    let order: [u8; 32] = {
        let mut order = (-Scalar::ONE).to_bytes();
        order[0] += 1;
        order
    };
    let honest = cases[cases.len() - 1].clone();
    let mut with = |name: &str, range: std::ops::Range<usize>, bytes: &[u8; 32]| {
        let (mut case, encoded) = honest.clone();
        name.clone_into(&mut case.name);
        case.signature[range].copy_from_slice(bytes);
        cases.push((case, encoded));
    };
    let mut below = order;
    below[0] -= 1;
    let mut above = order;
    above[0] += 1;
    let (mut high_bit, mut p, mut p_plus_one) = ([0; 32], [0xff; 32], [0xff; 32]);
    high_bit[31] = 0x80;
    (p[0], p[31]) = (0xed, 0x7f);
    (p_plus_one[0], p_plus_one[31]) = (0xee, 0x7f);
    for (name, s) in [("S = L", order), ("S = L-1", below), ("S = L+1", above), ("S = 2^255", high_bit)] {
        with(name, 32..64, &s);
    }
    for (name, r) in [("R = p, y of 0", p), ("R = p + 1, y of 1", p_plus_one), ("R = 2^255-1", [0xff; 32])] {
        with(name, 0..32, &r);
    }
    // S + L for every good signature: the equation holds, the range check has to refuse.
    let unreduced: Vec<(Case, [u8; 32])> = cases
        .iter()
        .map(|(case, encoded)| {
            let mut case = case.clone();
            case.name += ", S + L";
            let mut carry = 0;
            for (byte, order) in case.signature[32..].iter_mut().zip(order) {
                let sum = u16::from(*byte) + u16::from(order) + carry;
                (*byte, carry) = (sum.to_le_bytes()[0], sum >> 8);
            }
            (case, *encoded)
        })
        .collect();
    cases.extend(unreduced);
    cases
}

/// `a - b` on big-endian numbers of one length, `a` not smaller.
fn subtract(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut borrow = 0;
    let mut difference: Vec<u8> = a
        .iter()
        .zip(b)
        .rev()
        .map(|(a, b)| {
            let digit = i16::from(*a) - i16::from(*b) - borrow;
            borrow = i16::from(digit < 0);
            digit.rem_euclid(256) as u8
        })
        .collect();
    difference.reverse();
    difference
}

/// `a + b` on big-endian numbers of one length, or `None` if it does not fit.
fn add(a: &[u8], b: &[u8]) -> Option<Vec<u8>> {
    let mut carry = 0;
    let mut sum: Vec<u8> = a
        .iter()
        .zip(b)
        .rev()
        .map(|(a, b)| {
            let digit = u16::from(*a) + u16::from(*b) + carry;
            carry = digit >> 8;
            digit.to_le_bytes()[0]
        })
        .collect();
    sum.reverse();
    (carry == 0).then_some(sum)
}

fn unhex(digits: &str) -> Vec<u8> {
    (0..digits.len() / 2).map(|index| u8::from_str_radix(&digits[2 * index..2 * index + 2], 16).unwrap()).collect()
}

/// What the cases of a curve are made with.
struct Curve {
    algorithm: &'static signature::EcdsaSigningAlgorithm,
    /// SP 800-186 section 3.2.1, SEC 2 section 2.4.1.
    order: Vec<u8>,
    prepare: fn(&[u8], &[u8]) -> Result<PreparedKey, KeyError>,
}

fn curve(scheme: Scheme) -> Curve {
    match scheme {
        Scheme::EcdsaP256Sha256 => Curve {
            algorithm: &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
            order: unhex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"),
            prepare: PreparedKey::ecdsa_p256,
        },
        Scheme::EcdsaP384Sha384 => Curve {
            algorithm: &signature::ECDSA_P384_SHA384_FIXED_SIGNING,
            order: unhex(
                "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973",
            ),
            prepare: PreparedKey::ecdsa_p384,
        },
        Scheme::EcdsaP521Sha512 => Curve {
            algorithm: &signature::ECDSA_P521_SHA512_FIXED_SIGNING,
            order: unhex(
                "01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148\
                 f709a5d03bb5c9b8899c47aebb6fb71e91386409",
            ),
            prepare: PreparedKey::ecdsa_p521,
        },
        _ => Curve {
            algorithm: &signature::ECDSA_P256K1_SHA256_FIXED_SIGNING,
            order: unhex("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"),
            prepare: PreparedKey::ecdsa_secp256k1,
        },
    }
}

fn ecdsa_cases(scheme: Scheme, random: &mut Random) -> Vec<Case> {
    use signature::{EcdsaKeyPair, KeyPair};

    let Curve { algorithm, order, prepare } = curve(scheme);
    let len = order.len();
    let mut one = vec![0; len];
    one[len - 1] = 1;
    let mut cases = Vec::new();
    for key_index in 0..3 {
        let pair = EcdsaKeyPair::generate(algorithm).unwrap();
        let (x, y) = pair.public_key().as_ref()[1..].split_at(len);
        let key = Arc::new(prepare(x, y).unwrap());
        for index in 0..6 {
            let message = message(random);
            let signature = pair.sign(&SystemRandom::new(), &message).unwrap().as_ref().to_vec();
            let (r, s) = signature.split_at(len);
            let (r, s) = (r.to_vec(), s.to_vec());
            let mut push = |what: &str, r: &[u8], s: &[u8]| {
                let name = format!("key {key_index}, signature {index}{what}");
                let signature = [r, s].concat();
                cases.push(Case { name, key: Arc::clone(&key), message: message.clone(), signature });
            };
            push("", &r, &s);
            push(", n - s", &r, &subtract(&order, &s));
            push(", n - r", &subtract(&order, &r), &s);
            for (name, value) in [("0", vec![0; len]), ("1", one.clone()), ("n", order.clone())] {
                push(&format!(", r = {name}"), &value, &s);
                push(&format!(", s = {name}"), &r, &value);
                push(&format!(", r = s = {name}"), &value, &value);
            }
            let last = subtract(&order, &one);
            push(", r = n - 1", &last, &s);
            push(", s = n - 1", &r, &last);
            if let Some(sum) = add(&r, &order) {
                push(", r + n", &sum, &s);
            }
            if let Some(sum) = add(&s, &order) {
                push(", s + n", &r, &sum);
            }
        }
    }
    cases
}

fn rsa_cases(scheme: Scheme, random: &mut Random) -> Vec<Case> {
    use signature::KeyPair;

    let all: [(Scheme, &'static signature::RsaSignatureEncoding); 6] = [
        (Scheme::RsaPkcs1Sha256, &signature::RSA_PKCS1_SHA256),
        (Scheme::RsaPkcs1Sha384, &signature::RSA_PKCS1_SHA384),
        (Scheme::RsaPkcs1Sha512, &signature::RSA_PKCS1_SHA512),
        (Scheme::RsaPssSha256, &signature::RSA_PSS_SHA256),
        (Scheme::RsaPssSha384, &signature::RSA_PSS_SHA384),
        (Scheme::RsaPssSha512, &signature::RSA_PSS_SHA512),
    ];
    // Finding primes takes a while: the keys are made once.
    static PAIRS: std::sync::OnceLock<Vec<rsa::KeyPair>> = std::sync::OnceLock::new();
    let pairs = PAIRS.get_or_init(|| {
        [rsa::KeySize::Rsa2048, rsa::KeySize::Rsa2048, rsa::KeySize::Rsa3072]
            .map(|size| rsa::KeyPair::generate(size).unwrap())
            .into()
    });
    let mut cases = Vec::new();
    for (key_index, pair) in pairs.iter().enumerate() {
        let (modulus, exponent) = public_parts(pair.public_key().as_ref());
        let key = Arc::new(PreparedKey::rsa(&modulus, &exponent).unwrap());
        let mut one = vec![0; modulus.len()];
        one[modulus.len() - 1] = 1;
        for (signed_as, encoding) in all {
            let message = message(random);
            let mut signature = vec![0; pair.public_modulus_len()];
            pair.sign(encoding, &SystemRandom::new(), &message, &mut signature).unwrap();
            let mut push = |what: &str, signature: Vec<u8>| {
                let name = format!("key {key_index} signed as {signed_as}{what}");
                cases.push(Case { name, key: Arc::clone(&key), message: message.clone(), signature });
            };
            push("", signature.clone());
            if signed_as == scheme {
                push(", n - s", subtract(&modulus, &signature));
                push(", s = 1", one.clone());
                push(", s = n - 1", subtract(&modulus, &one));
                push(", s = n", modulus.clone());
                if let Some(sum) = add(&signature, &modulus) {
                    push(", s + n", sum);
                }
            }
        }
    }
    cases
}

/// Modulus and exponent out of a DER `RSAPublicKey` (RFC 8017 appendix A.1.1).
fn public_parts(der: &[u8]) -> (Vec<u8>, Vec<u8>) {
    fn element(der: &[u8]) -> (&[u8], &[u8]) {
        let (len, rest) = match der[1] {
            0x81 => (usize::from(der[2]), &der[3..]),
            0x82 => (usize::from(u16::from_be_bytes([der[2], der[3]])), &der[4..]),
            len => (usize::from(len), &der[2..]),
        };
        rest.split_at(len)
    }
    let (sequence, _) = element(der);
    let (modulus, rest) = element(sequence);
    let (exponent, _) = element(rest);
    // DER puts a zero before a number whose first bit is set.
    (modulus[usize::from(modulus[0] == 0)..].to_vec(), exponent.to_vec())
}

fn hmac_cases(scheme: Scheme, random: &mut Random) -> Vec<Case> {
    let algorithm = match scheme {
        Scheme::HmacSha256 => hmac::HMAC_SHA256,
        Scheme::HmacSha384 => hmac::HMAC_SHA384,
        _ => hmac::HMAC_SHA512,
    };
    let mut cases = Vec::new();
    for secret_len in [32, 33, 47, 48, 63, 64, 65, 127, 128, 129, 200] {
        let secret = random.bytes(secret_len);
        let key = Arc::new(PreparedKey::hmac(&secret).unwrap());
        for index in 0..8 {
            let message = message(random);
            let signature = hmac::sign(&hmac::Key::new(algorithm, &secret), &message).as_ref().to_vec();
            let name = format!("secret of {secret_len} bytes, tag {index}");
            cases.push(Case { name, key: Arc::clone(&key), message, signature });
        }
    }
    cases
}

#[test]
fn every_kernel_answers_as_the_portable_one_at_every_fill() {
    for scheme in Scheme::ALL {
        let mut random = Random::from_environment(scheme.name());
        let pool = pool(scheme, &mut random);
        let good = pool.iter().filter(|(_, expected)| *expected).count();
        assert!(good >= 3, "{scheme}: only {good} good cases");
        for (entry, kernel) in available(scheme) {
            if let Err(disagreement) = compare(kernel, &pool, rounds(), &mut random) {
                panic!("{}: {disagreement:#?}", entry.name());
            }
            println!("{}: pool of {} with {good} good", entry.name(), pool.len());
        }
    }
}

#[test]
fn the_comparison_finds_every_planted_fault() {
    // The cheapest scheme of each kind; the comparison is the same code for all.
    for scheme in [Scheme::HmacSha256, Scheme::Ed25519] {
        let mut random = Random::from_environment(scheme.name());
        let pool = pool(scheme, &mut random);
        for fault in Fault::ALL {
            let kernel = FaultyKernel::leak(scheme, fault);
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                compare(kernel, &pool, rounds(), &mut random)
            }));
            let found = outcome.is_err() || outcome.is_ok_and(|result| result.is_err());
            assert!(found, "{scheme}: {fault:?} went through");
        }
    }
}

#[test]
fn ed25519_answers_as_an_independent_library() {
    let mut random = Random::from_environment("ed25519 and aws-lc-rs");
    for round in 0..rounds() {
        for (case, encoded) in ed25519_cases(&mut random) {
            let (_, portable) = available(Scheme::Ed25519).last().unwrap();
            let key = signature::UnparsedPublicKey::new(&signature::ED25519, encoded);
            let expected = key.verify(&case.message, &case.signature).is_ok();
            if let Err(disagreement) = run_group(portable, &[(&case, expected)]) {
                panic!("round {round}: {disagreement:#?}");
            }
        }
    }
}

#[test]
fn hmac_accepts_what_an_independent_library_signs() {
    for scheme in [Scheme::HmacSha256, Scheme::HmacSha384, Scheme::HmacSha512] {
        let mut random = Random::from_environment(scheme.name());
        let (_, portable) = available(scheme).last().unwrap();
        for case in hmac_cases(scheme, &mut random) {
            // A secret that is too short for the hash signs nothing, however right the tag.
            let expected = case.key.supports(scheme);
            if let Err(disagreement) = run_group(portable, &[(&case, expected)]) {
                panic!("{disagreement:#?}");
            }
        }
    }
}
