//! The closed list of cryptographic checks.

/// One exact cryptographic check. JOSE names map onto schemes in [`crate::jose::Algorithm`]; `EdDSA` and `Ed25519`
/// are two names of one scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Scheme {
    /// Ed25519, RFC 8032, with the acceptance rule of [`crate::kernel::ed25519`].
    Ed25519,
    /// ECDSA on P-256 with SHA-256, r || s of 64 bytes.
    EcdsaP256Sha256,
    /// ECDSA on P-384 with SHA-384, r || s of 96 bytes.
    EcdsaP384Sha384,
    /// ECDSA on P-521 with SHA-512, r || s of 132 bytes.
    EcdsaP521Sha512,
    /// ECDSA on secp256k1 with SHA-256, r || s of 64 bytes (RFC 8812). No low-s rule.
    EcdsaSecp256k1Sha256,
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    RsaPkcs1Sha256,
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    RsaPkcs1Sha384,
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    RsaPkcs1Sha512,
    /// RSASSA-PSS with SHA-256, MGF1 with SHA-256, salt of 32 bytes.
    RsaPssSha256,
    /// RSASSA-PSS with SHA-384, MGF1 with SHA-384, salt of 48 bytes.
    RsaPssSha384,
    /// RSASSA-PSS with SHA-512, MGF1 with SHA-512, salt of 64 bytes.
    RsaPssSha512,
    /// HMAC with SHA-256, whole tag of 32 bytes.
    HmacSha256,
    /// HMAC with SHA-384, whole tag of 48 bytes.
    HmacSha384,
    /// HMAC with SHA-512, whole tag of 64 bytes.
    HmacSha512,
}

impl Scheme {
    /// Every scheme, in declaration order; `Scheme::ALL[s.index()] == s`.
    pub const ALL: [Self; 14] = [
        Self::Ed25519,
        Self::EcdsaP256Sha256,
        Self::EcdsaP384Sha384,
        Self::EcdsaP521Sha512,
        Self::EcdsaSecp256k1Sha256,
        Self::RsaPkcs1Sha256,
        Self::RsaPkcs1Sha384,
        Self::RsaPkcs1Sha512,
        Self::RsaPssSha256,
        Self::RsaPssSha384,
        Self::RsaPssSha512,
        Self::HmacSha256,
        Self::HmacSha384,
        Self::HmacSha512,
    ];

    /// How many schemes there are.
    pub const COUNT: usize = Self::ALL.len();

    /// Position in [`Scheme::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Stable lower-case name: first half of kernel names, value of metric labels and of `engine.kernels` in the
    /// configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ed25519 => "ed25519",
            Self::EcdsaP256Sha256 => "ecdsa_p256_sha256",
            Self::EcdsaP384Sha384 => "ecdsa_p384_sha384",
            Self::EcdsaP521Sha512 => "ecdsa_p521_sha512",
            Self::EcdsaSecp256k1Sha256 => "ecdsa_secp256k1_sha256",
            Self::RsaPkcs1Sha256 => "rsa_pkcs1_sha256",
            Self::RsaPkcs1Sha384 => "rsa_pkcs1_sha384",
            Self::RsaPkcs1Sha512 => "rsa_pkcs1_sha512",
            Self::RsaPssSha256 => "rsa_pss_sha256",
            Self::RsaPssSha384 => "rsa_pss_sha384",
            Self::RsaPssSha512 => "rsa_pss_sha512",
            Self::HmacSha256 => "hmac_sha256",
            Self::HmacSha384 => "hmac_sha384",
            Self::HmacSha512 => "hmac_sha512",
        }
    }

    /// The scheme of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name)
    }
}

impl std::fmt::Display for Scheme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
