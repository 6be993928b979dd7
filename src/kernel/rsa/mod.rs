//! RSA signatures of RFC 8017: RSASSA-PKCS1-v1_5 and RSASSA-PSS, each with SHA-256, SHA-384 and SHA-512. Owns what a
//! usable key is and what all backends accept.
//!
//! # Keys, checked once when loaded
//! A modulus of 2048 to 8192 bits, odd; an exponent that is odd, at least 3 and at most 33 bits long. Below 2048 bits is
//! refused by RFC 7518 section 3.3; the upper bounds keep the cost of one check bounded. Leading zero bytes are ignored.
//! Whether the modulus is a product of two primes cannot be seen from outside and is not asked.
//!
//! # Signatures
//! The length is exactly that of the modulus in bytes and the number is below the modulus (RFC 8017 sections 8.1.2 and
//! 8.2.2). PKCS1-v1_5: the encoded message is rebuilt and compared whole, never parsed; the DigestInfo has its NULL.
//! PSS: MGF1 with the signature's own hash, salt exactly as long as the hash (RFC 7518 section 3.5).

mod portable;

use aws_lc_rs::signature::{self, ParsedPublicKey, RsaParameters, RsaPublicKeyComponents};

use super::{Entry, KeyError, Scheme};

/// Shortest modulus, in bits.
const MODULUS_BITS_MIN: usize = 2048;
/// Longest modulus, in bits.
const MODULUS_BITS_MAX: usize = 8192;
/// Longest exponent, in bits.
const EXPONENT_BITS_MAX: usize = 33;

/// A checked RSA public key; serves all six schemes.
pub struct PublicKey {
    modulus_bits: usize,
    /// One a padding and hash, as the library ties them to the parsed key. Parsing costs under a microsecond and leaves
    /// the Montgomery constants to the first check, so all six are there from the start and no check has to make one.
    parsed: Box<[ParsedPublicKey; Padding::ALL.len()]>,
}

impl PublicKey {
    pub(super) fn new(modulus: &[u8], exponent: &[u8]) -> Result<Self, KeyError> {
        let (modulus, exponent) = (strip_zeros(modulus), strip_zeros(exponent));
        let modulus_bits = bit_len(modulus);
        if !(MODULUS_BITS_MIN..=MODULUS_BITS_MAX).contains(&modulus_bits) {
            return Err(KeyError::ModulusSize { bits: modulus_bits });
        }
        if is_even(modulus) {
            return Err(KeyError::ModulusEven);
        }
        // The only odd number below 3 is 1.
        if is_even(exponent) || exponent == [1] || bit_len(exponent) > EXPONENT_BITS_MAX {
            return Err(KeyError::Exponent);
        }
        let components = RsaPublicKeyComponents { n: modulus, e: exponent };
        let parsed: Result<Vec<ParsedPublicKey>, _> =
            Padding::ALL.iter().map(|padding| components.to_parsed_public_key(padding.parameters())).collect();
        let parsed = parsed.ok().and_then(|keys| keys.into_boxed_slice().try_into().ok()).ok_or(KeyError::Rejected)?;
        Ok(Self { modulus_bits, parsed })
    }

    /// Bytes of the modulus, and so of every signature.
    pub(super) fn modulus_len(&self) -> usize {
        self.modulus_bits.div_ceil(8)
    }

    fn parsed(&self, padding: Padding) -> &ParsedPublicKey {
        &self.parsed[padding as usize]
    }
}

impl std::fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("rsa::PublicKey").field("modulus_bits", &self.modulus_bits).finish_non_exhaustive()
    }
}

/// Padding and hash.
#[derive(Clone, Copy, Debug)]
enum Padding {
    Pkcs1Sha256,
    Pkcs1Sha384,
    Pkcs1Sha512,
    PssSha256,
    PssSha384,
    PssSha512,
}

impl Padding {
    /// In declaration order: `ALL[padding as usize]` is `padding`.
    const ALL: [Self; 6] =
        [Self::Pkcs1Sha256, Self::Pkcs1Sha384, Self::Pkcs1Sha512, Self::PssSha256, Self::PssSha384, Self::PssSha512];

    fn parameters(self) -> &'static RsaParameters {
        match self {
            Self::Pkcs1Sha256 => &signature::RSA_PKCS1_2048_8192_SHA256,
            Self::Pkcs1Sha384 => &signature::RSA_PKCS1_2048_8192_SHA384,
            Self::Pkcs1Sha512 => &signature::RSA_PKCS1_2048_8192_SHA512,
            Self::PssSha256 => &signature::RSA_PSS_2048_8192_SHA256,
            Self::PssSha384 => &signature::RSA_PSS_2048_8192_SHA384,
            Self::PssSha512 => &signature::RSA_PSS_2048_8192_SHA512,
        }
    }
}

