//! Contract; the kernel author fills it.
use super::{Entry, KeyError, Scheme};

/// Key.
#[derive(Debug)]
pub struct SecretKey {}
impl SecretKey {
    pub(super) fn new(_encoded: &[u8]) -> Result<Self, KeyError> {
        todo!()
    }
    pub(super) fn supports(&self, _scheme: Scheme) -> bool {
        todo!()
    }
    pub(super) fn modulus_len(&self) -> usize {
        todo!()
    }
}
/// Best first.
pub const ENTRIES: &[Entry] = &[];
