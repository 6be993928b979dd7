//! Public keys from PEM (RFC 7468): `PUBLIC KEY` (SubjectPublicKeyInfo, RFC 5280), `RSA PUBLIC KEY` (RFC 8017) and
//! `CERTIFICATE`. A certificate is a container for its key here: neither its chain nor its dates are looked at, because
//! configuring the file is the act of trust.

use std::sync::Arc;

use x509_parser::asn1_rs::{Tag, oid};
use x509_parser::extensions::KeyUsage;
use x509_parser::oid_registry::{
    OID_EC_P256, OID_KEY_TYPE_EC_PUBLIC_KEY, OID_NIST_EC_P384, OID_NIST_EC_P521, OID_PKCS1_RSAENCRYPTION,
    OID_PKCS1_RSASSAPSS, OID_SIG_ED25519, Oid,
};
use x509_parser::prelude::{FromDer, Pem, X509Certificate};
use x509_parser::public_key::RSAPublicKey;
use x509_parser::signature_algorithm::RsaSsaPssParams;
use x509_parser::x509::SubjectPublicKeyInfo;

use super::prepare::{DocumentLimits, PrepareError, ecdsa, fitting_algorithms, narrow};
use super::{KeySetReport, VerifyingKey};
use crate::jose::Algorithm;
use crate::kernel::PreparedKey;

/// id-secp256k1 (SEC 2).
const OID_SECP256K1: Oid<'static> = oid!(1.3.132.0.10);

/// Reads every public key and certificate of a PEM file. A block that is no usable key is left out and reported.
///
/// # Errors
/// If the file is too large, holds a private key, or has no usable key.
pub fn from_pem(text: &[u8]) -> Result<(Vec<VerifyingKey>, KeySetReport), PrepareError> {
    from_pem_within(text, &DocumentLimits::default())
}

/// As [`from_pem`], within the given bounds.
///
/// # Errors
/// As [`from_pem`].
pub fn from_pem_within(
    text: &[u8],
    limits: &DocumentLimits,
) -> Result<(Vec<VerifyingKey>, KeySetReport), PrepareError> {
    if text.len() > limits.bytes {
        return Err(PrepareError::TooLarge { got: text.len(), max: limits.bytes });
    }
    let mut keys = Vec::new();
    let mut report = KeySetReport::default();
    let mut blocks = 0_usize;
    for block in Pem::iter_from_buffer(text) {
        blocks += 1;
        if blocks > limits.keys {
            return Err(PrepareError::Encoding(format!("more than {} PEM blocks", limits.keys)));
        }
        // A broken block leaves no way to tell where the next one starts.
        let block = block.map_err(|error| PrepareError::Encoding(format!("PEM block {blocks}: {error}")))?;
        if block.label.ends_with("PRIVATE KEY") {
            return Err(PrepareError::PrivateKey(block.label));
        }
        match from_block(&block) {
            Ok(key) => keys.push(key),
            Err(error) => report.skipped.push(format!("PEM block {blocks} ({:?}): {error}", block.label)),
        }
    }
    if blocks == 0 {
        return Err(PrepareError::Encoding("no PEM block (\"-----BEGIN PUBLIC KEY-----\") found".to_owned()));
    }
    if keys.is_empty() {
        return Err(PrepareError::NoUsableKey { skipped: report.skipped });
    }
    Ok((keys, report))
}

fn from_block(block: &Pem) -> Result<VerifyingKey, PrepareError> {
    match block.label.as_str() {
        "PUBLIC KEY" => {
            let (rest, info) = SubjectPublicKeyInfo::from_der(&block.contents)
                .map_err(|_| PrepareError::Encoding("not a SubjectPublicKeyInfo".to_owned()))?;
            no_more(rest)?;
            from_info(&info)
        }
        "RSA PUBLIC KEY" => {
            let (rest, key) = RSAPublicKey::from_der(&block.contents)
                .map_err(|_| PrepareError::Encoding("not an RSAPublicKey".to_owned()))?;
            no_more(rest)?;
            rsa(&key)
        }
        "CERTIFICATE" => {
            let (rest, certificate) = X509Certificate::from_der(&block.contents)
                .map_err(|_| PrepareError::Encoding("not an X.509 certificate".to_owned()))?;
            no_more(rest)?;
            let usage = certificate
                .key_usage()
                .map_err(|_| PrepareError::Encoding("the certificate's key usage cannot be read".to_owned()))?;
            if usage.is_some_and(|usage| !signs(usage.value)) {
                return Err(PrepareError::Encoding("the certificate's key usage forbids signatures".to_owned()));
            }
            from_info(certificate.public_key())
        }
        _ => Err(PrepareError::Encoding("not a public key or certificate".to_owned())),
    }
}

fn signs(usage: &KeyUsage) -> bool {
    usage.digital_signature() || usage.non_repudiation()
}

fn no_more(rest: &[u8]) -> Result<(), PrepareError> {
    if rest.is_empty() {
        Ok(())
    } else {
        Err(PrepareError::Encoding("bytes after the end of the structure".to_owned()))
    }
}

