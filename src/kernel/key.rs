//! Prepared keys: decoded, checked once, in the form kernels read. Per-key tables of faster backends live inside the
//! family's own type.

use super::{Scheme, Tier, ecdsa_p256, ecdsa_p384, ecdsa_p521, ecdsa_secp256k1, ed25519, hmac, rsa};

/// A key ready to verify with. Immutable to its users; shared as `Arc<PreparedKey>`.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "keys are few, live long and are shared behind an `Arc`")]
pub enum PreparedKey {
    /// Ed25519 public key: canonical, on the curve, not of small order.
    Ed25519(ed25519::PublicKey),
    /// P-256 public key.
    EcdsaP256(ecdsa_p256::PublicKey),
    /// P-384 public key.
    EcdsaP384(ecdsa_p384::PublicKey),
    /// P-521 public key.
    EcdsaP521(ecdsa_p521::PublicKey),
    /// secp256k1 public key.
    EcdsaSecp256k1(ecdsa_secp256k1::PublicKey),
    /// RSA public key of 2048 to 8192 bits; serves all six RSA schemes.
    Rsa(rsa::PublicKey),
    /// HMAC secret; serves the HMAC schemes whose hash is not longer than it.
    Hmac(hmac::SecretKey),
}

/// Why bytes are not a key we verify with. Decided at load, never per token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// A coordinate or encoded key has the wrong length.
    #[error("wrong length: {got} bytes, expected {expected}")]
    Length {
        /// Bytes given.
        got: usize,
        /// Bytes required.
        expected: usize,
    },
    /// The encoding is not the canonical one (y >= p, x >= p).
    #[error("not the canonical encoding of a point")]
    NonCanonical,
    /// The point is not on the curve, or is the point at infinity.
    #[error("the point is not on the curve")]
    NotOnCurve,
    /// Ed25519 point of small order: anyone can sign for it.
    #[error("the point has small order, anyone could forge signatures for it")]
    SmallOrder,
    /// RSA modulus outside 2048 to 8192 bits.
    #[error("RSA modulus of {bits} bits; accepted are 2048 to 8192")]
    ModulusSize {
        /// Bits of the modulus.
        bits: usize,
    },
    /// RSA modulus is even.
    #[error("the RSA modulus is even")]
    ModulusEven,
    /// RSA public exponent is even, below 3 or above 33 bits.
    #[error("the RSA public exponent must be odd, at least 3 and at most 33 bits long")]
    Exponent,
    /// HMAC secret shorter than the hash (RFC 7518 section 3.2).
    #[error("HMAC secret of {got} bytes; {scheme} needs at least {expected}")]
    SecretTooShort {
        /// Bytes given.
        got: usize,
        /// Bytes required.
        expected: usize,
        /// For which scheme.
        scheme: Scheme,
    },
    /// The backend library refused the key.
    #[error("the key is not usable")]
    Rejected,
}

impl PreparedKey {
    /// Ed25519 key from its 32-byte encoding (RFC 8032 section 5.1.5).
    ///
    /// # Errors
    /// Wrong length, non-canonical, off the curve or of small order.
    pub fn ed25519(encoded: &[u8]) -> Result<Self, KeyError> {
        ed25519::PublicKey::new(encoded).map(Self::Ed25519)
    }

    /// P-256 key from its big-endian affine coordinates of 32 bytes each.
    ///
    /// # Errors
    /// Wrong length, coordinate not below p, off the curve.
    pub fn ecdsa_p256(x: &[u8], y: &[u8]) -> Result<Self, KeyError> {
        ecdsa_p256::PublicKey::new(x, y).map(Self::EcdsaP256)
    }

    /// P-384 key from its big-endian affine coordinates of 48 bytes each.
    ///
    /// # Errors
    /// As [`PreparedKey::ecdsa_p256`].
    pub fn ecdsa_p384(x: &[u8], y: &[u8]) -> Result<Self, KeyError> {
        ecdsa_p384::PublicKey::new(x, y).map(Self::EcdsaP384)
    }

    /// P-521 key from its big-endian affine coordinates of 66 bytes each.
    ///
    /// # Errors
    /// As [`PreparedKey::ecdsa_p256`].
    pub fn ecdsa_p521(x: &[u8], y: &[u8]) -> Result<Self, KeyError> {
        ecdsa_p521::PublicKey::new(x, y).map(Self::EcdsaP521)
    }

