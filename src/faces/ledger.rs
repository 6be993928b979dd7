//! How much of what clients sent a shard holds at once. Bounds on single bodies say little when a client may have a
//! thousand of them open; this bound is on the sum.

use std::cell::Cell;
use std::rc::Rc;

/// What a header field takes besides its name and value, as HTTP/2 counts it (RFC 9113 section 6.5.2). A field that is
/// sent as one byte counts in full: compression is no way around the bound.
pub const FIELD_BYTES: usize = 32;

/// What a message of many requests takes, as a multiple of its bytes: itself; the decoded texts or segments, which the
/// answers keep; the answers as they are written, in a buffer that doubles.
const BATCH_FACTOR: usize = 3;

/// What one request and its answer take besides their texts, from decoding to the answer that is written.
const ITEM_BYTES: usize = 1024;

/// What `items` requests that came in `bytes` bytes are counted as, with their answers.
#[must_use]
pub const fn batch_bytes(bytes: usize, items: usize) -> usize {
    bytes.saturating_mul(BATCH_FACTOR).saturating_add(items.saturating_mul(ITEM_BYTES))
}

/// The account of one shard. Cheap to clone, bound to its thread.
#[derive(Clone, Debug)]
pub struct Ledger {
    held: Rc<Cell<usize>>,
    max: usize,
}

/// Bytes on the account. They are off it again when the claim is dropped.
#[derive(Debug)]
pub struct Claim {
    ledger: Ledger,
    bytes: usize,
}

impl Ledger {
    /// An account for at most `max` bytes.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self { held: Rc::default(), max }
    }

    /// The same account for batches and streams: they leave a quarter of it to single calls.
    #[must_use]
    pub fn for_bulk(&self) -> Self {
        Self { held: Rc::clone(&self.held), max: self.max - self.max / 4 }
    }

    /// A claim on nothing yet.
    #[must_use]
    pub fn open(&self) -> Claim {
        Claim { ledger: self.clone(), bytes: 0 }
    }

    /// A claim on `bytes`; `None` if that is more than is left.
    #[must_use]
    pub fn claim(&self, bytes: usize) -> Option<Claim> {
        let mut claim = self.open();
        claim.grow(bytes).then_some(claim)
    }

    /// Bytes on the account.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.get()
    }
}

impl Claim {
    /// Adds `bytes`. `false`, and nothing changed, if that is more than is left.
    #[must_use]
    pub fn grow(&mut self, bytes: usize) -> bool {
        let Ledger { held: account, max } = &self.ledger;
        match account.get().checked_add(bytes) {
            Some(held) if held <= *max => {
                account.set(held);
                self.bytes += bytes;
                true
            }
            _ => false,
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let account = &self.ledger.held;
        account.set(account.get() - self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_add_up_to_the_bound_and_give_back_what_they_took() {
        let ledger = Ledger::new(10);
        let mut first = ledger.claim(4).unwrap();
        assert!(first.grow(2));
        assert!(!first.grow(5), "beyond the bound");
        assert!(!first.grow(usize::MAX));
        let second = ledger.claim(4).unwrap();
        assert!(ledger.claim(1).is_none());
        assert_eq!(ledger.held(), 10);
        drop(first);
        assert_eq!(ledger.held(), 4);
        drop(second);
        assert_eq!(ledger.held(), 0);
    }

    #[test]
    fn bulk_leaves_a_quarter_to_single_calls() {
        let ledger = Ledger::new(8);
        let bulk = ledger.for_bulk();
        let mut claim = bulk.claim(6).unwrap();
        assert!(!claim.grow(1));
        let single = ledger.claim(2).unwrap();
        assert!(ledger.claim(1).is_none() && bulk.claim(1).is_none());
        drop((claim, single));
        assert_eq!(ledger.held(), 0);
    }
}
