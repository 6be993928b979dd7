//! A token factory: deterministic keys, tokens with any header and payload. Signs with aws-lc-rs.

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use verilane::jose::base64url;

/// Signs tokens with one key.
pub enum Signer {
    Ed25519(Ed25519KeyPair),
    Hs256([u8; 32]),
}

impl Signer {
    /// The Ed25519 key of this number.
    pub fn ed25519(number: u8) -> Self {
        Self::Ed25519(Ed25519KeyPair::from_seed_unchecked(&[number; 32]).unwrap())
    }

    /// The HMAC key of this number.
    pub fn hs256(number: u8) -> Self {
        Self::Hs256([number; 32])
    }

    /// The key as JWK text; for the HMAC key that is the secret.
    pub fn jwk(&self, key_id: Option<&str>) -> String {
        let key_id = key_id.map_or_else(String::new, |key_id| format!(r#","kid":"{key_id}""#));
        match self {
            Self::Ed25519(pair) => {
                let x = base64url::encode(pair.public_key().as_ref());
                format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}"{key_id}}}"#)
            }
            Self::Hs256(secret) => format!(r#"{{"kty":"oct","k":"{}"{key_id}}}"#, base64url::encode(secret)),
        }
    }

    /// The raw signature over `message`.
    pub fn signature(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
            Self::Hs256(secret) => hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message).as_ref().to_vec(),
        }
    }

    /// A token with exactly this header and payload text.
    pub fn token(&self, header: &str, payload: &str) -> String {
        let input = format!("{}.{}", base64url::encode(header.as_bytes()), base64url::encode(payload.as_bytes()));
        let signature = base64url::encode(&self.signature(input.as_bytes()));
        format!("{input}.{signature}")
    }
}

/// A JWK Set of these JWK texts.
pub fn jwk_set(keys: &[String]) -> String {
    format!(r#"{{"keys":[{}]}}"#, keys.join(","))
}
