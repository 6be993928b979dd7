//! Signatures made for tests of kernels: by signers that take awkward scalars, nonces and points, and by what forgers and
//! accidents make of good signatures.

use std::sync::Arc;

use aws_lc_rs::{hmac, rand::SystemRandom, rsa, signature};
use curve25519_dalek::constants::{ED25519_BASEPOINT_POINT, EIGHT_TORSION};
use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::Scalar;
use num_bigint::BigUint;
use sha2::{Digest, Sha512};
use verilane::kernel::{PreparedKey, Scheme};

use super::cases::Case;
use super::random::Random;
use super::textbook::{self, Curve};

/// A case with the key as an independent implementation wants it.
#[derive(Clone)]
pub struct Signed {
    pub case: Case,
    /// Ed25519: the encoded key. ECDSA: x and y. RSA: modulus and exponent. HMAC: the secret.
    pub public: Vec<Vec<u8>>,
}

/// Good and bad signatures of a scheme, most of them honestly made.
pub fn signed_cases(scheme: Scheme, random: &mut Random) -> Vec<Signed> {
    match scheme {
        Scheme::Ed25519 => ed25519_cases(random),
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
    }
}

/// What a signature turns into by accident or by an attacker's hand.
pub fn mutations(signed: &Signed, others: &[Signed], random: &mut Random) -> Vec<Signed> {
    let change = |name: &str, change: &mut dyn FnMut(&mut Case)| {
        let mut changed = signed.clone();
        changed.case.name = format!("{}, {name}", signed.case.name);
        change(&mut changed.case);
        changed
    };
    let len = signed.case.signature.len();
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
        change("signature of another", &mut |case| case.signature.clone_from(&other.case.signature)),
        Signed {
            case: Case {
                name: format!("{}, key of another", signed.case.name),
                key: Arc::clone(&other.case.key),
                ..signed.case.clone()
            },
            public: other.public.clone(),
        },
    ]
}

/// Around the block boundaries of the hashes, with the 64 bytes `R || A` before and without, and beyond.
const MESSAGE_LENS: [usize; 26] = [
    0, 1, 3, 47, 48, 55, 56, 63, 64, 65, 111, 112, 119, 120, 127, 128, 129, 175, 176, 239, 240, 255, 256, 257, 400,
    1500,
];

fn message(random: &mut Random) -> Vec<u8> {
    let len = *random.pick(&MESSAGE_LENS);
    random.bytes(len)
}

