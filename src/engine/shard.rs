//! One thread's engine: takes jobs in, forms lane groups, runs kernels, settles. Everything here belongs to one thread;
//! the only thing other threads touch is the shard's post on the board (`spill.rs`).
//!
//! Foreign code (wakers, and the drops of messages and keys) runs only while the state is not borrowed, because it may
//! come back and submit or drop a ticket.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::{Duration, Instant};

use arrayvec::ArrayVec;

use super::arena::{Arena, Released, SlotId, SlotIndex};
use super::context::Context;
use super::fleet::Fleet;
use super::schedule::{Class, Eligible, Schedule};
use super::spill::{Block, Post};
use super::stats::{Flush, ShardStats};
use super::ticket::Ticket;
use super::{Outcome, Overloaded, Submission};
use crate::kernel::{GROUP_WIDTH, LaneMask, SIGNATURE_MAX, Scheme};

/// A backlog longer than this is worth waking an idle thread for: a wake costs a few microseconds.
const SPILL_BACKLOG_NS: u64 = 100_000;

/// How many times in a row a part-filled group lets the event loop go first while new jobs keep coming. One round is
/// enough for handlers that are ready now; the others serve protocols that reach `submit` over several tasks.
const PATIENCE_YIELDS: u32 = 3;

/// What one group lets go of: its lanes, and as many jobs whose deadline had passed.
type Settled = ArrayVec<Released, { 2 * GROUP_WIDTH }>;

/// One thread's engine. A handle: cheap to clone, bound to its thread.
#[derive(Clone)]
pub struct Shard {
    inner: Rc<ShardInner>,
    class: Class,
}

pub(super) struct ShardInner {
    fleet: Arc<Fleet>,
    index: usize,
    stats: Arc<ShardStats>,
    runner: Cell<Runner>,
    state: RefCell<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Runner {
    NotStarted,
    Running,
    Ended,
}

struct State {
    arena: Arena,
    schedule: Schedule,
    context: Context,
    /// Moving average of kernel time a job, in nanoseconds; 0 until the first group.
    cost_ns: [u64; Scheme::COUNT],
    /// Blocks at home.
    blocks: Vec<Block>,
    /// Blocks lent out.
    blocks_away: usize,
}

/// One turn of the runner: how long it has been at it.
struct Turn {
    started: Instant,
    now: Instant,
}

impl Turn {
    fn start() -> Self {
        let now = Instant::now();
        Self { started: now, now }
    }

    fn spent(&self, budget: Duration) -> bool {
        self.now.duration_since(self.started) >= budget
    }
}

impl Shard {
    pub(super) fn new(fleet: Arc<Fleet>, index: usize) -> Self {
        let slots = fleet.config.slots_per_shard;
        let state = State {
            arena: Arena::new(slots),
            schedule: Schedule::new(slots),
            context: Context::new(&fleet.kernels),
            cost_ns: [0; Scheme::COUNT],
            blocks: fleet.blocks(index),
            blocks_away: 0,
        };
        let stats = Arc::clone(&fleet.board.post(index).stats);
        let runner = Cell::new(Runner::NotStarted);
        let inner = ShardInner { fleet, index, stats, runner, state: RefCell::new(state) };
        Self { inner: Rc::new(inner), class: Class::Single }
    }

    /// The same shard for the jobs of bulk requests: single checks pass them, and they leave a quarter of the slots
    /// free, so that a bulk request is told `Overloaded` before anybody else is.
    #[must_use]
    pub fn for_bulk(&self) -> Self {
        Self { inner: Rc::clone(&self.inner), class: Class::Bulk }
    }

    /// Its position among the shards of the engine.
    #[must_use]
    pub fn index(&self) -> usize {
        self.inner.index
    }

    /// Whether the engine was closed: then every submission is refused for good.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.inner.fleet.closed()
    }

    /// Takes a slot for a job.
    ///
    /// # Errors
    /// [`Overloaded`] at once when no slot is free, or the engine is closed.
    pub fn submit(&self, submission: &Submission<'_>) -> Result<Ticket, Overloaded> {
        self.inner.admit(1, self.class)?;
        self.take(submission)
    }

