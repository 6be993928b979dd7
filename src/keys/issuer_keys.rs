//! The current key set of one issuer, shared by all shards.

use std::sync::Arc;
use std::time::Instant;

use super::KeySet;

/// Handle on the key set of one issuer: readers load whole snapshots without a lock, one background task replaces
/// them.
#[derive(Debug, Default)]
pub struct IssuerKeys {}

impl IssuerKeys {
    /// A set that never changes by itself.
    #[must_use]
    pub fn fixed(set: KeySet) -> Arc<Self> {
        todo!()
    }

    /// The current set; `None` if none was ever loaded or it is older than its hard age at `now`.
    #[must_use]
    pub fn load(&self, now: Instant) -> Option<Arc<KeySet>> {
        todo!()
    }

    /// Replaces the set as a whole.
    pub fn publish(&self, set: KeySet, usable_until: Option<Instant>) {
        todo!()
    }

    /// Reports a `kid` that is not in the current set. A remote source answers with a wait if a refetch is (now)
    /// under way, bounded by rate limit and negative cache; other sources answer `None`: reject at once.
    pub fn unknown_key_id(&self, key_id: &str, now: Instant) -> Option<Refetch> {
        todo!()
    }
}

/// A refetch under way. Await it (bounded by the caller), then look in the new set.
#[derive(Debug)]
pub struct Refetch {}

impl Refetch {
    /// Completes when the refetch ended, well or not.
    pub async fn finished(self) {
        todo!()
    }
}
