//! ECDSA on P-384 with SHA-384 (JWA `ES384`). Owns the curve's constants, the key type and the list of backends; what is
//! accepted stands in `kernel::ecdsa`, which the four ECDSA families share.
//!
//! Key: two coordinates of exactly 48 bytes, each below p, on the curve. Signature: `r || s` of exactly 96 bytes.

mod portable;

use super::ecdsa::{Curve, Point};
use super::{Entry, KeyError, Scheme};

/// p = 2^384 - 2^128 - 2^96 + 2^32 - 1 (SP 800-186 section 3.2.1.4).
const CURVE: Curve = Curve {
    p: &[
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xff, 0xff,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
    ],
    verification: &aws_lc_rs::signature::ECDSA_P384_SHA384_FIXED,
};

/// A checked P-384 public key.
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
        f.debug_struct("ecdsa_p384::PublicKey").finish_non_exhaustive()
    }
}

/// Best first.
pub const ENTRIES: &[Entry] =
    &[Entry { scheme: Scheme::EcdsaP384Sha384, backend: "portable", needs: "", open: || Some(&portable::Portable) }];