/// Signs as RFC 8032 does, with any private scalar, any nonce and any point of small order added to key and R.
/// `None` if such a key does not load.
fn ed25519_sign(
    name: String,
    secret: Scalar,
    key_torsion: EdwardsPoint,
    nonce: Scalar,
    nonce_torsion: EdwardsPoint,
    message: Vec<u8>,
) -> Option<Signed> {
    let public = (ED25519_BASEPOINT_POINT * secret + key_torsion).compress();
    let key = PreparedKey::ed25519(public.as_bytes()).ok()?;
    let r = (ED25519_BASEPOINT_POINT * nonce + nonce_torsion).compress();
    let hash = Sha512::new().chain_update(r.as_bytes()).chain_update(public.as_bytes()).chain_update(&message);
    let h = Scalar::from_bytes_mod_order_wide(&hash.finalize().into());
    let s = nonce + h * secret;
    let signature = [*r.as_bytes(), s.to_bytes()].concat();
    let case = Case { name, key: Arc::new(key), message, signature };
    Some(Signed { case, public: vec![public.to_bytes().to_vec()] })
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

fn ed25519_cases(random: &mut Random) -> Vec<Signed> {
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
        let mut signed = honest.clone();
        name.clone_into(&mut signed.case.name);
        signed.case.signature[range].copy_from_slice(bytes);
        cases.push(signed);
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
    let mut unreduced = cases.clone();
    for Signed { case, .. } in &mut unreduced {
        case.name += ", S + L";
        let mut carry = 0;
        for (byte, order) in case.signature[32..].iter_mut().zip(order) {
            let sum = u16::from(*byte) + u16::from(order) + carry;
            (*byte, carry) = (sum.to_le_bytes()[0], sum >> 8);
        }
    }
    cases.extend(unreduced);
    cases
}

/// Variants of `number || s` that are out of range or the other root, and what else a forger tries.
fn ecdsa_variants(curve: &Curve, r: &BigUint, s: &BigUint) -> Vec<(String, BigUint, BigUint)> {
    let n = &curve.n;
    let mut variants = vec![
        (String::new(), r.clone(), s.clone()),
        (", n - s".to_owned(), r.clone(), n - s),
        (", n - r".to_owned(), n - r, s.clone()),
        (", r + n".to_owned(), r + n, s.clone()),
        (", s + n".to_owned(), r.clone(), s + n),
    ];
    for (name, value) in [("0", BigUint::ZERO), ("1", BigUint::from(1u8)), ("n - 1", n - 1u8), ("n", n.clone())] {
        variants.push((format!(", r = {name}"), value.clone(), s.clone()));
        variants.push((format!(", s = {name}"), r.clone(), value.clone()));
        variants.push((format!(", r = s = {name}"), value.clone(), value));
    }
    variants
}

fn ecdsa_cases(scheme: Scheme, random: &mut Random) -> Vec<Signed> {
    let curve = Curve::of(scheme);
    let (n, one) = (&curve.n, BigUint::from(1u8));
    let any = |random: &mut Random| BigUint::from_bytes_be(&random.bytes(curve.len)) % (n - &one) + &one;
    let half = (n + &one) >> 1;
    let edges = [one.clone(), BigUint::from(2u8), n - &one, n - 2u8, half, &one << (n.bits() / 2)];

    let mut cases = Vec::new();
    let mut push = |name: &str, secret: &BigUint, message: &[u8], r: &BigUint, s: &BigUint| {
        let Some((x, y)) = curve.multiply(secret, &curve.base()) else { return };
        let public = [x, y].map(|coordinate| textbook::to_bytes(&coordinate, curve.len).expect("below p")).to_vec();
        let key = Arc::new(prepare(scheme, &public));
        for (variant, r, s) in ecdsa_variants(&curve, r, s) {
            let (Some(r), Some(s)) = (textbook::to_bytes(&r, curve.len), textbook::to_bytes(&s, curve.len)) else {
                continue;
            };
            let case = Case {
                name: format!("{name}{variant}"),
                key: Arc::clone(&key),
                message: message.to_vec(),
                signature: [r, s].concat(),
            };
            cases.push(Signed { case, public: public.clone() });
        }
    };
    // Keys and nonces at the edges: Q = G, Q = -G, R' = G, R' = Q.
    for round in 0..8 {
        let secret = if round % 2 == 0 { random.pick(&edges).clone() } else { any(random) };
        let nonce = match round % 4 {
            0 => random.pick(&edges).clone(),
            1 => secret.clone(),
            _ => any(random),
        };
        let message = message(random);
        if let Some((r, s)) = curve.sign(&secret, &nonce, &message) {
            push(&format!("secret {secret:x}, nonce {nonce:x}"), &secret, &message, &r, &s);
        }
    }
    // A signer can make the two products meet: u1·G = u2·Q, a doubling where an addition is expected, with r = x(2t·G)
    // and the secret e / r; or u1·G = -u2·Q, the point at infinity, with the secret -e / r and any s.
    for _ in 0..3 {
        let message = message(random);
        let (e, t) = (curve.hash(&message) % n, any(random));
        let nonce = &t * 2u8 % n;
        let r = curve.multiply(&nonce, &curve.base()).expect("t is not zero").0 % n;
        let secret = &e * curve.inverse(&r) % n;
        let (r, s) = curve.sign(&secret, &nonce, &message).expect("s = e / t is not zero");
        push("u1·G = u2·Q", &secret, &message, &r, &s);
        push("u1·G = -u2·Q", &(n - secret), &message, &r, &any(random));
    }
    cases
}

fn prepare(scheme: Scheme, public: &[Vec<u8>]) -> PreparedKey {
    let (x, y) = (&public[0], &public[1]);
    let key = match scheme {
        Scheme::EcdsaP256Sha256 => PreparedKey::ecdsa_p256(x, y),
        Scheme::EcdsaP384Sha384 => PreparedKey::ecdsa_p384(x, y),
        Scheme::EcdsaP521Sha512 => PreparedKey::ecdsa_p521(x, y),
        _ => PreparedKey::ecdsa_secp256k1(x, y),
    };
    key.unwrap()
}

/// Keys and salts come from the library and not from the seed; the names carry the modulus.
fn rsa_cases(scheme: Scheme, random: &mut Random) -> Vec<Signed> {
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
    for pair in pairs {
        let (modulus, exponent) = public_parts(pair.public_key().as_ref());
        let key = Arc::new(PreparedKey::rsa(&modulus, &exponent).unwrap());
        let n = BigUint::from_bytes_be(&modulus);
        let bytes = |number: BigUint| textbook::to_bytes(&number, modulus.len());
        for (signed_as, encoding) in all {
            let message = message(random);
            let mut signature = vec![0; pair.public_modulus_len()];
            pair.sign(encoding, &SystemRandom::new(), &message, &mut signature).unwrap();
            let mut push = |what: &str, signature: Vec<u8>| {
                let name = format!("n = {n:x}, signed as {signed_as}{what}");
                let case = Case { name, key: Arc::clone(&key), message: message.clone(), signature };
                cases.push(Signed { case, public: vec![modulus.clone(), exponent.clone()] });
            };
            push("", signature.clone());
            if signed_as == scheme {
                let s = BigUint::from_bytes_be(&signature);
                for (name, number) in [
                    (", n - s", &n - &s),
                    (", s = 1", BigUint::from(1u8)),
                    (", s = n - 1", &n - 1u8),
                    (", s = n", n.clone()),
                    (", s + n", &n + &s),
                ] {
                    if let Some(signature) = bytes(number) {
                        push(name, signature);
                    }
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

fn hmac_cases(scheme: Scheme, random: &mut Random) -> Vec<Signed> {
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
            let case = Case { name, key: Arc::clone(&key), message, signature };
            cases.push(Signed { case, public: vec![secret.clone()] });
        }
    }
    cases
}
