//! What is verified: fresh keys, random messages, good signatures, and the jobs made of them.

use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hmac;
use aws_lc_rs::rand::{self, SystemRandom};
use aws_lc_rs::rsa::{self, KeySize};
use aws_lc_rs::signature::{self, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, RsaEncoding};

use crate::kernel::{Job, KeyError, PreparedKey, Scheme};

/// What a verifier is given to know a key by.
pub(super) enum PublicKey {
    /// An Ed25519 key in its 32 bytes, or an uncompressed point of a curve of ECDSA.
    Point(Vec<u8>),
    /// An RSA key: its numbers, and the PKCS#1 structure that holds them.
    Rsa { modulus: Vec<u8>, exponent: Vec<u8>, der: Vec<u8> },
    /// The secret both sides share. Fresh for this measurement and never used again.
    Secret(Vec<u8>),
}

/// Keys and signed messages of one scheme. Message `i` is signed by key `i % keys.len()`.
pub(super) struct Material {
    pub(super) scheme: Scheme,
    pub(super) keys: Vec<PublicKey>,
    pub(super) messages: Vec<Vec<u8>>,
    pub(super) signatures: Vec<Vec<u8>>,
}

/// How much material is wanted.
#[derive(Clone, Copy)]
pub(super) struct Amount {
    pub(super) keys: usize,
    pub(super) messages: usize,
    /// Bytes of a message.
    pub(super) message_len: usize,
    /// Bits of an RSA modulus.
    pub(super) rsa_bits: usize,
}

impl Material {
    pub(super) fn new(scheme: Scheme, amount: Amount) -> Result<Self, Unspecified> {
        let signers: Vec<Signer> =
            (0..amount.keys).map(|_| Signer::generate(scheme, amount.rsa_bits)).collect::<Result<_, _>>()?;
        let mut messages = vec![vec![0; amount.message_len]; amount.messages];
        let mut signatures = Vec::with_capacity(messages.len());
        for (index, message) in messages.iter_mut().enumerate() {
            rand::fill(message)?;
            signatures.push(signers[index % signers.len()].sign(scheme, message)?);
        }
        let keys = signers.iter().map(Signer::public).collect::<Result<_, _>>()?;
        Ok(Self { scheme, keys, messages, signatures })
    }

    /// The key of a message.
    pub(super) fn key_of(&self, message: usize) -> usize {
        message % self.keys.len()
    }

    /// A key in the form kernels read, made anew.
    pub(super) fn prepare(&self, key: usize) -> Result<PreparedKey, KeyError> {
        match &self.keys[key] {
            PublicKey::Rsa { modulus, exponent, .. } => PreparedKey::rsa(modulus, exponent),
            PublicKey::Secret(secret) => PreparedKey::hmac(secret),
            PublicKey::Point(point) => {
                let prepare = match self.scheme {
                    Scheme::EcdsaP384Sha384 => PreparedKey::ecdsa_p384,
                    Scheme::EcdsaP521Sha512 => PreparedKey::ecdsa_p521,
                    Scheme::EcdsaSecp256k1Sha256 => PreparedKey::ecdsa_secp256k1,
                    Scheme::EcdsaP256Sha256 => PreparedKey::ecdsa_p256,
                    _ => return PreparedKey::ed25519(point),
                };
                // Behind the byte that says "uncompressed", both coordinates.
                let coordinates = point.get(1..).unwrap_or_default();
                let (x, y) = coordinates.split_at(coordinates.len() / 2);
                prepare(x, y)
            }
        }
    }

    /// Job number `index`, counting round, with its key as given.
    pub(super) fn job<'a>(&'a self, index: usize, key: &'a PreparedKey) -> Job<'a> {
        let message = index % self.messages.len();
        Job { key, message: &self.messages[message], signature: &self.signatures[message] }
    }
}

enum Signer {
    Ed25519(Ed25519KeyPair),
    Ecdsa(EcdsaKeyPair),
    Rsa(Box<rsa::KeyPair>),
    Hmac(hmac::Algorithm, Vec<u8>),
}

