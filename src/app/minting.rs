//! Signing: for `mint`, `keygen` and the development issuer. The service itself never signs; only `app` does.

use aws_lc_rs::encoding::{AsBigEndian, AsDer, Curve25519SeedBin, EcPrivateKeyBin, Pkcs8V1Der};
use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{self, KeyPairComponents, KeySize, PublicKeyComponents};
use aws_lc_rs::signature::{self, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, RsaEncoding};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use crate::jose::{Algorithm, JwkMaterial, base64url, jwk};

/// Why a key cannot sign.
#[derive(Debug, thiserror::Error)]
pub(super) enum SigningError {
    #[error("the key is not a private JWK, a PEM private key or a secret: {0}")]
    Unreadable(String),
    #[error("the JWK lacks `{0}`, or its value is not base64url")]
    Member(&'static str),
    #[error("the key is not usable: its parts do not belong together, or its type is unknown")]
    Rejected,
    #[error("a key for {fits} cannot sign {wanted}")]
    AlgorithmMismatch { fits: String, wanted: Algorithm },
    #[error("a secret of {got} bytes is too short for {algorithm}, which needs {needed}")]
    SecretTooShort { got: usize, needed: usize, algorithm: Algorithm },
    #[error("the cryptographic library failed")]
    Library,
}

impl From<aws_lc_rs::error::Unspecified> for SigningError {
    fn from(_: aws_lc_rs::error::Unspecified) -> Self {
        Self::Library
    }
}

impl From<aws_lc_rs::error::KeyRejected> for SigningError {
    fn from(_: aws_lc_rs::error::KeyRejected) -> Self {
        Self::Rejected
    }
}

enum Pair {
    Ed25519(Ed25519KeyPair),
    Ecdsa(&'static Curve, EcdsaKeyPair),
    Rsa(Box<rsa::KeyPair>),
    Hmac(Zeroizing<Vec<u8>>),
}

struct Curve {
    name: &'static str,
    algorithm: Algorithm,
    coordinate_len: usize,
    signing: &'static EcdsaSigningAlgorithm,
}

static CURVES: [Curve; 4] = [
    Curve {
        name: "P-256",
        algorithm: Algorithm::Es256,
        coordinate_len: 32,
        signing: &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
    },
    Curve {
        name: "P-384",
        algorithm: Algorithm::Es384,
        coordinate_len: 48,
        signing: &signature::ECDSA_P384_SHA384_FIXED_SIGNING,
    },
    Curve {
        name: "P-521",
        algorithm: Algorithm::Es512,
        coordinate_len: 66,
        signing: &signature::ECDSA_P521_SHA512_FIXED_SIGNING,
    },
    Curve {
        name: "secp256k1",
        algorithm: Algorithm::Es256k,
        coordinate_len: 32,
        signing: &signature::ECDSA_P256K1_SHA256_FIXED_SIGNING,
    },
];

/// A key that signs, with the name it is known by.
pub(super) struct SigningKey {
    pair: Pair,
    key_id: Option<String>,
    /// What `alg` of the JWK or the caller pinned it to.
    pinned: Option<Algorithm>,
}

impl SigningKey {
    /// A fresh key for `algorithm`: 2048 bits for RSA, as many bytes as the hash for HMAC. Its id is the RFC 7638
    /// thumbprint, or random for a secret (a thumbprint would be a hash of the secret).
    pub(super) fn generate(algorithm: Algorithm, rsa_bits: usize) -> Result<Self, SigningError> {
        let pair = match algorithm {
            Algorithm::EdDsa | Algorithm::Ed25519 => Pair::Ed25519(Ed25519KeyPair::generate()?),
            Algorithm::Es256 | Algorithm::Es384 | Algorithm::Es512 | Algorithm::Es256k => {
                let curve = CURVES.iter().find(|curve| curve.algorithm == algorithm).ok_or(SigningError::Rejected)?;
                Pair::Ecdsa(curve, EcdsaKeyPair::generate(curve.signing)?)
            }
            Algorithm::Rs256
            | Algorithm::Rs384
            | Algorithm::Rs512
            | Algorithm::Ps256
            | Algorithm::Ps384
            | Algorithm::Ps512 => {
                let size = match rsa_bits {
                    2048 => KeySize::Rsa2048,
                    3072 => KeySize::Rsa3072,
                    4096 => KeySize::Rsa4096,
                    8192 => KeySize::Rsa8192,
                    _ => return Err(SigningError::Rejected),
                };
                Pair::Rsa(Box::new(rsa::KeyPair::generate(size)?))
            }
            Algorithm::Hs256 | Algorithm::Hs384 | Algorithm::Hs512 => {
                let mut secret = Zeroizing::new(vec![0; hash_len(algorithm)]);
                aws_lc_rs::rand::fill(&mut secret)?;
                Pair::Hmac(secret)
            }
        };
        let mut key = Self { pair, key_id: None, pinned: Some(algorithm) };
        key.key_id = Some(key.fresh_id()?);
        Ok(key)
    }

