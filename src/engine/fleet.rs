//! All shards of a process together: the plan they are built from, the board on which they see each other, and the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::arena::Arena;
use super::schedule::Schedule;
use super::shard::Shard;
use super::spill::{BLOCKS_PER_SHARD, Block, Board};
use super::stats::ShardStats;
use crate::kernel::KernelTable;

/// Sizes and budgets of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineConfig {
    /// Jobs a shard can hold at once; at least 1. Default 4096.
    pub slots_per_shard: usize,
    /// How long a runner's turn may run kernels before it yields to the event loop. Default 100 us.
    pub turn_budget: Duration,
    /// Whether full groups may be handed to an idle shard. Default true.
    pub spill: bool,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self { slots_per_shard: 4096, turn_budget: Duration::from_micros(100), spill: true }
    }
}

/// All shards of the process: what they share is the board on which they see each other's load. `Send + Sync`.
#[derive(Clone, Debug)]
pub struct Engine(Arc<Fleet>);

#[derive(Debug)]
pub(super) struct Fleet {
    pub(super) config: EngineConfig,
    pub(super) kernels: KernelTable,
    pub(super) board: Board,
    closed: AtomicBool,
}

impl Fleet {
    pub(super) fn closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Whether groups can leave their shard at all.
    pub(super) fn spills(&self) -> bool {
        self.config.spill && self.board.shards() > 1
    }

    fn blocks_per_shard(&self) -> usize {
        if self.spills() { BLOCKS_PER_SHARD } else { 0 }
    }

    /// The blocks shard `owner` may lend.
    pub(super) fn blocks(&self, owner: usize) -> Vec<Block> {
        (0..self.blocks_per_shard()).map(|_| Block::new(owner)).collect()
    }
}

impl Engine {
    /// Plans `shards` shards (at least 1). Arena and schedule of a shard are allocated by [`Engine::shard`].
    #[must_use]
    pub fn new(shards: usize, kernels: &KernelTable, config: &EngineConfig) -> Self {
        let config = EngineConfig { slots_per_shard: config.slots_per_shard.max(1), ..config.clone() };
        Self(Arc::new(Fleet {
            config,
            kernels: kernels.clone(),
            board: Board::new(shards.max(1)),
            closed: AtomicBool::new(false),
        }))
    }

    /// How many shards.
    #[must_use]
    pub fn shards(&self) -> usize {
        self.0.board.shards()
    }

    /// The kernels in use.
    #[must_use]
    pub fn kernels(&self) -> &KernelTable {
        &self.0.kernels
    }

    /// Sizes and budgets in use.
    #[must_use]
    pub fn config(&self) -> &EngineConfig {
        &self.0.config
    }

    /// Builds shard `index` on the calling thread, which owns it from then on: arena, context, groups.
    ///
    /// # Panics
    /// If the shard was built before, or `index` is out of range.
    #[must_use]
    pub fn shard(&self, index: usize) -> Shard {
        let built_before = self.0.board.post(index).built.swap(true, Ordering::Relaxed);
        assert!(!built_before, "shard {index} was built before");
        Shard::new(Arc::clone(&self.0), index)
    }

    /// Counters of one shard, readable from any thread.
    ///
    /// # Panics
    /// If `index` is out of range.
    #[must_use]
    pub fn stats(&self, index: usize) -> Arc<ShardStats> {
        Arc::clone(&self.0.board.post(index).stats)
    }

    /// Bytes all shards together keep allocated for slots, order and lent groups. Scratch of kernels is not in it.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let slots = self.0.config.slots_per_shard;
        let blocks = self.0.blocks_per_shard() * Block::MEMORY_BYTES;
        self.shards() * (Arena::memory_bytes(slots) + Schedule::memory_bytes(slots) + blocks)
    }

    /// The thread of shard `index` goes to sleep in its event loop: others may hand it full groups. Called by whoever
    /// runs the event loop; without it no group is ever handed to this shard.
    pub fn thread_parked(&self, index: usize) {
        self.0.board.set_parked(index, true);
    }

    /// The thread of shard `index` is awake again.
    pub fn thread_unparked(&self, index: usize) {
        self.0.board.set_parked(index, false);
    }

    /// Stops accepting jobs on every shard; runners end once their accepted jobs are answered.
    pub fn close(&self) {
        self.0.closed.store(true, Ordering::Release);
        self.0.board.wake_all();
    }
}