    /// Takes slots for several jobs that belong together (the candidate keys of one token): all of them or none. Those
    /// of one scheme stand next to each other in the queue. Tickets come in the order of `submissions`.
    ///
    /// # Errors
    /// [`Overloaded`] at once, with no slot taken and `tickets` untouched, when there are not enough.
    pub fn submit_all(
        &self,
        submissions: &[Submission<'_>],
        tickets: &mut impl Extend<Ticket>,
    ) -> Result<(), Overloaded> {
        self.inner.admit(submissions.len(), self.class)?;
        for submission in submissions {
            tickets.extend(Some(self.take(submission)?));
        }
        Ok(())
    }

    /// The second half of submission, after [`ShardInner::admit`] has counted the slots.
    fn take(&self, submission: &Submission<'_>) -> Result<Ticket, Overloaded> {
        if submission.signature.len() > SIGNATURE_MAX {
            self.inner.stats.settled(Outcome::Bad);
            return Ok(Ticket::done(Outcome::Bad));
        }
        let (slot, first) = {
            let state = &mut *self.inner.state.borrow_mut();
            let slot = state.arena.claim(submission).ok_or(Overloaded)?;
            let first = state.schedule.waiting() == 0;
            state.schedule.push(submission.scheme, self.class, slot.index);
            self.inner.stats.submitted(state.arena.slots_in_use());
            (slot, first)
        };
        if first {
            // The runner sleeps only while nothing waits.
            self.inner.post().runner.wake();
        }
        Ok(Ticket::waiting(Rc::clone(&self.inner), slot))
    }

    /// Slots this handle could take now.
    #[must_use]
    pub fn slots_free(&self) -> usize {
        self.inner.slots_free(self.class)
    }

    /// The runner for an event loop that has no better way to step aside than to wake itself at once. See
    /// [`Shard::run_with`].
    pub async fn run(self) {
        self.run_with(yield_once).await;
    }

    /// The runner: spawn it once on the shard's thread and let it end by itself. Ends after
    /// [`Engine::close`](super::Engine::close) when nothing is pending.
    ///
    /// `yield_now` lets everything that is ready go first. Where the event loop offers a way to come back only after it
    /// has looked for new I/O (on tokio `tokio::task::yield_now`), fill is better than with [`Shard::run`].
    ///
    /// Full groups run at once, within the turn's budget. Part-filled groups run when a yield brought no new job, or
    /// after a few yields, and then oldest scheme first.
    ///
    /// # Panics
    /// If the shard has been given a runner before.
    pub async fn run_with<Y, F>(self, mut yield_now: Y)
    where
        Y: FnMut() -> F,
        F: Future<Output = ()>,
    {
        let shard = &*self.inner;
        let _running = Running::start(shard);
        let budget = shard.fleet.config.turn_budget;
        let mut patience = 0;
        while poll_fn(|cx| shard.poll_work(cx)).await {
            let mut turn = Turn::start();
            shard.settle_returns();
            // Whatever the budget, a turn runs one group.
            while shard.run_group(Eligible::Full, &mut turn) && !turn.spent(budget) {}
            let served = !turn.spent(budget) && shard.serve_others();
            let arrivals = shard.arrivals();
            if !served && !turn.spent(budget) && shard.waiting() == 0 {
                patience = 0;
                continue;
            }
            yield_now().await;
            patience += 1;
            let now = shard.arrivals();
            if now == arrivals || patience >= PATIENCE_YIELDS {
                let mut turn = Turn::start();
                let mut more = shard.run_group(Eligible::ArrivedBefore(now), &mut turn);
                while more && !turn.spent(budget) {
                    more = shard.run_group(Eligible::ArrivedBefore(now), &mut turn);
                }
                // With the budget spent and old jobs left, the next round runs them after one yield.
                patience = if more { PATIENCE_YIELDS } else { 0 };
                if more {
                    yield_now().await;
                }
            }
        }
    }

    /// Runs everything pending at once, on this stack. For callers without an event loop.
    pub fn flush(&self) {
        self.inner.settle_returns();
        let mut turn = Turn::start();
        let now = self.inner.arrivals();
        while self.inner.run_group(Eligible::ArrivedBefore(now), &mut turn) {}
    }
}

impl std::fmt::Debug for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shard").field("index", &self.inner.index).finish_non_exhaustive()
    }
}

