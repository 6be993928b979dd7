//! Ed25519 (RFC 8032, pure, no context). Owns what a usable key is and the acceptance rule that every backend follows.
//!
//! # Keys, checked once when loaded
//! 1. Exactly 32 bytes.
//! 2. Canonical: `y < p`, and no sign bit on the two points with `x = 0`. RFC 8032 section 5.1.3 refuses both.
//! 3. On the curve.
//! 4. Not of small order: for the eight points of order 1, 2, 4 and 8 anyone can make signatures.
//!
//! Points of mixed order (a prime-order part plus a small-order part) load. They are an issuer's own odd choice, harm
//! nobody else, and every library named below takes them.
//!
//! # Signatures
//! Accepted iff the signature has 64 bytes `R || S`, `S < L`, and with `h = SHA-512(R || A || M) mod L` over the bytes
//! as received the *encoding* of `S·B - h·A` equals `R` byte for byte. The equation is the cofactorless one. A
//! non-canonical `R` therefore never matches, and `R` is never decompressed.
//!
//! For every key that loads this is the answer of OpenSSL, BoringSSL, Go, ring and `ed25519-dalek`'s `verify`. What
//! `verify_strict` adds is refusing a small-order `R`, which only the holder of the private key can produce.
//!
//! Every signature gets its own exact equation. The randomised batch equation is deliberately absent: it answers for
//! the batch and not for the token, and differs from the single answer on mixed-order points.

#[cfg(target_arch = "x86_64")]
mod avx512_ifma;
mod portable;

use std::sync::{LazyLock, OnceLock};

use curve25519_dalek::constants::EIGHT_TORSION;
use ed25519_dalek::VerifyingKey;

use super::{Entry, KeyError, Scheme, Tier};

/// Bytes of an encoded key.
const KEY_LEN: usize = 32;

/// `p = 2^255 - 19`, little-endian (RFC 7748 section 4.1).
const P: [u8; KEY_LEN] = {
    let mut p = [0xff; KEY_LEN];
    p[0] = 0xed;
    p[KEY_LEN - 1] = 0x7f;
    p
};

/// The encoding of the neutral element, `y = 1`.
const IDENTITY: [u8; KEY_LEN] = {
    let mut y = [0; KEY_LEN];
    y[0] = 1;
    y
};

/// The encoding of the point of order 2, `y = p - 1`.
const MINUS_ONE: [u8; KEY_LEN] = {
    let mut y = P;
    y[0] -= 1;
    y
};

/// A checked Ed25519 public key.
pub struct PublicKey {
    encoded: [u8; KEY_LEN],
    /// For the portable kernel.
    portable: OnceLock<Option<VerifyingKey>>,
    /// For kernels in lanes.
    #[cfg(target_arch = "x86_64")]
    lanes: avx512_ifma::LaneKey,
}

impl PublicKey {
    pub(super) fn new(encoded: &[u8]) -> Result<Self, KeyError> {
        let encoded: &[u8; KEY_LEN] =
            encoded.try_into().map_err(|_| KeyError::Length { got: encoded.len(), expected: KEY_LEN })?;
        check_form(encoded)?;
        let point = VerifyingKey::from_bytes(encoded).map_err(|_| KeyError::NotOnCurve)?;
        Ok(Self {
            encoded: *encoded,
            portable: OnceLock::from(Some(point)),
            #[cfg(target_arch = "x86_64")]
            lanes: avx512_ifma::LaneKey::default(),
        })
    }

    /// The key as `ed25519-dalek` has it. `None` only if it is no point, which no key is that loaded.
    fn verifying_key(&self) -> Option<&VerifyingKey> {
        self.portable.get_or_init(|| VerifyingKey::from_bytes(&self.encoded).ok()).as_ref()
    }

    /// See [`super::PreparedKey::is_same_with_tables`].
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.encoded == other.encoded
    }

    /// See [`super::PreparedKey::tier`].
    pub(super) fn tier(&self) -> Option<Tier> {
        #[cfg(target_arch = "x86_64")]
        return self.lanes.tier();
        #[cfg(not(target_arch = "x86_64"))]
        None
    }

    /// See [`super::PreparedKey::set_tier`].
    pub(super) fn set_tier(&self, tier: Tier) {
        #[cfg(target_arch = "x86_64")]
        self.lanes.set_tier(&self.encoded, tier);
        #[cfg(not(target_arch = "x86_64"))]
        let _ = tier;
    }

    /// See [`super::PreparedKey::tier_bytes`].
    pub(super) fn tier_bytes(tier: Tier) -> usize {
        #[cfg(target_arch = "x86_64")]
        return avx512_ifma::LaneKey::bytes(tier);
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = tier;
            0
        }
    }

    /// See [`super::PreparedKey::uses`].
    pub(super) fn uses(&self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        return self.lanes.uses();
        #[cfg(not(target_arch = "x86_64"))]
        0
    }
}

