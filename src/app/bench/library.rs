//! The libraries a program would otherwise call, one signature at a time, as they are linked into this one.

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{self, ParsedPublicKey, UnparsedPublicKey, VerificationAlgorithm};
use ed25519_dalek::{Signature, Verifier as _, VerifyingKey};

use super::Given;
use super::material::{Material, PublicKey};
use crate::kernel::Scheme;

/// A library's answer to message number `i` of the material.
pub(super) type Check<'a> = Box<dyn FnMut(usize) -> bool + 'a>;

/// The libraries for the scheme of `material`, the first one that most programs would take. With prepared keys,
/// whatever a library can do ahead is done here; by value, each check does all of it.
pub(super) fn all(material: &Material, given: Given) -> Vec<(&'static str, Check<'_>)> {
    let aws_lc_rs = ("aws-lc-rs", aws_lc_rs(material, given));
    if material.scheme == Scheme::Ed25519 {
        let plain = dalek(material, given, |key, message, signature| key.verify(message, signature).is_ok());
        let strict = dalek(material, given, |key, message, signature| key.verify_strict(message, signature).is_ok());
        return vec![("ed25519-dalek verify", plain), ("ed25519-dalek verify_strict", strict), aws_lc_rs];
    }
    vec![aws_lc_rs]
}

fn dalek<'a>(
    material: &'a Material,
    given: Given,
    verify: impl Fn(&VerifyingKey, &[u8], &Signature) -> bool + 'a,
) -> Check<'a> {
    let decode = |key: &PublicKey| match key {
        PublicKey::Point(point) => VerifyingKey::try_from(point.as_slice()).ok(),
        _ => None,
    };
    let check = move |key: &VerifyingKey, index: usize| {
        Signature::from_slice(&material.signatures[index])
            .is_ok_and(|signature| verify(key, &material.messages[index], &signature))
    };
    match given {
        Given::Prepared => {
            let keys: Vec<Option<VerifyingKey>> = material.keys.iter().map(decode).collect();
            Box::new(move |index| keys[material.key_of(index)].as_ref().is_some_and(|key| check(key, index)))
        }
        Given::ByValue => {
            Box::new(move |index| decode(&material.keys[material.key_of(index)]).is_some_and(|key| check(&key, index)))
        }
    }
}

fn aws_lc_rs(material: &Material, given: Given) -> Check<'_> {
    match algorithm(material.scheme) {
        Algorithm::Signature(algorithm) => signatures(material, given, algorithm),
        Algorithm::Mac(algorithm) => tags(material, given, algorithm),
    }
}

fn signatures<'a>(material: &'a Material, given: Given, algorithm: &'static dyn VerificationAlgorithm) -> Check<'a> {
    let bytes = |key: &'a PublicKey| match key {
        PublicKey::Point(bytes) | PublicKey::Rsa { der: bytes, .. } | PublicKey::Secret(bytes) => bytes.as_slice(),
    };
    match given {
        Given::Prepared => {
            let keys: Vec<Option<ParsedPublicKey>> =
                material.keys.iter().map(|key| ParsedPublicKey::new(algorithm, bytes(key)).ok()).collect();
            Box::new(move |index| {
                let key = keys[material.key_of(index)].as_ref();
                key.is_some_and(|key| key.verify_sig(&material.messages[index], &material.signatures[index]).is_ok())
            })
        }
        Given::ByValue => Box::new(move |index| {
            let key = UnparsedPublicKey::new(algorithm, bytes(&material.keys[material.key_of(index)]));
            key.verify(&material.messages[index], &material.signatures[index]).is_ok()
        }),
    }
}

fn tags(material: &Material, given: Given, algorithm: hmac::Algorithm) -> Check<'_> {
    let key = move |key: &PublicKey| match key {
        PublicKey::Secret(secret) => Some(hmac::Key::new(algorithm, secret)),
        _ => None,
    };
    let check = move |key: &hmac::Key, index: usize| {
        hmac::verify(key, &material.messages[index], &material.signatures[index]).is_ok()
    };
    match given {
        Given::Prepared => {
            let keys: Vec<Option<hmac::Key>> = material.keys.iter().map(key).collect();
            Box::new(move |index| keys[material.key_of(index)].as_ref().is_some_and(|key| check(key, index)))
        }
        Given::ByValue => {
            Box::new(move |index| key(&material.keys[material.key_of(index)]).is_some_and(|key| check(&key, index)))
        }
    }
}

enum Algorithm {
    Signature(&'static dyn VerificationAlgorithm),
    Mac(hmac::Algorithm),
}

fn algorithm(scheme: Scheme) -> Algorithm {
    Algorithm::Signature(match scheme {
        Scheme::Ed25519 => &signature::ED25519,
        Scheme::EcdsaP256Sha256 => &signature::ECDSA_P256_SHA256_FIXED,
        Scheme::EcdsaP384Sha384 => &signature::ECDSA_P384_SHA384_FIXED,
        Scheme::EcdsaP521Sha512 => &signature::ECDSA_P521_SHA512_FIXED,
        Scheme::EcdsaSecp256k1Sha256 => &signature::ECDSA_P256K1_SHA256_FIXED,
        Scheme::RsaPkcs1Sha256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        Scheme::RsaPkcs1Sha384 => &signature::RSA_PKCS1_2048_8192_SHA384,
        Scheme::RsaPkcs1Sha512 => &signature::RSA_PKCS1_2048_8192_SHA512,
        Scheme::RsaPssSha256 => &signature::RSA_PSS_2048_8192_SHA256,
        Scheme::RsaPssSha384 => &signature::RSA_PSS_2048_8192_SHA384,
        Scheme::RsaPssSha512 => &signature::RSA_PSS_2048_8192_SHA512,
        Scheme::HmacSha256 => return Algorithm::Mac(hmac::HMAC_SHA256),
        Scheme::HmacSha384 => return Algorithm::Mac(hmac::HMAC_SHA384),
        Scheme::HmacSha512 => return Algorithm::Mac(hmac::HMAC_SHA512),
    })
}