impl ShardInner {
    fn post(&self) -> &Post {
        self.fleet.board.post(self.index)
    }

    fn waiting(&self) -> usize {
        self.state.borrow().schedule.waiting()
    }

    fn arrivals(&self) -> u64 {
        self.state.borrow().schedule.arrivals()
    }

    fn slots_free(&self, class: Class) -> usize {
        let free = self.state.borrow().arena.slots_free();
        match class {
            Class::Single => free,
            Class::Bulk => free.saturating_sub(self.fleet.config.slots_per_shard / 4),
        }
    }

    fn admit(&self, jobs: usize, class: Class) -> Result<(), Overloaded> {
        let refused = self.fleet.closed() || self.runner.get() == Runner::Ended || self.slots_free(class) < jobs;
        if refused {
            self.stats.overloaded(jobs);
            return Err(Overloaded);
        }
        Ok(())
    }

    pub(super) fn poll_slot(&self, slot: SlotId, waker: &Waker) -> Poll<Outcome> {
        // Bound to a name, so that the borrow ends before the old waker is dropped.
        let (answer, _old_waker) = {
            let state = &mut *self.state.borrow_mut();
            let answer = state.arena.poll(slot, waker);
            if answer.0.is_ready() {
                self.stats.slots_in_use(state.arena.slots_in_use());
            }
            answer
        };
        answer
    }

    pub(super) fn try_take(&self, slot: SlotId) -> Option<Outcome> {
        let state = &mut *self.state.borrow_mut();
        let outcome = state.arena.try_take(slot);
        self.stats.slots_in_use(state.arena.slots_in_use());
        outcome
    }

    pub(super) fn abandon(&self, slot: SlotId) {
        let (_waker, unsettled) = {
            let state = &mut *self.state.borrow_mut();
            let answer = state.arena.abandon(slot);
            self.stats.slots_in_use(state.arena.slots_in_use());
            answer
        };
        if unsettled {
            self.stats.abandoned();
        }
    }

    /// `true`: there is something to do. `false`: closed, and nothing left.
    fn poll_work(&self, cx: &TaskContext<'_>) -> Poll<bool> {
        let look = || {
            let (waiting, blocks_away) = {
                let state = self.state.borrow();
                (state.schedule.waiting(), state.blocks_away)
            };
            if waiting > 0 || self.post().has_mail() {
                Some(true)
            } else {
                (self.fleet.closed() && blocks_away == 0).then_some(false)
            }
        };
        if let Some(answer) = look() {
            return Poll::Ready(answer);
        }
        self.post().runner.register(cx.waker());
        look().map_or(Poll::Pending, Poll::Ready)
    }

    /// Runs, or lends to an idle shard, the next lane group that may run. `false`: there is none.
    fn run_group(&self, eligible: Eligible, turn: &mut Turn) -> bool {
        let mut settled = Settled::new();
        {
            let state = &mut *self.state.borrow_mut();
            let Some(scheme) = state.schedule.choose(eligible) else { return false };
            if eligible == Eligible::Full
                && let Some(helper) = self.helper_for(state, scheme)
            {
                self.lend(state, scheme, helper, turn, &mut settled);
            } else {
                self.run_here(state, scheme, turn, &mut settled);
            }
            self.stats.slots_in_use(state.arena.slots_in_use());
        }
        wake_all(settled);
        true
    }

