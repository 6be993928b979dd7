//! The engine allocates nothing after start. A binary of its own, because it counts every allocation of the process.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use verilane::engine::{Engine, EngineConfig, Outcome, Shard, StatsSnapshot, Submission, Ticket};
use verilane::kernel::{GROUP_WIDTH, KernelTable, PreparedKey, Scheme};

#[allow(dead_code, reason = "shared with the other test binary, which uses more of it")]
#[path = "it/support/null_kernel.rs"]
mod null_kernel;

use null_kernel::{any_key, null_kernels};

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// Counts allocations, reallocations and frees of the calling thread.
struct Counting;

fn count() {
    // A thread that is ending has no counter any more, and nothing to prove.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every method hands its arguments on to the system's allocator, which keeps the contract; counting touches a
// constant-initialised thread-local cell and does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise about `layout` is the one `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: `pointer` came from `System`, because every allocation here does.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn during(work: impl FnOnce()) -> u64 {
    let before = COUNT.get();
    work();
    COUNT.get() - before
}

const SLOTS: usize = 64;

/// Everything a round needs, allocated before the counting starts.
struct Bench {
    engine: Engine,
    shard: Shard,
    jobs: Vec<(Scheme, Arc<PreparedKey>, Bytes, Vec<u8>)>,
    tickets: Vec<Ticket>,
}

impl Bench {
    fn new(kernels: &KernelTable, jobs: Vec<(Scheme, Arc<PreparedKey>, Bytes, Vec<u8>)>) -> Self {
        let config = EngineConfig { slots_per_shard: SLOTS, turn_budget: Duration::ZERO, spill: true };
        let engine = Engine::new(2, kernels, &config);
        Self { shard: engine.shard(0), engine, jobs, tickets: Vec::with_capacity(4 * SLOTS) }
    }

    /// One round: more jobs than there are slots, some too late, some abandoned before and some after they ran.
    fn round(&mut self, number: usize, runner: &mut Pin<&mut impl Future<Output = ()>>) {
        let mut cx = Context::from_waker(Waker::noop());
        let late = Instant::now();
        let bulk = self.shard.for_bulk();
        for n in 0..SLOTS + number % 40 {
            let (scheme, key, message, signature) = &self.jobs[(n + number) % self.jobs.len()];
            let submission = Submission {
                scheme: *scheme,
                key,
                message: message.clone(),
                signature,
                deadline: (n % 7 == 3).then_some(late),
            };
            let handle = if n % 5 == 0 { &bulk } else { &self.shard };
            if let Ok(mut ticket) = handle.submit(&submission) {
                assert!(Pin::new(&mut ticket).poll(&mut cx).is_pending());
                self.tickets.push(ticket);
            }
            if n % 11 == 5 {
                drop(self.tickets.pop());
            }
        }
        while self.engine.stats(0).snapshot().slots_in_use as usize > self.tickets.len() || !self.all_settled() {
            assert!(runner.as_mut().poll(&mut cx).is_pending());
        }
        self.tickets.drain(..number % 3).for_each(drop);
        for mut ticket in self.tickets.drain(..) {
            assert!(Pin::new(&mut ticket).poll(&mut cx).is_ready());
        }
        assert_eq!(self.shard.slots_free(), SLOTS);
    }

    fn all_settled(&self) -> bool {
        let stats = self.engine.stats(0).snapshot();
        stats.submitted == stats.good + stats.bad + stats.deadline_exceeded
    }
}

/// The real path: a submitter, the runner, and the answer, thousands of times. Returns what the counters say.
fn assert_no_allocation(name: &str, mut bench: Bench, rounds: usize) -> StatsSnapshot {
    let mut runner = pin!(bench.shard.clone().run());
    let allocations = during(|| (0..rounds).for_each(|number| bench.round(number, &mut runner)));
    let stats = bench.engine.stats(0).snapshot();
    assert_eq!(allocations, 0, "{name}: allocations and frees in {} jobs", stats.submitted);
    assert!(stats.submitted > (rounds * SLOTS / 2) as u64, "{name}: {stats:?}");
    for (what, seen) in [
        ("good", stats.good),
        ("bad", stats.bad),
        ("overload", stats.overloaded),
        ("deadline", stats.deadline_exceeded),
        ("abandoned", stats.abandoned),
    ] {
        assert!(seen > 0, "{name}: the rounds never met {what}: {stats:?}");
    }
    stats
}