fn strip_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|&&byte| byte == 0).count();
    &number[zeros..]
}

/// Bits of a big-endian number without leading zero bytes.
fn bit_len(number: &[u8]) -> usize {
    number.first().map_or(0, |first| number.len() * 8 - first.leading_zeros() as usize)
}

/// Zero, the empty number, is even.
fn is_even(number: &[u8]) -> bool {
    number.last().is_none_or(|last| last % 2 == 0)
}

/// Best first.
pub const ENTRIES: &[Entry] = &[
    Entry {
        scheme: Scheme::RsaPkcs1Sha256,
        backend: "portable",
        needs: "",
        open: || Some(&portable::Portable(Padding::Pkcs1Sha256)),
    },
    Entry {
        scheme: Scheme::RsaPkcs1Sha384,
        backend: "portable",
        needs: "",
        open: || Some(&portable::Portable(Padding::Pkcs1Sha384)),
    },
    Entry {
        scheme: Scheme::RsaPkcs1Sha512,
        backend: "portable",
        needs: "",
        open: || Some(&portable::Portable(Padding::Pkcs1Sha512)),
    },
    Entry {
        scheme: Scheme::RsaPssSha256,
        backend: "portable",
        needs: "",
        open: || Some(&portable::Portable(Padding::PssSha256)),
    },
    Entry {
        scheme: Scheme::RsaPssSha384,
        backend: "portable",
        needs: "",
        open: || Some(&portable::Portable(Padding::PssSha384)),
    },
    Entry {
        scheme: Scheme::RsaPssSha512,
        backend: "portable",
        needs: "",
        open: || Some(&portable::Portable(Padding::PssSha512)),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A number of `bits` bits, all of them one.
    fn ones(bits: usize) -> Vec<u8> {
        let mut number = vec![0xff; bits.div_ceil(8)];
        number[0] >>= (8 - bits % 8) % 8;
        number
    }

    #[test]
    fn keys_outside_the_bounds_are_refused_with_the_reason() {
        let even = [ones(2040), vec![0xfe]].concat();
        let cases: [(&str, Vec<u8>, Vec<u8>, KeyError); 12] = [
            ("empty modulus", vec![], vec![3], KeyError::ModulusSize { bits: 0 }),
            ("zero modulus", vec![0; 256], vec![3], KeyError::ModulusSize { bits: 0 }),
            ("2047 bits", ones(2047), vec![3], KeyError::ModulusSize { bits: 2047 }),
            ("8193 bits", ones(8193), vec![3], KeyError::ModulusSize { bits: 8193 }),
            ("even modulus", even, vec![3], KeyError::ModulusEven),
            ("empty exponent", ones(2048), vec![], KeyError::Exponent),
            ("exponent 0", ones(2048), vec![0, 0], KeyError::Exponent),
            ("exponent 1", ones(2048), vec![1], KeyError::Exponent),
            ("exponent 1 behind zeros", ones(2048), vec![0, 0, 1], KeyError::Exponent),
            ("exponent 2", ones(2048), vec![2], KeyError::Exponent),
            ("exponent 65536", ones(2048), vec![1, 0, 0], KeyError::Exponent),
            ("34-bit exponent", ones(2048), ones(34), KeyError::Exponent),
        ];
        for (name, modulus, exponent, want) in cases {
            assert_eq!(PublicKey::new(&modulus, &exponent).err(), Some(want), "{name}");
        }
    }

    #[test]
    fn keys_at_the_bounds_load_and_leading_zeros_do_not_count() {
        for (bits, len) in [(2048, 256), (2049, 257), (2055, 257), (4096, 512), (8192, 1024)] {
            for exponent in [vec![3], vec![0, 3], vec![1, 0, 1], ones(33)] {
                let modulus = [vec![0; 3], ones(bits)].concat();
                assert_eq!(PublicKey::new(&modulus, &exponent).unwrap().modulus_len(), len, "{bits} bits");
            }
        }
    }

    #[test]
    fn a_padding_finds_its_own_parsed_key() {
        let key = PublicKey::new(&ones(2048), &[1, 0, 1]).unwrap();
        for padding in Padding::ALL {
            let algorithm = format!("{:?}", key.parsed(padding).algorithm());
            assert_eq!(algorithm, format!("{:?}", padding.parameters()));
        }
    }
}
