//! HMAC (RFC 2104) with SHA-256, SHA-384 and SHA-512. Owns the secret and what all backends accept.
//!
//! # Secrets, checked once when loaded
//! At least as long as the hash of the scheme (RFC 7518 section 3.2): 32, 48 or 64 bytes. A shorter secret does not
//! serve the longer hashes; below 32 bytes it is not a secret at all.
//!
//! # Tags
//! The whole tag, never a part of it. The length is public and compared first; the bytes are compared in constant time,
//! as the right tag is a secret of whoever may not sign.
//!
//! # What is kept
//! Only the hash states after the inner and the outer pad, never the secret's own bytes. They are as good as the secret
//! for forging, so they are wiped when dropped, as are their copies and the computed tag of every check.

mod portable;

use ::hmac::{Hmac, KeyInit};
use sha2::{Sha256, Sha384, Sha512};

use super::{Entry, KeyError, Scheme};

/// A secret prepared for the hashes it is long enough for.
pub struct SecretKey {
    // Boxed, so that moving the key leaves no copies behind.
    states: Box<PadStates>,
}

/// Hash states after the pads.
struct PadStates {
    sha256: Hmac<Sha256>,
    sha384: Option<Hmac<Sha384>>,
    sha512: Option<Hmac<Sha512>>,
}

/// Compiles only while the hashes, whose states are all that a pad state holds, wipe themselves.
const _: () = {
    const fn wiped_on_drop<T: zeroize::ZeroizeOnDrop>() {}
    wiped_on_drop::<Sha256>();
    wiped_on_drop::<Sha384>();
    wiped_on_drop::<Sha512>();
};

impl SecretKey {
    pub(super) fn new(secret: &[u8]) -> Result<Self, KeyError> {
        let shortest = tag_len(Scheme::HmacSha256);
        if secret.len() < shortest {
            return Err(KeyError::SecretTooShort { got: secret.len(), expected: shortest, scheme: Scheme::HmacSha256 });
        }
        let sha384 = (secret.len() >= tag_len(Scheme::HmacSha384)).then(|| prepare(secret)).transpose()?;
        let sha512 = (secret.len() >= tag_len(Scheme::HmacSha512)).then(|| prepare(secret)).transpose()?;
        Ok(Self { states: Box::new(PadStates { sha256: prepare(secret)?, sha384, sha512 }) })
    }

    pub(super) fn supports(&self, scheme: Scheme) -> bool {
        match scheme {
            Scheme::HmacSha256 => true,
            Scheme::HmacSha384 => self.states.sha384.is_some(),
            Scheme::HmacSha512 => self.states.sha512.is_some(),
            _ => false,
        }
    }
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("hmac::SecretKey").finish_non_exhaustive()
    }
}

/// Bytes of the tag, which is also the shortest secret of the scheme. Zero for what is not HMAC.
pub(super) const fn tag_len(scheme: Scheme) -> usize {
    match scheme {
        Scheme::HmacSha256 => 32,
        Scheme::HmacSha384 => 48,
        Scheme::HmacSha512 => 64,
        _ => 0,
    }
}

/// HMAC takes secrets of every length; the library's error is for ciphers.
fn prepare<M: KeyInit>(secret: &[u8]) -> Result<M, KeyError> {
    M::new_from_slice(secret).map_err(|_| KeyError::Rejected)
}

/// Best first.
pub const ENTRIES: &[Entry] = &[
    Entry {
        scheme: Scheme::HmacSha256,
        backend: "portable",
        needs: "",
        open: || Some(&portable::Portable(portable::Hash::Sha256)),
    },
    Entry {
        scheme: Scheme::HmacSha384,
        backend: "portable",
        needs: "",
        open: || Some(&portable::Portable(portable::Hash::Sha384)),
    },
    Entry {
        scheme: Scheme::HmacSha512,
        backend: "portable",
        needs: "",
        open: || Some(&portable::Portable(portable::Hash::Sha512)),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_serves_the_hashes_it_is_long_enough_for() {
        let cases = [(32, [true, false, false]), (47, [true, false, false]), (48, [true, true, false])];
        let more = [(63, [true, true, false]), (64, [true, true, true]), (300, [true, true, true])];
        for (len, want) in cases.into_iter().chain(more) {
            let key = SecretKey::new(&vec![7; len]).unwrap();
            let got = [Scheme::HmacSha256, Scheme::HmacSha384, Scheme::HmacSha512].map(|scheme| key.supports(scheme));
            assert_eq!(got, want, "{len} bytes");
        }
        for len in [0, 1, 31] {
            let want = KeyError::SecretTooShort { got: len, expected: 32, scheme: Scheme::HmacSha256 };
            assert_eq!(SecretKey::new(&vec![7; len]).err(), Some(want));
        }
    }

    #[test]
    fn debug_output_holds_nothing_of_the_secret() {
        let key = SecretKey::new(b"correct horse battery staple, and a bit more of it").unwrap();
        assert_eq!(format!("{key:?}"), "hmac::SecretKey { .. }");
    }
}
