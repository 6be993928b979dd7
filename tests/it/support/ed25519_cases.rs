//! Ed25519 checks in any number: honest, forged, and built to be awkward, with the answer of the oracle, which is the
//! check of the key followed by `ed25519-dalek`'s `verify`. Used by the tests and by `examples/ed25519_differential.rs`.

use std::sync::Arc;

use curve25519_dalek::constants::EIGHT_TORSION;
use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::Scalar;
use ed25519_dalek::{Signature, Verifier, VerifyingKey};
use sha2::{Digest, Sha512};
use verilane::kernel::{Job, PreparedKey, Tier};

use super::random::Random;

/// A key whose maker is known.
#[derive(Clone)]
pub struct Key {
    pub prepared: Arc<PreparedKey>,
    oracle: VerifyingKey,
    scalar: Scalar,
}

/// One check and its answer.
#[derive(Clone)]
pub struct Check {
    pub key: Key,
    pub message: Vec<u8>,
    pub signature: Vec<u8>,
    pub good: bool,
    /// What it is, for a failing test.
    pub kind: &'static str,
}

impl Check {
    fn new(kind: &'static str, key: &Key, message: Vec<u8>, signature: Vec<u8>) -> Self {
        let good =
            Signature::from_slice(&signature).is_ok_and(|signature| key.oracle.verify(&message, &signature).is_ok());
        Self { key: key.clone(), message, signature, good, kind }
    }

    pub fn job(&self) -> Job<'_> {
        Job { key: &self.key.prepared, message: &self.message, signature: &self.signature }
    }

    /// Everything needed to run it again.
    pub fn describe(&self) -> String {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        format!(
            "{}: key {} ({:?}), message {}, signature {}, expected {}",
            self.kind,
            hex(self.key.oracle.as_bytes()),
            self.key.prepared.tier(),
            hex(&self.message),
            hex(&self.signature),
            self.good
        )
    }
}

/// Order `L` as four little-endian words.
const ORDER: [u64; 4] = [0x5812_631a_5cf5_d3ed, 0x14de_f9de_a2f7_9cd6, 0, 0x1000_0000_0000_0000];

/// `count` keys: most as they should be, some of mixed order, some with a scalar at an edge.
pub fn keys(count: usize, tiers: &[Tier], random: &mut Random) -> Vec<Key> {
    let mut keys = Vec::new();
    while keys.len() < count {
        let scalar = match random.below(8) {
            0 => edge_scalar(random),
            _ => random_scalar(random),
        };
        let torsion = if random.below(4) == 0 { EIGHT_TORSION[random.below(8)] } else { EdwardsPoint::default() };
        let encoded = (EdwardsPoint::mul_base(&scalar) + torsion).compress().to_bytes();
        // Zero times B is of small order: no key.
        let Ok(prepared) = PreparedKey::ed25519(&encoded) else { continue };
        prepared.set_tier(*random.pick(tiers));
        let oracle = VerifyingKey::from_bytes(&encoded).expect("it loaded");
        keys.push(Key { prepared: Arc::new(prepared), oracle, scalar });
    }
    keys
}

/// Some dozen checks around one signature by `key`.
pub fn checks(key: &Key, others: &[Key], random: &mut Random) -> Vec<Check> {
    let message = message(random);
    let (r, kind) = match random.below(4) {
        0 => (edge_scalar(random), "edge nonce"),
        1 => (Scalar::ZERO, "R of small order"),
        _ => (random_scalar(random), "random nonce"),
    };
    // R with a part of small order is a signer's own choice; the answer then depends on the key's part and on h.
    let torsion = if random.below(2) == 0 { EIGHT_TORSION[random.below(8)] } else { EdwardsPoint::default() };
    let mut commitment = (EdwardsPoint::mul_base(&r) + torsion).compress().to_bytes();
    let mut kind = kind;
    if random.below(4) == 0
        && let Some(other) = another_encoding(&commitment, random)
    {
        (commitment, kind) = (other, "non-canonical R");
    }
    let honest = signed(key, &message, &commitment, r);
    let len = message.len();

    let mut all = vec![Check::new(kind, key, message.clone(), honest.clone())];
    // And one as signers make it, so that enough are good.
    let nonce = random_scalar(random);
    let plain = signed(key, &message, EdwardsPoint::mul_base(&nonce).compress().as_bytes(), nonce);
    all.push(Check::new("honest", key, message.clone(), plain));
    let mut add = |kind: &'static str, message: Vec<u8>, signature: Vec<u8>| {
        all.push(Check::new(kind, key, message, signature));
    };
    let changed = |change: &mut dyn FnMut(&mut Vec<u8>)| {
        let mut signature = honest.clone();
        change(&mut signature);
        signature
    };
    let bit = random.below(512);
    add("bit of the signature", message.clone(), changed(&mut |signature| signature[bit / 8] ^= 1 << (bit % 8)));
    add("sign of R", message.clone(), changed(&mut |signature| signature[31] ^= 0x80));
    for multiple in [1, 1 + random.below(14) as u64] {
        add(
            "S plus a multiple of L",
            message.clone(),
            changed(&mut |signature| add_order(&mut signature[32..], multiple)),
        );
    }
    let edge = edge_bytes(random);
    add("edge S", message.clone(), changed(&mut |signature| signature[32..].copy_from_slice(&edge)));
    let edge = edge_bytes(random);
    add("edge R", message.clone(), changed(&mut |signature| signature[..32].copy_from_slice(&edge)));
    let small = EIGHT_TORSION[random.below(8)].compress().to_bytes();
    add("small R, S = 0", message.clone(), [small, [0; 32]].concat());
    if len > 0 {
        let bit = random.below(len * 8);
        let mut other = message.clone();
        other[bit / 8] ^= 1 << (bit % 8);
        add("bit of the message", other, honest.clone());
        add("end of the message cut", message[..len - 1].to_vec(), honest.clone());
    }
    add("byte behind the message", [message.clone(), vec![0]].concat(), honest.clone());
    add("length of the signature", message.clone(), changed(&mut |signature| signature.truncate(bit % 64)));
    add("a byte behind the signature", message.clone(), [honest.clone(), vec![0]].concat());
    all.push(Check::new("another key", &others[random.below(others.len())], message, honest));
    all
}