    /// A key as people keep it: a private JWK, a JWK Set with one private key, or a PEM private key.
    pub(super) fn from_document(document: &[u8], wanted: Option<Algorithm>) -> Result<Self, SigningError> {
        let key = if document.trim_ascii_start().starts_with(b"{") {
            let mut value: Value =
                serde_json::from_slice(document).map_err(|error| SigningError::Unreadable(error.to_string()))?;
            if let Some(keys) = value.get_mut("keys").and_then(Value::as_array_mut) {
                match keys.len() {
                    1 => value = keys.remove(0),
                    count => return Err(SigningError::Unreadable(format!("a set of {count} keys; give one key"))),
                }
            }
            Self::from_jwk(&value)?
        } else {
            Self::from_pem(document)?
        };
        key.pin(wanted)
    }

    /// An HMAC secret.
    pub(super) fn from_secret(secret: &[u8], wanted: Option<Algorithm>) -> Result<Self, SigningError> {
        let key = Self { pair: Pair::Hmac(Zeroizing::new(secret.to_vec())), key_id: None, pinned: None };
        key.pin(wanted)
    }

    fn pin(mut self, wanted: Option<Algorithm>) -> Result<Self, SigningError> {
        if let Some(wanted) = wanted {
            let both_ed25519 =
                matches!((&self.pair, wanted), (Pair::Ed25519(_), Algorithm::EdDsa | Algorithm::Ed25519));
            if !both_ed25519 && self.pinned.is_some_and(|pinned| pinned != wanted) || !self.fits(wanted) {
                return Err(SigningError::AlgorithmMismatch { fits: self.kind(), wanted });
            }
            self.pinned = Some(wanted);
        }
        if let Pair::Hmac(secret) = &self.pair {
            let algorithm = self.algorithm();
            let needed = hash_len(algorithm);
            if secret.len() < needed {
                return Err(SigningError::SecretTooShort { got: secret.len(), needed, algorithm });
            }
        }
        Ok(self)
    }

    fn kind(&self) -> String {
        match (&self.pair, self.pinned) {
            (_, Some(pinned)) => pinned.name().to_owned(),
            (Pair::Ed25519(_), None) => "EdDSA".to_owned(),
            (Pair::Ecdsa(curve, _), None) => curve.algorithm.name().to_owned(),
            (Pair::Rsa(_), None) => "RS256 to PS512".to_owned(),
            (Pair::Hmac(_), None) => "HS256 to HS512".to_owned(),
        }
    }

    /// Whether its type goes with `algorithm`.
    pub(super) fn fits(&self, algorithm: Algorithm) -> bool {
        use Algorithm as A;
        match &self.pair {
            Pair::Ed25519(_) => matches!(algorithm, A::EdDsa | A::Ed25519),
            Pair::Ecdsa(curve, _) => curve.algorithm == algorithm,
            Pair::Rsa(_) => matches!(algorithm, A::Rs256 | A::Rs384 | A::Rs512 | A::Ps256 | A::Ps384 | A::Ps512),
            Pair::Hmac(_) => algorithm.is_symmetric(),
        }
    }

