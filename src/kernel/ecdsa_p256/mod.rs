//! ECDSA on P-256 with SHA-256 (JWA `ES256`). Owns the curve's constants, the key type and the list of backends; what is
//! accepted stands in `kernel::ecdsa`, which the four ECDSA families share.
//!
//! Key: two coordinates of exactly 32 bytes, each below p, on the curve. Signature: `r || s` of exactly 64 bytes.

mod portable;

use super::ecdsa::{Curve, Point};
use super::{Entry, KeyError, Scheme};

/// p = 2^256 - 2^224 + 2^192 + 2^96 - 1 (SP 800-186 section 3.2.1.3).
const CURVE: Curve = Curve {
    p: &[
        0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    ],
    verification: &aws_lc_rs::signature::ECDSA_P256_SHA256_FIXED,
};

/// A checked P-256 public key.
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
        f.debug_struct("ecdsa_p256::PublicKey").finish_non_exhaustive()
    }
}

/// Best first.
pub const ENTRIES: &[Entry] =
    &[Entry { scheme: Scheme::EcdsaP256Sha256, backend: "portable", needs: "", open: || Some(&portable::Portable) }];
