//! One message at a time, by the `sha2` crate.

use sha2::{Digest, Sha512};

use super::Message;

/// The hash as little-endian words: word `i` holds bytes `8 i` to `8 i + 7` of the digest, lowest first.
pub(in crate::kernel) fn hash(message: &Message<'_>) -> [u64; 8] {
    let digest = Sha512::new().chain_update(message.first).chain_update(message.second).chain_update(message.body);
    let digest: [u8; 64] = digest.finalize().into();
    let (words, _) = digest.as_chunks::<8>();
    std::array::from_fn(|i| u64::from_le_bytes(words[i]))
}