    /// The algorithm it signs with: the pinned one, else the usual one of its type.
    pub(super) fn algorithm(&self) -> Algorithm {
        self.pinned.unwrap_or(match &self.pair {
            Pair::Ed25519(_) => Algorithm::EdDsa,
            Pair::Ecdsa(curve, _) => curve.algorithm,
            Pair::Rsa(_) => Algorithm::Rs256,
            Pair::Hmac(_) => Algorithm::Hs256,
        })
    }

    /// Its `kid`.
    pub(super) fn key_id(&self) -> Option<&str> {
        self.key_id.as_deref()
    }

    fn from_pem(document: &[u8]) -> Result<Self, SigningError> {
        let der = PrivateKeyDer::from_pem_slice(document)
            .map_err(|error| SigningError::Unreadable(format!("no PEM private key found ({error})")))?;
        let pair = match &der {
            PrivateKeyDer::Pkcs1(der) => Pair::Rsa(Box::new(rsa::KeyPair::from_der(der.secret_pkcs1_der())?)),
            PrivateKeyDer::Sec1(der) => CURVES
                .iter()
                .find_map(|curve| {
                    let pair = EcdsaKeyPair::from_private_key_der(curve.signing, der.secret_sec1_der()).ok()?;
                    Some(Pair::Ecdsa(curve, pair))
                })
                .ok_or(SigningError::Rejected)?,
            PrivateKeyDer::Pkcs8(der) => pair_from_pkcs8(der.secret_pkcs8_der())?,
            _ => return Err(SigningError::Rejected),
        };
        Ok(Self { pair, key_id: None, pinned: None })
    }

    fn from_jwk(jwk: &Value) -> Result<Self, SigningError> {
        let text = |name: &'static str| jwk.get(name).and_then(Value::as_str);
        let bytes = |name: &'static str| {
            let decoded = text(name).and_then(|value| base64url::decode(value.as_bytes()).ok());
            decoded.map(Zeroizing::new).ok_or(SigningError::Member(name))
        };
        let pair = match text("kty") {
            Some("OKP") if text("crv") == Some("Ed25519") => {
                Pair::Ed25519(Ed25519KeyPair::from_seed_and_public_key(&bytes("d")?, &bytes("x")?)?)
            }
            Some("EC") => {
                let curve =
                    CURVES.iter().find(|curve| text("crv") == Some(curve.name)).ok_or(SigningError::Rejected)?;
                let mut point = vec![4];
                point.extend_from_slice(&bytes("x")?);
                point.extend_from_slice(&bytes("y")?);
                let pair = EcdsaKeyPair::from_private_key_and_public_key(curve.signing, &bytes("d")?, &point)?;
                Pair::Ecdsa(curve, pair)
            }
            Some("RSA") => {
                let components = KeyPairComponents {
                    public_key: PublicKeyComponents { n: bytes("n")?, e: bytes("e")? },
                    d: bytes("d")?,
                    p: bytes("p")?,
                    q: bytes("q")?,
                    dP: bytes("dp")?,
                    dQ: bytes("dq")?,
                    qInv: bytes("qi")?,
                };
                Pair::Rsa(Box::new(rsa::KeyPair::from_components(&components)?))
            }
            Some("oct") => Pair::Hmac(bytes("k")?),
            _ => return Err(SigningError::Rejected),
        };
        let pinned = match text("alg") {
            Some(name) => Some(Algorithm::from_name(name).ok_or_else(|| {
                SigningError::Unreadable(format!("`alg` of the JWK, `{name}`, is nothing that can be signed"))
            })?),
            None => None,
        };
        let key = Self { pair, key_id: text("kid").map(str::to_owned), pinned: None };
        key.pin(pinned)
    }

