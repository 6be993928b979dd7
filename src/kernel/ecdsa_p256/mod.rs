//! Contract; the kernel author fills it.
use super::{Entry, KeyError, Scheme};

/// Key.
#[derive(Debug)]
pub struct PublicKey {}
impl PublicKey {
    pub(super) fn new(_x: &[u8], _y: &[u8]) -> Result<Self, KeyError> {
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