    /// secp256k1 key from its big-endian affine coordinates of 32 bytes each.
    ///
    /// # Errors
    /// As [`PreparedKey::ecdsa_p256`].
    pub fn ecdsa_secp256k1(x: &[u8], y: &[u8]) -> Result<Self, KeyError> {
        ecdsa_secp256k1::PublicKey::new(x, y).map(Self::EcdsaSecp256k1)
    }

    /// RSA key from big-endian modulus and exponent. Leading zero bytes of either are ignored.
    ///
    /// # Errors
    /// Modulus of the wrong size or even; exponent even, below 3 or longer than 33 bits.
    pub fn rsa(modulus: &[u8], exponent: &[u8]) -> Result<Self, KeyError> {
        rsa::PublicKey::new(modulus, exponent).map(Self::Rsa)
    }

    /// HMAC secret of at least 32 bytes. [`PreparedKey::supports`] tells which hashes it is long enough for.
    ///
    /// # Errors
    /// Shorter than 32 bytes, the shortest any HMAC scheme accepts.
    pub fn hmac(secret: &[u8]) -> Result<Self, KeyError> {
        hmac::SecretKey::new(secret).map(Self::Hmac)
    }

    /// Whether this key may be used with `scheme`: same family, and long enough.
    #[must_use]
    pub fn supports(&self, scheme: Scheme) -> bool {
        match (self, scheme) {
            (Self::Ed25519(_), Scheme::Ed25519)
            | (Self::EcdsaP256(_), Scheme::EcdsaP256Sha256)
            | (Self::EcdsaP384(_), Scheme::EcdsaP384Sha384)
            | (Self::EcdsaP521(_), Scheme::EcdsaP521Sha512)
            | (Self::EcdsaSecp256k1(_), Scheme::EcdsaSecp256k1Sha256) => true,
            (
                Self::Rsa(_),
                Scheme::RsaPkcs1Sha256
                | Scheme::RsaPkcs1Sha384
                | Scheme::RsaPkcs1Sha512
                | Scheme::RsaPssSha256
                | Scheme::RsaPssSha384
                | Scheme::RsaPssSha512,
            ) => true,
            (Self::Hmac(secret), Scheme::HmacSha256 | Scheme::HmacSha384 | Scheme::HmacSha512) => {
                secret.supports(scheme)
            }
            _ => false,
        }
    }

    /// How much of this key's arithmetic is done ahead; `None` if no kernel that this CPU runs keeps tables for it. A key
    /// starts as [`Tier::Bare`].
    #[must_use]
    pub fn tier(&self) -> Option<Tier> {
        match self {
            Self::Ed25519(key) => key.tier(),
            _ => None,
        }
    }

    /// Builds the table of that tier, which takes up to some milliseconds, and puts it in place of the current one.
    /// Verification goes on meanwhile, on any thread. Nothing happens if the key has no tiers, or this one already.
    pub fn set_tier(&self, tier: Tier) {
        if let Self::Ed25519(key) = self {
            key.set_tier(tier);
        }
    }

    /// Memory of the table of that tier, in bytes, for a key like this one.
    #[must_use]
    pub fn tier_bytes(&self, tier: Tier) -> usize {
        match self {
            Self::Ed25519(_) => ed25519::PublicKey::tier_bytes(tier),
            _ => 0,
        }
    }

    /// Whether both are the same key, for keys with tables; others say no. A key set that is loaded again keeps the
    /// tables of the keys that stay.
    #[must_use]
    pub fn is_same_with_tables(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Ed25519(one), Self::Ed25519(two)) if one.is_same(two))
    }

    /// Signatures that kernels in lanes checked with this key so far. Only keys with tiers count.
    #[must_use]
    pub fn uses(&self) -> u64 {
        match self {
            Self::Ed25519(key) => key.uses(),
            _ => 0,
        }
    }

    /// Exact length in bytes of a signature by this key under `scheme`; `None` if the key does not support it.
    #[must_use]
    pub fn signature_len(&self, scheme: Scheme) -> Option<usize> {
        if !self.supports(scheme) {
            return None;
        }
        Some(match self {
            Self::Ed25519(_) | Self::EcdsaP256(_) | Self::EcdsaSecp256k1(_) => 64,
            Self::EcdsaP384(_) => 96,
            Self::EcdsaP521(_) => 132,
            Self::Rsa(key) => key.modulus_len(),
            Self::Hmac(_) => hmac::tag_len(scheme),
        })
    }
}