#[test]
fn the_counter_counts() {
    assert_eq!(during(|| drop(std::hint::black_box(Box::new(1)))), 2);
    assert_eq!(during(|| ()), 0);
}

#[test]
fn the_engine_allocates_nothing_with_the_null_kernel() {
    let key = any_key();
    let message = Bytes::from(vec![1; 400]);
    let schemes = Scheme::ALL.into_iter().step_by(5);
    let jobs = schemes.map(|scheme| (scheme, Arc::clone(&key), message.clone(), vec![scheme.index() as u8; 64]));
    let stats = assert_no_allocation("null", Bench::new(&null_kernels(), jobs.collect()), 2000);
    assert!(stats.flushed_full > 0 && stats.flushed_idle > 0, "full and part groups: {stats:?}");
}

#[test]
fn the_engine_allocates_nothing_with_portable_kernels() {
    let kernels = KernelTable::select(&["portable"]).expect("portable kernels exist");
    let message = Bytes::from(vec![1; 400]);
    let hmac = any_key();
    // RFC 8032, section 7.1, test 1: the empty message. Good, because dalek boxes the error of a bad signature; that is
    // the kernel's and not the engine's.
    let hex = |text: &str| -> Vec<u8> {
        let digits = (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16));
        digits.collect::<Result<_, _>>().expect("hexadecimal digits")
    };
    let public = hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
    let signature = hex(concat!(
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155",
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
    ));
    let ed25519 = Arc::new(PreparedKey::ed25519(&public).expect("a public key"));
    let jobs = vec![
        (Scheme::HmacSha256, Arc::clone(&hmac), message.clone(), vec![1; 32]),
        (Scheme::HmacSha512, hmac, message, vec![1; 64]),
        (Scheme::Ed25519, ed25519, Bytes::new(), signature),
    ];
    let stats = assert_no_allocation("portable", Bench::new(&kernels, jobs), 60);
    assert!(stats.flushed_budget > 0, "no budget, and kernels of one lane: groups are cut: {stats:?}");
}

#[test]
fn lending_allocates_nothing() {
    let config = EngineConfig { slots_per_shard: 8 * GROUP_WIDTH, ..EngineConfig::default() };
    let engine = Engine::new(2, &null_kernel::slow_null_kernels(), &config);
    let key = any_key();
    let (shard, other) = (engine.shard(0), engine.shard(1));
    let (mut runner, mut helper) = (pin!(shard.clone().run()), pin!(other.run()));
    let mut tickets = Vec::with_capacity(8 * GROUP_WIDTH);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(runner.as_mut().poll(&mut cx).is_pending() && helper.as_mut().poll(&mut cx).is_pending());
    engine.thread_parked(1);
    let allocations = during(|| {
        for _ in 0..20 {
            for n in 0..8 * GROUP_WIDTH {
                let message = Bytes::from_static(b"message");
                let signature = &[(n % 2) as u8][..];
                let job = Submission { scheme: Scheme::Ed25519, key: &key, message, signature, deadline: None };
                tickets.push(shard.submit(&job).expect("a free slot"));
            }
            while tickets.iter_mut().any(|ticket| ticket.outcome().is_none()) {
                assert!(runner.as_mut().poll(&mut cx).is_pending() && helper.as_mut().poll(&mut cx).is_pending());
            }
            for (n, mut ticket) in tickets.drain(..).enumerate() {
                let expected = if n % 2 == 1 { Outcome::Good } else { Outcome::Bad };
                assert_eq!(ticket.outcome(), Some(expected));
            }
        }
    });
    assert_eq!(allocations, 0);
    let lent = engine.stats(0).snapshot().spilled_out;
    assert!(lent > 0 && lent == engine.stats(1).snapshot().spilled_in, "{lent} groups lent");
    assert_eq!(Poll::Ready(()), {
        engine.close();
        runner.as_mut().poll(&mut cx)
    });
}