    fn run_here(&self, state: &mut State, scheme: Scheme, turn: &mut Turn, settled: &mut Settled) {
        let most = self.group_max(state, scheme);
        let lanes = self.take_lanes(state, scheme, most, turn.now, settled);
        if lanes.is_empty() {
            return;
        }
        let why = flush_reason(state, scheme, lanes.len(), most);
        let State { arena, context, .. } = state;
        let jobs: ArrayVec<_, GROUP_WIDTH> = lanes.iter().map(|slot| arena.job(*slot)).collect();
        let started = Instant::now();
        let mask = context.run(scheme, &jobs);
        turn.now = Instant::now();
        drop(jobs);
        self.stats.flushed(why);
        self.ran(state, scheme, lanes.len(), turn.now.duration_since(started));
        self.settle(state, lanes.into_iter(), mask, settled);
    }

    /// The longest group worth running: as many jobs as the kernel has lanes, and beyond that what the turn's budget
    /// pays for by the moving average. A kernel of one lane gains nothing from a longer group, which would only keep
    /// the thread from its sockets.
    fn group_max(&self, state: &State, scheme: Scheme) -> usize {
        let lanes = state.context.lanes(scheme);
        let budget = u64::try_from(self.fleet.config.turn_budget.as_nanos()).unwrap_or(u64::MAX);
        let paid = budget.checked_div(state.cost_ns[scheme.index()]).unwrap_or(0);
        usize::try_from(paid).unwrap_or(GROUP_WIDTH).clamp(lanes, GROUP_WIDTH)
    }

    /// Up to `most` jobs in order of arrival. Those whose deadline has passed settle instead of taking a
    /// lane; if there are very many of them, the group stays short and the rest goes with the next.
    fn take_lanes(
        &self,
        state: &mut State,
        scheme: Scheme,
        most: usize,
        now: Instant,
        settled: &mut Settled,
    ) -> ArrayVec<SlotIndex, GROUP_WIDTH> {
        let mut lanes = ArrayVec::new();
        while lanes.len() < most && settled.len() < GROUP_WIDTH {
            let Some(slot) = state.schedule.pop(scheme) else { break };
            if state.arena.expired(slot, now) {
                let (released, _) = state.arena.settle(slot, Outcome::DeadlineExceeded);
                self.stats.settled(Outcome::DeadlineExceeded);
                settled.push(released);
            } else {
                lanes.push(slot);
            }
        }
        lanes
    }

    fn settle(&self, state: &mut State, slots: impl Iterator<Item = SlotIndex>, mask: LaneMask, settled: &mut Settled) {
        for (lane, slot) in slots.enumerate() {
            let outcome = if mask.contains(lane) { Outcome::Good } else { Outcome::Bad };
            let (released, _) = state.arena.settle(slot, outcome);
            self.stats.settled(outcome);
            settled.push(released);
        }
    }