fn from_info(info: &SubjectPublicKeyInfo<'_>) -> Result<VerifyingKey, PrepareError> {
    let kind = &info.algorithm.algorithm;
    if info.subject_public_key.unused_bits != 0 {
        return Err(PrepareError::Encoding("the public key is not a whole number of bytes".to_owned()));
    }
    let bits = info.subject_public_key.data.as_ref();
    if *kind == OID_SIG_ED25519 {
        if info.algorithm.parameters.is_some() {
            return Err(PrepareError::Encoding("Ed25519 keys have no parameters (RFC 8410 section 3)".to_owned()));
        }
        return Ok(ready(PreparedKey::ed25519(bits)?));
    }
    if *kind == OID_PKCS1_RSAENCRYPTION {
        return rsa(&rsa_of(info)?);
    }
    if *kind == OID_PKCS1_RSASSAPSS {
        let mut key = rsa(&rsa_of(info)?)?;
        narrow(&mut key, &pss_algorithms(info)?)?;
        return Ok(key);
    }
    if *kind == OID_KEY_TYPE_EC_PUBLIC_KEY {
        return elliptic(info, bits);
    }
    Err(PrepareError::Encoding(format!("keys of type {kind} are not supported")))
}

fn elliptic(info: &SubjectPublicKeyInfo<'_>, point: &[u8]) -> Result<VerifyingKey, PrepareError> {
    let parameters = info.algorithm.parameters.as_ref();
    // The reader of object identifiers does not look at the tag itself.
    let named = parameters.filter(|parameters| parameters.header.tag() == Tag::Oid);
    let curve = named.and_then(|name| name.as_oid().ok()).ok_or_else(|| {
        PrepareError::Encoding("the curve is not given by name (explicit parameters are refused)".to_owned())
    })?;
    let (name, size) = if curve == OID_EC_P256 {
        ("P-256", 32)
    } else if curve == OID_NIST_EC_P384 {
        ("P-384", 48)
    } else if curve == OID_NIST_EC_P521 {
        ("P-521", 66)
    } else if curve == OID_SECP256K1 {
        ("secp256k1", 32)
    } else {
        return Err(PrepareError::Encoding(format!("curve {curve} is not supported")));
    };
    match point.split_first() {
        Some((4, coordinates)) if coordinates.len() == 2 * size => {
            let (x, y) = coordinates.split_at(size);
            Ok(ready(ecdsa(name, x, y)?))
        }
        Some((2 | 3, _)) => Err(PrepareError::Encoding(
            "the point is compressed; write it uncompressed, for example with \
             `openssl ec -pubin -in FILE -pubout -conv_form uncompressed`"
                .to_owned(),
        )),
        _ => Err(PrepareError::Encoding(format!("not an uncompressed point of {name}"))),
    }
}

fn rsa_of<'a>(info: &'a SubjectPublicKeyInfo<'_>) -> Result<RSAPublicKey<'a>, PrepareError> {
    match RSAPublicKey::from_der(info.subject_public_key.data.as_ref()) {
        Ok(([], key)) => Ok(key),
        _ => Err(PrepareError::Encoding("not an RSAPublicKey".to_owned())),
    }
}

fn rsa(key: &RSAPublicKey<'_>) -> Result<VerifyingKey, PrepareError> {
    // DER integers are signed: a first byte with the top bit set is a negative number.
    let negative = |integer: &[u8]| integer.first().is_none_or(|&first| first & 0x80 != 0);
    if negative(key.modulus) || negative(key.exponent) {
        return Err(PrepareError::Encoding("modulus and exponent must be positive integers".to_owned()));
    }
    Ok(ready(PreparedKey::rsa(key.modulus, key.exponent)?))
}

/// What a key marked for RSASSA-PSS may do (RFC 4055 section 1.2): with parameters its one hash, else any.
fn pss_algorithms(info: &SubjectPublicKeyInfo<'_>) -> Result<Vec<Algorithm>, PrepareError> {
    let Some(parameters) = &info.algorithm.parameters else {
        return Ok(vec![Algorithm::Ps256, Algorithm::Ps384, Algorithm::Ps512]);
    };
    let unsupported = || PrepareError::Encoding("RSASSA-PSS parameters that JOSE does not use".to_owned());
    let parameters = RsaSsaPssParams::try_from(parameters).map_err(|_| unsupported())?;
    let hash = parameters.hash_algorithm_oid();
    let (algorithm, salt_max) = if *hash == oid!(2.16.840.1.101.3.4.2.1) {
        (Algorithm::Ps256, 32)
    } else if *hash == oid!(2.16.840.1.101.3.4.2.2) {
        (Algorithm::Ps384, 48)
    } else if *hash == oid!(2.16.840.1.101.3.4.2.3) {
        (Algorithm::Ps512, 64)
    } else {
        return Err(unsupported());
    };
    // JOSE fixes MGF1 with the same hash and a salt as long as the hash; the key's salt length is a minimum.
    let mask = parameters.mask_gen_algorithm().map_err(|_| unsupported())?;
    if mask.mgf != oid!(1.2.840.113549.1.1.8) || mask.hash != *hash || parameters.salt_length() > salt_max {
        return Err(unsupported());
    }
    Ok(vec![algorithm])
}

fn ready(prepared: PreparedKey) -> VerifyingKey {
    VerifyingKey { key_id: None, algorithms: fitting_algorithms(&prepared), prepared: Arc::new(prepared) }
}