    /// Signs bytes with an algorithm that fits: the signature in its JWA form.
    fn sign(&self, algorithm: Algorithm, message: &[u8]) -> Result<Vec<u8>, SigningError> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Pair::Ecdsa(_, pair) => Ok(pair.sign(&random, message)?.as_ref().to_vec()),
            Pair::Rsa(pair) => {
                let padding: &'static dyn RsaEncoding = match algorithm {
                    Algorithm::Rs384 => &signature::RSA_PKCS1_SHA384,
                    Algorithm::Rs512 => &signature::RSA_PKCS1_SHA512,
                    Algorithm::Ps256 => &signature::RSA_PSS_SHA256,
                    Algorithm::Ps384 => &signature::RSA_PSS_SHA384,
                    Algorithm::Ps512 => &signature::RSA_PSS_SHA512,
                    _ => &signature::RSA_PKCS1_SHA256,
                };
                let mut signed = vec![0; pair.public_modulus_len()];
                pair.sign(padding, &random, message, &mut signed)?;
                Ok(signed)
            }
            Pair::Hmac(secret) => {
                let hash = match algorithm {
                    Algorithm::Hs384 => hmac::HMAC_SHA384,
                    Algorithm::Hs512 => hmac::HMAC_SHA512,
                    _ => hmac::HMAC_SHA256,
                };
                Ok(hmac::sign(&hmac::Key::new(hash, secret), message).as_ref().to_vec())
            }
        }
    }

    /// A token in compact serialization, signed with the key's own algorithm. `header` holds members besides `alg`.
    pub(super) fn mint(&self, header: Map<String, Value>, claims: &Map<String, Value>) -> Result<String, SigningError> {
        self.mint_as(self.algorithm(), header, claims)
    }

    /// As [`SigningKey::mint`], with any algorithm that fits the type of the key.
    pub(super) fn mint_as(
        &self,
        algorithm: Algorithm,
        mut header: Map<String, Value>,
        claims: &Map<String, Value>,
    ) -> Result<String, SigningError> {
        if !self.fits(algorithm) {
            return Err(SigningError::AlgorithmMismatch { fits: self.kind(), wanted: algorithm });
        }
        header.insert("alg".to_owned(), algorithm.name().into());
        let header = Value::Object(header).to_string();
        let claims = serde_json::to_string(claims).map_err(|_| SigningError::Library)?;
        let mut token = format!("{}.{}", base64url::encode(header.as_bytes()), base64url::encode(claims.as_bytes()));
        let signed = self.sign(algorithm, token.as_bytes())?;
        token.push('.');
        token.push_str(&base64url::encode(&signed));
        Ok(token)
    }

    /// The public JWK; `None` for a secret, which has no public part.
    pub(super) fn public_jwk(&self) -> Option<Value> {
        let mut jwk = self.public_members()?;
        self.describe(&mut jwk);
        Some(Value::Object(jwk))
    }

    /// The private JWK.
    pub(super) fn private_jwk(&self) -> Result<Value, SigningError> {
        let mut jwk = self.public_members().unwrap_or_default();
        let mut put = |name: &str, bytes: &[u8]| jwk.insert(name.to_owned(), base64url::encode(bytes).into());
        match &self.pair {
            Pair::Ed25519(pair) => {
                let seed: Curve25519SeedBin<'_> = pair.seed()?.as_be_bytes()?;
                put("d", seed.as_ref());
            }
            Pair::Ecdsa(_, pair) => {
                let private: EcPrivateKeyBin<'_> = pair.private_key().as_be_bytes()?;
                put("d", private.as_ref());
            }
            Pair::Rsa(pair) => {
                let der: Pkcs8V1Der<'_> = pair.as_der()?;
                let info = pkcs8::PrivateKeyInfoRef::try_from(der.as_ref()).map_err(|_| SigningError::Library)?;
                let key = pkcs1::RsaPrivateKeyRef::try_from(info.private_key.as_bytes())
                    .map_err(|_| SigningError::Library)?;
                put("d", key.private_exponent.as_bytes());
                put("p", key.prime1.as_bytes());
                put("q", key.prime2.as_bytes());
                put("dp", key.exponent1.as_bytes());
                put("dq", key.exponent2.as_bytes());
                put("qi", key.coefficient.as_bytes());
            }
            Pair::Hmac(secret) => {
                put("k", secret);
                jwk.insert("kty".to_owned(), "oct".into());
            }
        }
        self.describe(&mut jwk);
        Ok(Value::Object(jwk))
    }

    /// The same key under another id.
    pub(super) fn named(mut self, key_id: &str) -> Self {
        self.key_id = Some(key_id.to_owned());
        self
    }

    /// The same key, free to sign with every algorithm its type fits; its JWK names none.
    pub(super) fn unpinned(mut self) -> Self {
        self.pinned = None;
        self
    }

    fn describe(&self, jwk: &mut Map<String, Value>) {
        jwk.insert("use".to_owned(), "sig".into());
        if let Some(algorithm) = self.pinned {
            jwk.insert("alg".to_owned(), algorithm.name().into());
        }
        if let Some(key_id) = &self.key_id {
            jwk.insert("kid".to_owned(), key_id.as_str().into());
        }
    }

    /// The public key; `None` for a secret, which has none.
    fn public_material(&self) -> Option<JwkMaterial> {
        Some(match &self.pair {
            Pair::Ed25519(pair) => JwkMaterial::Ed25519 { x: pair.public_key().as_ref().to_vec() },
            Pair::Ecdsa(curve, pair) => {
                let (x, y) = pair.public_key().as_ref().get(1..)?.split_at_checked(curve.coordinate_len)?;
                JwkMaterial::Ec { curve: curve.name, x: x.to_vec(), y: y.to_vec() }
            }
            Pair::Rsa(pair) => {
                let public = pkcs1::RsaPublicKeyRef::try_from(pair.public_key().as_ref()).ok()?;
                JwkMaterial::Rsa {
                    modulus: public.modulus.as_bytes().to_vec(),
                    exponent: public.public_exponent.as_bytes().to_vec(),
                }
            }
            Pair::Hmac(_) => return None,
        })
    }

    /// The members of the public JWK that make the key.
    fn public_members(&self) -> Option<Map<String, Value>> {
        let encode = |bytes: &[u8]| base64url::encode(bytes);
        let value = match &self.public_material()? {
            JwkMaterial::Ed25519 { x } => json!({ "kty": "OKP", "crv": "Ed25519", "x": encode(x) }),
            JwkMaterial::Ec { curve, x, y } => json!({ "kty": "EC", "crv": curve, "x": encode(x), "y": encode(y) }),
            JwkMaterial::Rsa { modulus, exponent } => {
                json!({ "kty": "RSA", "n": encode(modulus), "e": encode(exponent) })
            }
            JwkMaterial::Oct { .. } => return None,
        };
        match value {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// RFC 7638 thumbprint with SHA-256, or a random id for a secret.
    fn fresh_id(&self) -> Result<String, SigningError> {
        if let Some(material) = self.public_material() {
            return Ok(jwk::thumbprint(&material));
        }
        let mut id = [0; 16];
        aws_lc_rs::rand::fill(&mut id)?;
        Ok(base64url::encode(&id))
    }
}

fn pair_from_pkcs8(der: &[u8]) -> Result<Pair, SigningError> {
    if let Ok(pair) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der) {
        return Ok(Pair::Ed25519(pair));
    }
    for curve in &CURVES {
        if let Ok(pair) = EcdsaKeyPair::from_pkcs8(curve.signing, der) {
            return Ok(Pair::Ecdsa(curve, pair));
        }
    }
    Ok(Pair::Rsa(Box::new(rsa::KeyPair::from_pkcs8(der)?)))
}

/// Bytes of the hash of an HMAC algorithm, which is also the shortest secret (RFC 7518 section 3.2).
const fn hash_len(algorithm: Algorithm) -> usize {
    match algorithm {
        Algorithm::Hs384 => 48,
        Algorithm::Hs512 => 64,
        _ => 32,
    }
}
