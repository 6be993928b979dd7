//! JOSE algorithm names (RFC 7518 section 3.1, RFC 8037, RFC 8812, RFC 9864).

use crate::kernel::Scheme;

/// A JWS algorithm we implement. There is no `none`, in any casing: the name does not exist here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// HMAC with SHA-256.
    Hs256,
    /// HMAC with SHA-384.
    Hs384,
    /// HMAC with SHA-512.
    Hs512,
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    Rs384,
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    Rs512,
    /// RSASSA-PSS with SHA-256.
    Ps256,
    /// RSASSA-PSS with SHA-384.
    Ps384,
    /// RSASSA-PSS with SHA-512.
    Ps512,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// ECDSA on P-521 with SHA-512.
    Es512,
    /// ECDSA on secp256k1 with SHA-256.
    Es256k,
    /// EdDSA, polymorphic name of RFC 8037; with us always Ed25519.
    EdDsa,
    /// Ed25519, fully specified name of RFC 9864.
    Ed25519,
}

impl Algorithm {
    /// Every algorithm, in declaration order.
    pub const ALL: [Self; 15] = [
        Self::Hs256,
        Self::Hs384,
        Self::Hs512,
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Es256,
        Self::Es384,
        Self::Es512,
        Self::Es256k,
        Self::EdDsa,
        Self::Ed25519,
    ];

    /// The name as it stands in a header: case-sensitive.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hs256 => "HS256",
            Self::Hs384 => "HS384",
            Self::Hs512 => "HS512",
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Es512 => "ES512",
            Self::Es256k => "ES256K",
            Self::EdDsa => "EdDSA",
            Self::Ed25519 => "Ed25519",
        }
    }

    /// The algorithm of exactly that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// The check a kernel does for it.
    #[must_use]
    pub const fn scheme(self) -> Scheme {
        match self {
            Self::Hs256 => Scheme::HmacSha256,
            Self::Hs384 => Scheme::HmacSha384,
            Self::Hs512 => Scheme::HmacSha512,
            Self::Rs256 => Scheme::RsaPkcs1Sha256,
            Self::Rs384 => Scheme::RsaPkcs1Sha384,
            Self::Rs512 => Scheme::RsaPkcs1Sha512,
            Self::Ps256 => Scheme::RsaPssSha256,
            Self::Ps384 => Scheme::RsaPssSha384,
            Self::Ps512 => Scheme::RsaPssSha512,
            Self::Es256 => Scheme::EcdsaP256Sha256,
            Self::Es384 => Scheme::EcdsaP384Sha384,
            Self::Es512 => Scheme::EcdsaP521Sha512,
            Self::Es256k => Scheme::EcdsaSecp256k1Sha256,
            Self::EdDsa | Self::Ed25519 => Scheme::Ed25519,
        }
    }

    /// Whether the key is a shared secret.
    #[must_use]
    pub const fn is_symmetric(self) -> bool {
        matches!(self, Self::Hs256 | Self::Hs384 | Self::Hs512)
    }
}

impl std::fmt::Display for Algorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