    fn ran(&self, state: &mut State, scheme: Scheme, jobs: usize, time: Duration) {
        self.stats.ran(scheme, jobs, time);
        let sample = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX) / jobs as u64;
        let cost = &mut state.cost_ns[scheme.index()];
        *cost = if *cost == 0 { sample.max(1) } else { (cost.saturating_mul(7).saturating_add(sample)) / 8 };
    }

    /// The idle shard that should run the next group of `scheme`, of which sixteen wait: only if this shard is behind, and would still
    /// have work of its own.
    fn helper_for(&self, state: &State, scheme: Scheme) -> Option<usize> {
        if state.blocks.is_empty() || self.fleet.closed() {
            return None;
        }
        let cost = |scheme: Scheme, jobs: usize| state.cost_ns[scheme.index()].saturating_mul(jobs as u64);
        let backlog = Scheme::ALL
            .into_iter()
            .fold(0_u64, |sum, scheme| sum.saturating_add(cost(scheme, state.schedule.waiting_of(scheme))));
        let group = cost(scheme, self.group_max(state, scheme));
        let rest = backlog.saturating_sub(group);
        if backlog <= SPILL_BACKLOG_NS || rest < group.min(SPILL_BACKLOG_NS) {
            return None;
        }
        self.fleet.board.idle_helper(self.index)
    }

    /// Lends the next group, as long as it would be here: it keeps the helper from its sockets just as well.
    fn lend(&self, state: &mut State, scheme: Scheme, helper: usize, turn: &mut Turn, settled: &mut Settled) {
        let most = self.group_max(state, scheme);
        let lanes = self.take_lanes(state, scheme, most, turn.now, settled);
        if lanes.is_empty() {
            return;
        }
        let mut block = state.blocks.pop().expect("a helper is looked for only with a block at home");
        block.start(scheme, flush_reason(state, scheme, lanes.len(), most));
        for slot in lanes {
            let (load, signature) = state.arena.lend(slot);
            block.push(slot, load, signature);
        }
        match self.fleet.board.hand_over(helper, block) {
            Ok(()) => {
                state.blocks_away += 1;
                self.stats.spilled_out();
            }
            // Another owner was quicker. The group is formed already, so it runs here.
            Err(block) => {
                self.take_back(state, block, settled);
                turn.now = Instant::now();
            }
        }
    }

    /// Settles a block of this shard's own, after running it if nobody has.
    fn take_back(&self, state: &mut State, mut block: Block, settled: &mut Settled) {
        let mask = match block.answer() {
            Some(mask) => mask,
            None => {
                let mask = self.run_block(state, &mut block);
                // What the jobs held leaves with what they settle to, like that of any other group.
                for (slot, load) in block.take_loads() {
                    state.arena.restore(slot, load);
                }
                mask
            }
        };
        self.settle(state, block.slots(), mask, settled);
        state.blocks.push(block);
    }

    fn run_block(&self, state: &mut State, block: &mut Block) -> LaneMask {
        let started = Instant::now();
        let mask = block.run(&mut state.context);
        if block.filled() > 0 {
            self.stats.flushed(block.why());
            self.ran(state, block.scheme(), block.filled(), started.elapsed());
        }
        mask
    }

    /// Settles what helpers have sent back.
    fn settle_returns(&self) {
        while let Some(block) = self.post().next_return() {
            let mut settled = Settled::new();
            {
                let state = &mut *self.state.borrow_mut();
                state.blocks_away -= 1;
                self.take_back(state, block, &mut settled);
            }
            wake_all(settled);
        }
    }

    /// Runs one group for a shard that is behind. `false`: nobody asked.
    fn serve_others(&self) -> bool {
        let Some(mut block) = self.post().next_request() else { return false };
        self.run_block(&mut self.state.borrow_mut(), &mut block);
        let loads: ArrayVec<_, GROUP_WIDTH> = block.take_loads().collect();
        self.stats.spilled_in();
        // Home first: whatever the drops do, the owner gets its answer.
        self.fleet.board.give_back(block);
        drop(loads);
        true
    }
}

/// Why a group of `jobs` runs now, when `most` may run at once and the rest of `scheme` still waits.
fn flush_reason(state: &State, scheme: Scheme, jobs: usize, most: usize) -> Flush {
    match jobs {
        GROUP_WIDTH => Flush::Full,
        _ if jobs == most && state.schedule.waiting_of(scheme) > 0 => Flush::Budget,
        _ => Flush::Idle,
    }
}

/// Wakes each waiting task once, and drops what the jobs held.
fn wake_all(settled: Settled) {
    let mut previous = None;
    for released in settled {
        released.wake(&mut previous);
    }
}

/// Marks the runner as alive; however it ends, blocks of other shards go home and later submissions are refused.
struct Running<'a>(&'a ShardInner);

impl<'a> Running<'a> {
    fn start(shard: &'a ShardInner) -> Self {
        assert!(shard.runner.get() == Runner::NotStarted, "shard {} has a runner already", shard.index);
        shard.runner.set(Runner::Running);
        shard.fleet.board.start_accepting(shard.index);
        Self(shard)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.runner.set(Runner::Ended);
        self.0.fleet.board.stop_accepting(self.0.index);
    }
}

/// Steps aside once, asking to be polled again at once.
async fn yield_once() {
    let mut yielded = false;
    poll_fn(|cx| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
