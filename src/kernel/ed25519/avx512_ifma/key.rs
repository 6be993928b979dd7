//! What a key holds for this kernel: its point, its table of the current tier, and how much it is used.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;

use super::layout::Layout;
use super::table::{AffinePoint, Table};
use crate::kernel::Tier;
use crate::kernel::cpu::HaveAvx512;

static SMALL: Layout = Layout::new(63);
static MEDIUM: Layout = Layout::new(36);
static LARGE: Layout = Layout::new(24);
static FULL: Layout = Layout::new(21);

/// The digits of the tables of a tier.
fn layout(tier: Tier) -> Option<&'static Layout> {
    match tier {
        Tier::Bare => None,
        Tier::Small => Some(&SMALL),
        Tier::Medium => Some(&MEDIUM),
        Tier::Large => Some(&LARGE),
        Tier::Full => Some(&FULL),
    }
}

/// The part of a key that belongs to this kernel. Empty and small on CPUs that cannot run it.
#[derive(Debug, Default)]
pub(in crate::kernel::ed25519) struct LaneKey {
    /// The opposite of the key's point, once somebody needed it.
    point: OnceLock<AffinePoint>,
    table: ArcSwapOption<Table>,
    uses: AtomicU64,
}

impl LaneKey {
    /// The current tier; `None` if this CPU cannot run the kernel.
    pub(in crate::kernel::ed25519) fn tier(&self) -> Option<Tier> {
        HaveAvx512::detect()?;
        let table = self.table.load();
        let tier = |table: &Arc<Table>| {
            let same = |tier: &Tier| layout(*tier).is_some_and(|layout| std::ptr::eq(layout, table.layout()));
            Tier::ALL.into_iter().find(same)
        };
        table.as_ref().map_or(Some(Tier::Bare), tier)
    }

    /// Bytes of a table of that tier.
    pub(in crate::kernel::ed25519) fn bytes(tier: Tier) -> usize {
        layout(tier).map_or(0, Table::bytes)
    }

    /// Builds the table of that tier and puts it in place of the current one. Nothing happens if this CPU cannot run the
    /// kernel or the key has that tier. `encoded` is the key's own encoding.
    pub(in crate::kernel::ed25519) fn set_tier(&self, encoded: &[u8; 32], tier: Tier) {
        let Some(have) = HaveAvx512::detect() else { return };
        if self.tier() == Some(tier) {
            return;
        }
        let table = layout(tier).map(|layout| Arc::new(Table::build(have, self.point(have, encoded), layout)));
        self.table.store(table);
    }

    /// Signatures checked with this key so far.
    pub(in crate::kernel::ed25519) fn uses(&self) -> u64 {
        self.uses.load(Ordering::Relaxed)
    }

    /// Counts signatures.
    pub(super) fn count_uses(&self, uses: u64) {
        self.uses.fetch_add(uses, Ordering::Relaxed);
    }

    /// The table at this moment.
    pub(super) fn table(&self) -> arc_swap::Guard<Option<Arc<Table>>> {
        self.table.load()
    }

    /// The opposite of the key's point, if it is known already.
    pub(super) fn known_point(&self) -> Option<&AffinePoint> {
        self.point.get()
    }

    /// Remembers the opposite of the key's point.
    pub(super) fn remember_point(&self, point: AffinePoint) {
        // Whoever was first found the same.
        let _ = self.point.set(point);
    }

    fn point(&self, have: HaveAvx512, encoded: &[u8; 32]) -> &AffinePoint {
        self.point.get_or_init(|| AffinePoint::decode(have, encoded).negate(have))
    }
}
