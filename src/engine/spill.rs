//! The one hand-over between threads: a full lane group goes to an idle shard in a block and comes back with its mask.
//!
//! Blocks are allocated with their shard and recycled; they travel by value through bounded lock-free queues that hold
//! as many as there are, so a push never fails. A block is always in exactly one place: its owner's pool, a helper's
//! inbox, a helper's hands, or its owner's returns.
//!
//! Nobody waits for a helper that is gone. A helper that stops clears `accepting` and then empties its inbox; an owner
//! pushes and then looks at `accepting`, emptying the inbox itself if it is clear. Both orders are made visible by
//! sequentially consistent fences, so at least one of the two sees the other. A block that comes back unrun is run by
//! its owner.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use atomic_waker::AtomicWaker;
use crossbeam_queue::ArrayQueue;

use super::arena::{Load, SlotIndex};
use super::context::Context;
use super::stats::{Flush, ShardStats};
use crate::kernel::{GROUP_WIDTH, Job, LaneMask, SIGNATURE_MAX, Scheme};

/// How many groups one shard may have lent out at once. More would only queue up behind the helper.
pub(super) const BLOCKS_PER_SHARD: usize = 4;

/// Blocks a helper may have waiting. A helper is chosen when it has none, so this is met only by owners in a race.
const INBOX_BLOCKS: usize = 2;

struct Lane {
    slot: SlotIndex,
    load: Option<Load>,
    signature_len: u16,
    signature: [u8; SIGNATURE_MAX],
}

/// One lane group on its way.
pub(super) struct Block {
    owner: usize,
    scheme: Scheme,
    why: Flush,
    filled: usize,
    answer: Option<LaneMask>,
    lanes: Box<[Lane; GROUP_WIDTH]>,
}

impl Block {
    pub(super) fn new(owner: usize) -> Self {
        let lane = |_| Lane { slot: SlotIndex::new(0), load: None, signature_len: 0, signature: [0; SIGNATURE_MAX] };
        let lanes = Box::new(std::array::from_fn(lane));
        Self { owner, scheme: Scheme::Ed25519, why: Flush::Full, filled: 0, answer: None, lanes }
    }

    /// Bytes one block takes.
    pub(super) const MEMORY_BYTES: usize = size_of::<Self>() + size_of::<[Lane; GROUP_WIDTH]>();

    /// Makes an empty group of it, to be run for the reason that `why` says.
    pub(super) fn start(&mut self, scheme: Scheme, why: Flush) {
        self.scheme = scheme;
        self.why = why;
        self.filled = 0;
        self.answer = None;
    }

    /// Adds a job. There are at most [`GROUP_WIDTH`].
    pub(super) fn push(&mut self, slot: SlotIndex, load: Load, signature: &[u8]) {
        let lane = &mut self.lanes[self.filled];
        lane.slot = slot;
        lane.load = Some(load);
        lane.signature_len = signature.len() as u16;
        lane.signature[..signature.len()].copy_from_slice(signature);
        self.filled += 1;
    }

    pub(super) const fn scheme(&self) -> Scheme {
        self.scheme
    }

    pub(super) const fn why(&self) -> Flush {
        self.why
    }

    pub(super) const fn filled(&self) -> usize {
        self.filled
    }

    /// The answer, if somebody has run the block.
    pub(super) const fn answer(&self) -> Option<LaneMask> {
        self.answer
    }

    /// Runs the kernel. What it read stays until [`Block::take_loads`].
    pub(super) fn run(&mut self, context: &mut Context) -> LaneMask {
        let mut jobs = arrayvec::ArrayVec::<Job<'_>, GROUP_WIDTH>::new();
        for lane in &self.lanes[..self.filled] {
            let load = lane.load.as_ref().expect("a filled lane has its load until it has run");
            let (key, message) = (&*load.key, &load.message[..]);
            jobs.push(Job { key, message, signature: &lane.signature[..usize::from(lane.signature_len)] });
        }
        let mask = context.run(self.scheme, &jobs);
        drop(jobs);
        self.answer = Some(mask);
        mask
    }