/// `R || r + h a` with `h` over the bytes as they are.
fn signed(key: &Key, message: &[u8], commitment: &[u8; 32], r: Scalar) -> Vec<u8> {
    let hash = Sha512::new().chain_update(commitment).chain_update(key.oracle.as_bytes()).chain_update(message);
    let h = Scalar::from_bytes_mod_order_wide(&hash.finalize().into());
    [commitment.as_slice(), (r + h * key.scalar).as_bytes()].concat()
}

/// Lengths around the edges of hash blocks more often than others; now and then a long one.
fn message(random: &mut Random) -> Vec<u8> {
    let len = match random.below(16) {
        0 => 0,
        1..6 => {
            let edge =
                *random.pick(&[47, 48, 63, 64, 127, 128, 175, 176, 191, 192, 255, 256, 303, 304, 319, 320, 400, 431]);
            edge + random.below(3) - 1
        }
        6 => 1000 + random.below(3500),
        _ => random.below(600),
    };
    random.bytes(len)
}

fn random_scalar(random: &mut Random) -> Scalar {
    Scalar::from_bytes_mod_order(random.bytes(32).try_into().expect("32 bytes"))
}

/// Scalars near 0, near L, near powers of two, and with digits at their extremes.
fn edge_scalar(random: &mut Random) -> Scalar {
    let small = Scalar::from(random.below(20) as u64);
    match random.below(4) {
        0 => small,
        1 => -small,
        2 => Scalar::from(2u8).invert() + small,
        _ => Scalar::from_bytes_mod_order(edge_bytes(random)),
    }
}

/// 32 bytes that are little-endian numbers at an edge: around 0, L and its multiples, p, powers of two, or patterns.
fn edge_bytes(random: &mut Random) -> [u8; 32] {
    let mut words = match random.below(6) {
        0 => [0; 4],
        1 => ORDER,
        2 => [u64::MAX - 18, u64::MAX, u64::MAX, u64::MAX >> 1],
        3 => {
            let bit = random.below(256);
            std::array::from_fn(|i| if i == bit / 64 { 1 << (bit % 64) } else { 0 })
        }
        4 => {
            let pattern =
                *random.pick(&[u64::MAX, 0x8080_8080_8080_8080, 0x7f7f_7f7f_7f7f_7f7f, 0x5555_5555_5555_5555]);
            [pattern; 4]
        }
        _ => std::array::from_fn(|_| if random.below(2) == 0 { u64::MAX } else { 0 }),
    };
    // A little more or less, carried through.
    let offset = random.below(5) as i128 - 2;
    let mut carry = offset;
    for word in &mut words {
        let sum = i128::from(*word) + carry;
        *word = sum as u64;
        carry = sum >> 64;
    }
    let mut bytes = [0; 32];
    for (bytes, word) in bytes.chunks_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// Adds `multiple` times L to a little-endian number, mod 2^256.
fn add_order(bytes: &mut [u8], multiple: u64) {
    let mut carry = 0u128;
    for (bytes, order) in bytes.chunks_mut(8).zip(ORDER) {
        let word = u64::from_le_bytes((&*bytes).try_into().expect("eight bytes"));
        let sum = u128::from(word) + u128::from(order) * u128::from(multiple) + carry;
        bytes.copy_from_slice(&(sum as u64).to_le_bytes());
        carry = sum >> 64;
    }
}

/// Another encoding of the same point, if there is one: `y + p` for small `y`, or the other sign on `x = 0`.
fn another_encoding(encoded: &[u8; 32], random: &mut Random) -> Option<[u8; 32]> {
    let mut other = *encoded;
    let sign = encoded[31] & 0x80;
    let y_below_19 = encoded[0] < 19 && encoded[1..31].iter().all(|byte| *byte == 0) && encoded[31] & 0x7f == 0;
    if y_below_19 && random.below(2) == 0 {
        other = [0xff; 32];
        other[0] = encoded[0] + 0xed;
        other[31] = 0x7f | sign;
        return Some(other);
    }
    let x_is_zero = encoded[1..31].iter().all(|byte| *byte == 0) && encoded[0] == 1
        || encoded[1..31].iter().all(|byte| *byte == 0xff) && encoded[0] == 0xec;
    other[31] ^= 0x80;
    x_is_zero.then_some(other)
}