impl Signer {
    fn generate(scheme: Scheme, rsa_bits: usize) -> Result<Self, Unspecified> {
        let ecdsa = |curve: &'static EcdsaSigningAlgorithm| EcdsaKeyPair::generate(curve).map(Self::Ecdsa);
        let hmac = |algorithm: hmac::Algorithm| {
            let mut secret = vec![0; algorithm.digest_algorithm().output_len()];
            rand::fill(&mut secret)?;
            Ok(Self::Hmac(algorithm, secret))
        };
        match scheme {
            Scheme::Ed25519 => Ok(Self::Ed25519(Ed25519KeyPair::generate()?)),
            Scheme::EcdsaP256Sha256 => ecdsa(&signature::ECDSA_P256_SHA256_FIXED_SIGNING),
            Scheme::EcdsaP384Sha384 => ecdsa(&signature::ECDSA_P384_SHA384_FIXED_SIGNING),
            Scheme::EcdsaP521Sha512 => ecdsa(&signature::ECDSA_P521_SHA512_FIXED_SIGNING),
            Scheme::EcdsaSecp256k1Sha256 => ecdsa(&signature::ECDSA_P256K1_SHA256_FIXED_SIGNING),
            Scheme::HmacSha256 => hmac(hmac::HMAC_SHA256),
            Scheme::HmacSha384 => hmac(hmac::HMAC_SHA384),
            Scheme::HmacSha512 => hmac(hmac::HMAC_SHA512),
            Scheme::RsaPkcs1Sha256
            | Scheme::RsaPkcs1Sha384
            | Scheme::RsaPkcs1Sha512
            | Scheme::RsaPssSha256
            | Scheme::RsaPssSha384
            | Scheme::RsaPssSha512 => {
                let size = match rsa_bits {
                    3072 => KeySize::Rsa3072,
                    4096 => KeySize::Rsa4096,
                    8192 => KeySize::Rsa8192,
                    _ => KeySize::Rsa2048,
                };
                Ok(Self::Rsa(Box::new(rsa::KeyPair::generate(size)?)))
            }
        }
    }

    fn sign(&self, scheme: Scheme, message: &[u8]) -> Result<Vec<u8>, Unspecified> {
        match self {
            Self::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Self::Ecdsa(pair) => Ok(pair.sign(&SystemRandom::new(), message)?.as_ref().to_vec()),
            Self::Hmac(algorithm, secret) => {
                Ok(hmac::sign(&hmac::Key::new(*algorithm, secret), message).as_ref().to_vec())
            }
            Self::Rsa(pair) => {
                let padding: &'static dyn RsaEncoding = match scheme {
                    Scheme::RsaPkcs1Sha384 => &signature::RSA_PKCS1_SHA384,
                    Scheme::RsaPkcs1Sha512 => &signature::RSA_PKCS1_SHA512,
                    Scheme::RsaPssSha256 => &signature::RSA_PSS_SHA256,
                    Scheme::RsaPssSha384 => &signature::RSA_PSS_SHA384,
                    Scheme::RsaPssSha512 => &signature::RSA_PSS_SHA512,
                    _ => &signature::RSA_PKCS1_SHA256,
                };
                let mut signed = vec![0; pair.public_modulus_len()];
                pair.sign(padding, &SystemRandom::new(), message, &mut signed)?;
                Ok(signed)
            }
        }
    }

    fn public(&self) -> Result<PublicKey, Unspecified> {
        Ok(match self {
            Self::Ed25519(pair) => PublicKey::Point(pair.public_key().as_ref().to_vec()),
            Self::Ecdsa(pair) => PublicKey::Point(pair.public_key().as_ref().to_vec()),
            Self::Hmac(_, secret) => PublicKey::Secret(secret.clone()),
            Self::Rsa(pair) => {
                let der = pair.public_key().as_ref();
                let public = pkcs1::RsaPublicKeyRef::try_from(der).map_err(|_| Unspecified)?;
                PublicKey::Rsa {
                    modulus: public.modulus.as_bytes().to_vec(),
                    exponent: public.public_exponent.as_bytes().to_vec(),
                    der: der.to_vec(),
                }
            }
        })
    }
}