    /// What the jobs hold, with their slots. Dropping it may run foreign code, so whoever takes it does so where no state
    /// is borrowed.
    pub(super) fn take_loads(&mut self) -> impl Iterator<Item = (SlotIndex, Load)> + '_ {
        let filled = self.lanes[..self.filled].iter_mut();
        filled.filter_map(|lane| lane.load.take().map(|load| (lane.slot, load)))
    }

    /// The slots of the lanes, in lane order.
    pub(super) fn slots(&self) -> impl Iterator<Item = SlotIndex> + '_ {
        self.lanes[..self.filled].iter().map(|lane| lane.slot)
    }
}

/// What other threads see of one shard.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Post {
    /// The thread sleeps in its event loop.
    parked: AtomicBool,
    /// The runner lives and will look into the inbox again.
    accepting: AtomicBool,
    inbox: ArrayQueue<Block>,
    returns: ArrayQueue<Block>,
    pub(super) runner: AtomicWaker,
    pub(super) built: AtomicBool,
    pub(super) stats: Arc<ShardStats>,
}

impl Post {
    fn new() -> Self {
        Self {
            parked: AtomicBool::new(false),
            accepting: AtomicBool::new(false),
            inbox: ArrayQueue::new(INBOX_BLOCKS),
            returns: ArrayQueue::new(BLOCKS_PER_SHARD),
            runner: AtomicWaker::new(),
            built: AtomicBool::new(false),
            stats: Arc::default(),
        }
    }

    fn idle(&self) -> bool {
        self.parked.load(Ordering::Relaxed) && self.accepting.load(Ordering::Relaxed) && self.inbox.is_empty()
    }

    /// Whether a runner should get up for other shards' sake.
    pub(super) fn has_mail(&self) -> bool {
        !self.inbox.is_empty() || !self.returns.is_empty()
    }

    pub(super) fn next_return(&self) -> Option<Block> {
        self.returns.pop()
    }

    pub(super) fn next_request(&self) -> Option<Block> {
        self.inbox.pop()
    }
}

/// Every shard's post, by index.
#[derive(Debug)]
pub(super) struct Board(Box<[Post]>);

impl Board {
    pub(super) fn new(shards: usize) -> Self {
        Self((0..shards).map(|_| Post::new()).collect())
    }

    pub(super) const fn shards(&self) -> usize {
        self.0.len()
    }

    pub(super) fn post(&self, shard: usize) -> &Post {
        &self.0[shard]
    }

    pub(super) fn wake_all(&self) {
        self.0.iter().for_each(|post| post.runner.wake());
    }

    pub(super) fn set_parked(&self, shard: usize, parked: bool) {
        self.0[shard].parked.store(parked, Ordering::Relaxed);
    }

    /// A shard other than `from` that sleeps and has nothing waiting; neighbours first, so that owners spread.
    pub(super) fn idle_helper(&self, from: usize) -> Option<usize> {
        let count = self.shards();
        (1..count).map(|step| (from + step) % count).find(|shard| self.0[*shard].idle())
    }

    /// Hands a block to a helper. It comes back through the owner's returns, run or unrun.
    ///
    /// # Errors
    /// The block itself, if the helper has too many already.
    pub(super) fn hand_over(&self, helper: usize, block: Block) -> Result<(), Block> {
        let post = &self.0[helper];
        post.inbox.push(block)?;
        fence(Ordering::SeqCst);
        if post.accepting.load(Ordering::Relaxed) {
            post.runner.wake();
        } else {
            self.send_back_all(helper);
        }
        Ok(())
    }

    /// Returns a block to its owner and wakes it.
    pub(super) fn give_back(&self, block: Block) {
        let owner = &self.0[block.owner];
        let returned = owner.returns.push(block);
        assert!(returned.is_ok(), "an owner has room for all its blocks");
        owner.runner.wake();
    }

    pub(super) fn start_accepting(&self, shard: usize) {
        self.0[shard].accepting.store(true, Ordering::Relaxed);
    }

    /// The runner of `shard` ends: what still lies in its inbox goes back unrun.
    pub(super) fn stop_accepting(&self, shard: usize) {
        self.0[shard].accepting.store(false, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.send_back_all(shard);
    }

    fn send_back_all(&self, shard: usize) {
        while let Some(block) = self.0[shard].inbox.pop() {
            self.give_back(block);
        }
    }
}
