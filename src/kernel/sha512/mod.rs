//! SHA-512 (FIPS 180-4) inside signature kernels: many messages side by side.
//!
//! `portable` is the `sha2` crate, one message at a time; `avx512_x8` hashes eight messages in the lanes of a register.
//! Messages are two 32-byte pieces and a body, as Ed25519 hashes them: nothing is copied to join them.

#[cfg(target_arch = "x86_64")]
pub(in crate::kernel) mod avx512_x8;
pub(in crate::kernel) mod portable;

/// One message: the concatenation of three parts.
#[derive(Clone, Copy, Debug)]
pub(in crate::kernel) struct Message<'a> {
    /// The first 32 bytes.
    pub(in crate::kernel) first: &'a [u8; 32],
    /// The next 32 bytes.
    pub(in crate::kernel) second: &'a [u8; 32],
    /// The rest.
    pub(in crate::kernel) body: &'a [u8],
}

/// Bytes of a block.
const BLOCK: usize = 128;

/// Bytes in front of the body.
const PREFIX: usize = 64;

/// Bytes that padding adds at least: the bit 1 and the length.
const PADDING_MIN: usize = 17;

impl Message<'_> {
    /// Blocks to hash, padding included.
    pub(in crate::kernel) fn blocks(&self) -> usize {
        (PREFIX + self.body.len() + PADDING_MIN).div_ceil(BLOCK)
    }
}
