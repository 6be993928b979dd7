//! What the four ECDSA families share: the key check and the call into `aws-lc-rs`. Each family's `mod.rs` owns its
//! curve, its key type and its entries.
//!
//! A signature is accepted iff it has exactly twice the coordinate length, `1 <= r, s < n`, and `x(u1·G + u2·Q) mod n
//! = r` with the leftmost bits of the hash (FIPS 186-5 section 6.4.2). `n - s` is as good as `s`: JWA has no low-s rule
//! (RFC 7518 section 3.4, RFC 8812 section 3.2).

use aws_lc_rs::signature::{EcdsaVerificationAlgorithm, ParsedPublicKey};

use super::{Job, KeyError};

/// The longest uncompressed point: one byte of form, two coordinates of P-521.
const POINT_MAX: usize = 1 + 2 * 66;

/// What the key check and the library need to know of a curve.
pub(super) struct Curve {
    /// The prime, big-endian; its length is the length of a coordinate.
    pub(super) p: &'static [u8],
    /// Curve, hash and the fixed-length signature form.
    pub(super) verification: &'static EcdsaVerificationAlgorithm,
}

/// A checked point in the library's own form.
pub(super) struct Point(ParsedPublicKey);

impl Point {
    /// The point with these big-endian affine coordinates (RFC 7518 section 6.2.1: full length, zeros kept).
    pub(super) fn new(curve: &Curve, x: &[u8], y: &[u8]) -> Result<Self, KeyError> {
        let len = curve.p.len();
        for coordinate in [x, y] {
            if coordinate.len() != len {
                return Err(KeyError::Length { got: coordinate.len(), expected: len });
            }
            // Equal lengths, big-endian: comparing bytes compares numbers.
            if coordinate >= curve.p {
                return Err(KeyError::NonCanonical);
            }
        }
        // SEC 1 section 2.3.3, uncompressed. It cannot carry the point at infinity.
        let mut encoded = [0; POINT_MAX];
        let encoded = &mut encoded[..1 + 2 * len];
        encoded[0] = 4;
        encoded[1..=len].copy_from_slice(x);
        encoded[1 + len..].copy_from_slice(y);
        // Form, length and range are settled, so what the library still refuses is a point off the curve. The cofactor
        // of all four curves is 1: on the curve means in the group.
        ParsedPublicKey::new(curve.verification, &*encoded).map(Self).map_err(|_| KeyError::NotOnCurve)
    }

    /// Whether the job's signature is good under this key. The library checks the length and the ranges of r and s.
    pub(super) fn check_vartime(&self, job: &Job<'_>) -> bool {
        self.0.verify_sig(job.message, job.signature).is_ok()
    }
}