/// What can be said of an encoding without looking for its point: it is canonical, and none of the eight points of
/// small order, each of which has one canonical encoding.
fn check_form(encoded: &[u8; KEY_LEN]) -> Result<(), KeyError> {
    static SMALL_ORDER: LazyLock<[[u8; KEY_LEN]; 8]> =
        LazyLock::new(|| EIGHT_TORSION.map(|point| point.compress().to_bytes()));
    let mut unsigned = *encoded;
    unsigned[KEY_LEN - 1] &= 0x7f;
    // y = 1 and y = -1 have x = 0, which has no sign.
    let x_is_zero = unsigned == IDENTITY || unsigned == MINUS_ONE;
    if !y_below_p(&unsigned) || x_is_zero && unsigned != *encoded {
        return Err(KeyError::NonCanonical);
    }
    if SMALL_ORDER.contains(encoded) { Err(KeyError::SmallOrder) } else { Ok(()) }
}

impl std::fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ed25519::PublicKey").finish_non_exhaustive()
    }
}

/// Whether y, the encoding without its sign bit, is reduced.
fn y_below_p(y: &[u8; KEY_LEN]) -> bool {
    y.iter().rev().lt(P.iter().rev())
}

/// Best first.
pub const ENTRIES: &[Entry] = &[
    #[cfg(target_arch = "x86_64")]
    Entry {
        scheme: Scheme::Ed25519,
        backend: "avx512_ifma",
        needs: avx512_ifma::NEEDS,
        open: avx512_ifma::Avx512Ifma::open,
    },
    Entry { scheme: Scheme::Ed25519, backend: "portable", needs: "", open: || Some(&portable::Portable) },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Little-endian `p + offset`, with the sign bit as given.
    fn encoding(base: [u8; 32], offset: i8, sign: bool) -> [u8; 32] {
        let mut bytes = base;
        bytes[0] = bytes[0].wrapping_add_signed(offset);
        bytes[31] |= u8::from(sign) << 7;
        bytes
    }

    #[test]
    fn keys_are_refused_with_the_reason() {
        let one = encoding([0; 32], 1, false);
        let cases: [(&str, Vec<u8>, KeyError); 12] = [
            ("empty", vec![], KeyError::Length { got: 0, expected: 32 }),
            ("one byte short", vec![1; 31], KeyError::Length { got: 31, expected: 32 }),
            ("one byte long", vec![1; 33], KeyError::Length { got: 33, expected: 32 }),
            ("y = p, which is 0 again", P.to_vec(), KeyError::NonCanonical),
            ("y = p + 1, the identity again", encoding(P, 1, false).to_vec(), KeyError::NonCanonical),
            ("y = 2^255 - 1 with sign", vec![0xff; 32], KeyError::NonCanonical),
            ("identity", one.to_vec(), KeyError::SmallOrder),
            ("identity with sign", encoding(one, 0, true).to_vec(), KeyError::NonCanonical),
            ("order 2, y = p - 1", encoding(P, -1, false).to_vec(), KeyError::SmallOrder),
            ("order 2 with sign", encoding(P, -1, true).to_vec(), KeyError::NonCanonical),
            ("order 4, y = 0", vec![0; 32], KeyError::SmallOrder),
            ("y = 2 has no x", encoding([0; 32], 2, false).to_vec(), KeyError::NotOnCurve),
        ];
        for (name, bytes, want) in cases {
            assert_eq!(PublicKey::new(&bytes).err(), Some(want), "{name}");
        }
    }

    #[test]
    fn every_point_of_small_order_is_refused() {
        for point in curve25519_dalek::constants::EIGHT_TORSION {
            assert_eq!(PublicKey::new(point.compress().as_bytes()).err(), Some(KeyError::SmallOrder));
        }
    }

    #[test]
    fn the_base_point_loads() {
        let base = curve25519_dalek::constants::ED25519_BASEPOINT_COMPRESSED;
        assert!(PublicKey::new(base.as_bytes()).is_ok());
    }
}
