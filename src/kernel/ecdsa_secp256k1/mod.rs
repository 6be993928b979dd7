//! ECDSA on secp256k1 with SHA-256 (JWA `ES256K`). Owns the curve's constants, the key type and the list of backends; what is
//! accepted stands in `kernel::ecdsa`, which the four ECDSA families share.
//!
//! Key: two coordinates of exactly 32 bytes, each below p, on the curve. Signature: `r || s` of exactly 64 bytes.

mod portable;

use super::ecdsa::{Curve, Point};
use super::{Entry, KeyError, Scheme};

/// p = 2^256 - 2^32 - 977 (SEC 2 section 2.4.1).
const CURVE: Curve = Curve {
    p: &[
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xfc, 0x2f,
    ],
    verification: &aws_lc_rs::signature::ECDSA_P256K1_SHA256_FIXED,
};

/// A checked secp256k1 public key.
pub struct PublicKey {
    point: Point,
}

impl PublicKey {
    pub(super) fn new(x: &[u8], y: &[u8]) -> Result<Self, KeyError> {
        Point::new(&CURVE, x, y).map(|point| Self { point })
    }
}

impl std::fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ecdsa_secp256k1::PublicKey").finish_non_exhaustive()
    }
}

/// Best first.
pub const ENTRIES: &[Entry] = &[Entry {
    scheme: Scheme::EcdsaSecp256k1Sha256,
    backend: "portable",
    needs: "",
    open: || Some(&portable::Portable),
}];
