//! The engine alone, with kernels that check nothing, on an event loop whose order the test decides.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use proptest::prelude::*;
use verilane::engine::{Engine, EngineConfig, Outcome, Overloaded, Shard, Submission, Ticket};
use verilane::kernel::{GROUP_WIDTH, KernelTable, PreparedKey, SIGNATURE_MAX, Scheme};

use crate::support::local::LocalLoop;
use crate::support::null_kernel::{NarrowKernel, any_key, every_scheme, null_kernels, slow_null_kernels};

const GOOD: &[u8] = &[1];
const BAD: &[u8] = &[2];

/// No turn ever ends for want of budget, so that the test sees the rest of the schedule.
fn patient() -> EngineConfig {
    EngineConfig { slots_per_shard: 256, turn_budget: Duration::from_secs(3600), spill: false }
}

fn engine(shards: usize, config: &EngineConfig) -> Engine {
    Engine::new(shards, &null_kernels(), config)
}

fn job<'a>(scheme: Scheme, key: &'a Arc<PreparedKey>, signature: &'a [u8]) -> Submission<'a> {
    Submission { scheme, key, message: Bytes::from_static(b"message"), signature, deadline: None }
}

fn submit(shard: &Shard, signature: &[u8]) -> Result<Ticket, Overloaded> {
    shard.submit(&job(Scheme::Ed25519, &any_key(), signature))
}

/// Submits `count` jobs from as many tasks; the outcomes come out in the order in which the tasks were woken.
fn spawn_checks(tasks: &mut LocalLoop, shard: &Shard, count: usize) -> Rc<RefCell<Vec<(usize, Outcome)>>> {
    let outcomes = Rc::new(RefCell::new(Vec::new()));
    for number in 0..count {
        let (shard, outcomes) = (shard.clone(), Rc::clone(&outcomes));
        tasks.spawn(async move {
            let ticket = submit(&shard, if number % 3 == 0 { BAD } else { GOOD }).expect("a free slot");
            let outcome = ticket.await;
            outcomes.borrow_mut().push((number, outcome));
        });
    }
    outcomes
}

#[test]
fn every_job_gets_its_own_answer_at_every_fill() {
    for count in (0..=2 * GROUP_WIDTH + 1).chain([200]) {
        let engine = engine(1, &patient());
        let shard = engine.shard(0);
        let mut tasks = LocalLoop::default();
        tasks.spawn(shard.clone().run());
        let outcomes = spawn_checks(&mut tasks, &shard, count);
        tasks.run_until_idle();
        let expected: Vec<_> = (0..count).map(|n| (n, if n % 3 == 0 { Outcome::Bad } else { Outcome::Good })).collect();
        assert_eq!(*outcomes.borrow(), expected, "{count} jobs");

        let stats = engine.stats(0).snapshot();
        let filled: u64 = stats.fill.iter().zip(1..).map(|(groups, lanes)| groups * lanes).sum();
        assert_eq!((filled, stats.submitted), (count as u64, count as u64), "{count} jobs");
        assert_eq!(stats.flushed_full, (count / GROUP_WIDTH) as u64, "{count} jobs: full groups");
        assert_eq!(stats.flushed_idle, u64::from(count % GROUP_WIDTH > 0), "{count} jobs: part groups");
        assert_eq!((stats.slots_in_use, shard.slots_free()), (0, 256), "{count} jobs");
    }
}

/// A kernel of one lane gains nothing from a long group; the thread would only stay away from its sockets.
#[test]
fn a_group_of_a_narrow_kernel_is_as_long_as_the_budget_pays_for() {
    // Each job takes longer than the budget: every group is one job, and there is a yield after each.
    let slow: &'static NarrowKernel =
        Box::leak(Box::new(NarrowKernel { busy: Duration::from_micros(300), groups: Vec::new().into() }));
    // The budget pays for any number: after the first, whose cost is unknown, groups are full.
    let quick: &'static NarrowKernel =
        Box::leak(Box::new(NarrowKernel { busy: Duration::ZERO, groups: Vec::new().into() }));
    for (kernel, turn_budget) in [(slow, Duration::from_micros(200)), (quick, Duration::from_secs(3600))] {
        let config = EngineConfig { turn_budget, ..patient() };
        let engine = Engine::new(1, &every_scheme(kernel), &config);
        let shard = engine.shard(0);
        let mut tasks = LocalLoop::default();
        tasks.spawn(shard.clone().run());
        let outcomes = spawn_checks(&mut tasks, &shard, 2 * GROUP_WIDTH + 1);
        tasks.run_until_idle();
        assert_eq!(outcomes.borrow().len(), 2 * GROUP_WIDTH + 1);
    }
    assert_eq!(*slow.groups.lock().unwrap(), [1; 2 * GROUP_WIDTH + 1]);
    assert_eq!(*quick.groups.lock().unwrap(), [1, GROUP_WIDTH, GROUP_WIDTH]);
}

#[test]
fn a_lone_job_runs_as_soon_as_nothing_else_is_ready() {
    let engine = engine(1, &patient());
    let shard = engine.shard(0);
    let mut tasks = LocalLoop::default();
    tasks.spawn(shard.clone().run());
    tasks.run_until_idle();
    let outcomes = spawn_checks(&mut tasks, &shard, 1);
    let mut steps = 0;
    while outcomes.borrow().is_empty() {
        assert!(tasks.step(), "nothing is ready, and the job has not run");
        steps += 1;
    }
    assert_eq!(steps, 4, "submit, wake, yield, answer");
}

#[test]
fn a_part_group_waits_for_tasks_that_are_ready_and_for_what_they_start() {
    let engine = engine(1, &patient());
    let shard = engine.shard(0);
    let mut tasks = LocalLoop::default();
    tasks.spawn(shard.clone().run());
    // Each task steps aside once before it submits, as a protocol does that hands a request to a task of its own.
    for hops in [0, 0, 1, 1, 2] {
        let shard = shard.clone();
        tasks.spawn(async move {
            for _ in 0..hops {
                step_aside().await;
            }
            assert_eq!(submit(&shard, GOOD).expect("a free slot").await, Outcome::Good);
        });
    }
    tasks.run_until_idle();
    let stats = engine.stats(0).snapshot();
    assert_eq!(stats.fill[4], 1, "all five went in one group: {:?}", stats.fill);
}

async fn step_aside() {
    let mut stepped = false;
    std::future::poll_fn(|cx| {
        if stepped {
            return std::task::Poll::Ready(());
        }
        stepped = true;
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

#[test]
fn an_endless_flow_of_one_scheme_does_not_starve_another() {
    let engine = engine(1, &EngineConfig { turn_budget: Duration::ZERO, ..patient() });
    let shard = engine.shard(0);
    let mut tasks = LocalLoop::default();
    tasks.spawn(shard.clone().run());
    let stop = Rc::new(Cell::new(false));
    for _ in 0..4 * GROUP_WIDTH {
        let (shard, stop) = (shard.clone(), Rc::clone(&stop));
        tasks.spawn(async move {
            while !stop.get() {
                submit(&shard, GOOD).expect("a free slot").await;
            }
        });
    }
    for _ in 0..1000 {
        tasks.step();
    }
    let (other, answered) = (shard.clone(), Rc::clone(&stop));
    tasks.spawn(async move {
        let key = any_key();
        let ticket = other.submit(&job(Scheme::RsaPssSha512, &key, GOOD)).expect("a free slot");
        assert_eq!(ticket.await, Outcome::Good);
        answered.set(true);
    });
    for _ in 0..10_000 {
        tasks.step();
    }
    assert!(stop.get(), "the lone job of the other scheme never ran");
}

#[test]
fn a_single_check_passes_a_bulk_request() {
    let engine = engine(1, &EngineConfig { turn_budget: Duration::ZERO, ..patient() });
    let shard = engine.shard(0);
    let bulk = shard.for_bulk();
    let order = Rc::new(RefCell::new(String::new()));
    let mut tasks = LocalLoop::default();
    tasks.spawn(shard.clone().run());
    for (handle, count, name) in [(&bulk, 100, 'b'), (&shard, 1, 's')] {
        for _ in 0..count {
            let (handle, order) = (handle.clone(), Rc::clone(&order));
            tasks.spawn(async move {
                submit(&handle, GOOD).expect("a free slot").await;
                order.borrow_mut().push(name);
            });
        }
    }
    tasks.run_until_idle();
    let order = order.borrow();
    assert_eq!(order.len(), 101);
    assert!(order.find('s').is_some_and(|at| at < GROUP_WIDTH), "{order}");
}

#[test]
fn bulk_is_refused_before_single_checks_are() {
    let engine = engine(1, &EngineConfig { slots_per_shard: 8, ..patient() });
    let shard = engine.shard(0);
    let bulk = shard.for_bulk();
    assert_eq!((shard.slots_free(), bulk.slots_free()), (8, 6));
    let mut held: Vec<_> = (0..6).map(|_| submit(&bulk, GOOD).expect("a slot outside the reserve")).collect();
    assert_eq!(submit(&bulk, GOOD).err(), Some(Overloaded));
    held.extend((0..2).map(|_| submit(&shard, GOOD).expect("a slot of the reserve")));
    assert_eq!(submit(&shard, GOOD).err(), Some(Overloaded));
    assert_eq!(engine.stats(0).snapshot().overloaded, 2);
}

#[test]
fn a_full_arena_refuses_and_recovers() {
    let engine = engine(1, &EngineConfig { slots_per_shard: 3, ..patient() });
    let shard = engine.shard(0);
    let mut tickets: Vec<_> = (0..3).map(|_| submit(&shard, GOOD).expect("a free slot")).collect();
    assert_eq!(submit(&shard, GOOD).err(), Some(Overloaded));
    shard.flush();
    assert_eq!(submit(&shard, GOOD).err(), Some(Overloaded), "an unread answer keeps its slot");
    assert_eq!(tickets[0].outcome(), Some(Outcome::Good));
    let again = submit(&shard, BAD).expect("the slot that was read is free");
    assert_eq!(tickets[0].outcome(), Some(Outcome::Good), "a read ticket keeps its answer, not its slot");
    drop(again);
    let stats = engine.stats(0).snapshot();
    assert_eq!((stats.overloaded, stats.slots_in_use_max, stats.abandoned), (2, 3, 1));
}

#[test]
fn several_jobs_get_slots_together_or_not_at_all() {
    let engine = engine(1, &EngineConfig { slots_per_shard: 4, ..patient() });
    let shard = engine.shard(0);
    let key = any_key();
    let jobs = [GOOD, BAD, GOOD].map(|signature| job(Scheme::Ed25519, &key, signature));
    let mut tickets = Vec::new();
    shard.submit_all(&jobs, &mut tickets).expect("three of four slots");
    let mut refused = Vec::new();
    assert_eq!(shard.submit_all(&jobs[..2], &mut refused), Err(Overloaded));
    assert_eq!((refused.len(), shard.slots_free()), (0, 1));
    shard.flush();
    let outcomes: Vec<_> = tickets.iter_mut().map(Ticket::outcome).collect();
    assert_eq!(outcomes, [Some(Outcome::Good), Some(Outcome::Bad), Some(Outcome::Good)]);
    assert_eq!(engine.stats(0).snapshot().fill[2], 1, "one lane group");
}

#[test]
fn an_abandoned_job_runs_and_frees_its_slot_for_a_stranger() {
    let engine = engine(1, &EngineConfig { slots_per_shard: 1, ..patient() });
    let shard = engine.shard(0);
    let message = Bytes::from(vec![7; 100]);
    let key = any_key();
    let submission =
        Submission { scheme: Scheme::Ed25519, key: &key, message: message.clone(), signature: GOOD, deadline: None };
    drop(shard.submit(&submission).expect("a free slot"));
    drop(submission);
    assert_eq!(shard.slots_free(), 0, "the job still runs");
    shard.flush();
    assert_eq!(shard.slots_free(), 1);
    assert!(message.is_unique() && Arc::strong_count(&key) == 1, "message and key are let go");
    let mut next = submit(&shard, BAD).expect("the same slot");
    assert_eq!(next.outcome(), None, "the stranger does not see the abandoned answer");
    shard.flush();
    assert_eq!(next.outcome(), Some(Outcome::Bad));
    let stats = engine.stats(0).snapshot();
    assert_eq!((stats.abandoned, stats.good, stats.bad), (1, 1, 1));
}

#[test]
fn a_task_dropped_while_it_waits_harms_nobody() {
    let engine = engine(1, &patient());
    let shard = engine.shard(0);
    let mut tasks = LocalLoop::default();
    let first = tasks.spawn({
        let shard = shard.clone();
        async move {
            submit(&shard, GOOD).expect("a free slot").await;
            unreachable!("cancelled before the answer");
        }
    });
    let outcomes = spawn_checks(&mut tasks, &shard, 5);
    tasks.run_until_idle();
    tasks.cancel(first);
    tasks.spawn(shard.clone().run());
    tasks.run_until_idle();
    assert_eq!(outcomes.borrow().len(), 5);
    assert_eq!(shard.slots_free(), 256);
}

#[test]
fn a_job_whose_deadline_has_passed_takes_no_lane() {
    let engine = engine(1, &patient());
    let shard = engine.shard(0);
    let key = any_key();
    let now = Instant::now();
    let late = now.checked_sub(Duration::from_millis(1)).unwrap_or(now);
    let soon = now + Duration::from_secs(3600);
    let deadlines = [None, Some(late), Some(soon)];
    let mut tickets: Vec<_> = (0..120)
        .map(|n| shard.submit(&Submission { deadline: deadlines[n % 3], ..job(Scheme::Ed25519, &key, GOOD) }))
        .map(|ticket| ticket.expect("a free slot"))
        .collect();
    shard.flush();
    for (n, ticket) in tickets.iter_mut().enumerate() {
        let expected = if n % 3 == 1 { Outcome::DeadlineExceeded } else { Outcome::Good };
        assert_eq!(ticket.outcome(), Some(expected), "job {n}");
    }
    let stats = engine.stats(0).snapshot();
    assert_eq!((stats.deadline_exceeded, stats.good), (40, 80));
    assert_eq!(stats.fill[GROUP_WIDTH - 1], 5, "the dead left their lanes to others: {:?}", stats.fill);
}

#[test]
fn a_queue_of_nothing_but_late_jobs_settles() {
    let engine = engine(1, &patient());
    let shard = engine.shard(0);
    let key = any_key();
    let late = Some(Instant::now());
    let mut tickets: Vec<_> = (0..100)
        .map(|_| shard.submit(&Submission { deadline: late, ..job(Scheme::Ed25519, &key, GOOD) }).expect("a slot"))
        .collect();
    shard.flush();
    assert!(tickets.iter_mut().all(|ticket| ticket.outcome() == Some(Outcome::DeadlineExceeded)));
    assert_eq!(engine.stats(0).snapshot().fill, [0; GROUP_WIDTH], "no kernel ran");
}

#[test]
fn a_signature_longer_than_any_scheme_has_is_bad() {
    let engine = engine(1, &patient());
    let shard = engine.shard(0);
    let mut tickets = [SIGNATURE_MAX, SIGNATURE_MAX + 1].map(|length| {
        let signature = vec![1; length];
        submit(&shard, &signature).expect("a free slot")
    });
    assert_eq!(tickets[1].outcome(), Some(Outcome::Bad));
    shard.flush();
    assert_eq!(tickets[0].outcome(), Some(Outcome::Good));
}

#[test]
fn closing_answers_what_was_accepted_and_refuses_the_rest() {
    let engine = engine(1, &patient());
    let shard = engine.shard(0);
    let mut tasks = LocalLoop::default();
    let outcomes = spawn_checks(&mut tasks, &shard, 20);
    tasks.run_until_idle();
    engine.close();
    assert_eq!(submit(&shard, GOOD).err(), Some(Overloaded));
    let runner = tasks.spawn(shard.clone().run());
    tasks.run_until_idle();
    assert!(tasks.ended(runner));
    assert_eq!(outcomes.borrow().len(), 20);
}

#[test]
fn closing_wakes_a_sleeping_runner() {
    let engine = engine(1, &patient());
    let mut tasks = LocalLoop::default();
    let runner = tasks.spawn(engine.shard(0).run());
    tasks.run_until_idle();
    assert!(!tasks.ended(runner));
    engine.close();
    tasks.run_until_idle();
    assert!(tasks.ended(runner));
}

#[test]
fn a_shard_whose_runner_was_dropped_refuses() {
    let engine = engine(1, &patient());
    let shard = engine.shard(0);
    let mut tasks = LocalLoop::default();
    let runner = tasks.spawn(shard.clone().run());
    tasks.run_until_idle();
    assert!(submit(&shard, GOOD).is_ok());
    tasks.cancel(runner);
    assert_eq!(submit(&shard, GOOD).err(), Some(Overloaded));
}

#[test]
#[should_panic(expected = "built before")]
fn a_shard_is_built_once() {
    let engine = engine(1, &patient());
    let _first = engine.shard(0);
    let _second = engine.shard(0);
}

/// Runs shard `index` on this thread until the engine is closed, telling the board when it sleeps.
fn helper_thread(engine: &Engine, index: usize, up: &AtomicBool) {
    let mut tasks = LocalLoop::default();
    let runner = tasks.spawn(engine.shard(index).run());
    loop {
        tasks.run_until_idle();
        if tasks.ended(runner) {
            return;
        }
        engine.thread_parked(index);
        up.store(true, Ordering::Release);
        tasks.sleep(Duration::from_secs(60));
        engine.thread_unparked(index);
    }
}

/// `count` slow jobs on shard 0 beside `helpers` idle shards; the engine closes after `close_after` steps, or at the end.
fn spill_run(count: usize, helpers: usize, close_after: Option<usize>) -> (Engine, Vec<(usize, Outcome)>) {
    let config = EngineConfig { spill: true, turn_budget: Duration::from_micros(100), ..patient() };
    let engine = Engine::new(1 + helpers, &slow_null_kernels(), &config);
    let outcomes = std::thread::scope(|scope| {
        let up: Arc<[AtomicBool]> = (0..helpers).map(|_| AtomicBool::new(false)).collect();
        for helper in 0..helpers {
            let (engine, up) = (engine.clone(), Arc::clone(&up));
            scope.spawn(move || helper_thread(&engine, helper + 1, &up[helper]));
        }
        while !up.iter().all(|flag| flag.load(Ordering::Acquire)) {
            std::thread::yield_now();
        }
        let shard = engine.shard(0);
        let mut tasks = LocalLoop::default();
        let runner = tasks.spawn(shard.clone().run());
        // The first group teaches the shard what a job costs.
        let warm = spawn_checks(&mut tasks, &shard, GROUP_WIDTH);
        tasks.run_until_idle();
        assert_eq!(warm.borrow().len(), GROUP_WIDTH);
        let outcomes = spawn_checks(&mut tasks, &shard, count);
        let mut steps = 0;
        while !tasks.ended(runner) {
            if !tasks.step() {
                if outcomes.borrow().len() == count {
                    engine.close();
                } else {
                    assert!(tasks.sleep(Duration::from_secs(60)), "lent groups never came back");
                }
            }
            steps += 1;
            if Some(steps) == close_after {
                engine.close();
            }
        }
        tasks.run_until_idle();
        outcomes.take()
    });
    (engine, outcomes)
}

fn assert_each_answered_once(mut outcomes: Vec<(usize, Outcome)>, count: usize) {
    outcomes.sort_by_key(|(number, _)| *number);
    let expected: Vec<_> = (0..count).map(|n| (n, if n % 3 == 0 { Outcome::Bad } else { Outcome::Good })).collect();
    assert_eq!(outcomes, expected);
}

#[test]
fn a_shard_that_is_behind_lends_full_groups_to_an_idle_one() {
    let (engine, outcomes) = spill_run(240, 1, None);
    assert_each_answered_once(outcomes, 240);
    let (owner, helper) = (engine.stats(0).snapshot(), engine.stats(1).snapshot());
    assert!(owner.spilled_out > 0, "{owner:?}");
    assert!(helper.spilled_in <= owner.spilled_out, "{helper:?}");
    let jobs = |index: usize| engine.stats(index).snapshot().schemes[Scheme::Ed25519.index()].jobs;
    assert_eq!(jobs(0) + jobs(1), 240 + GROUP_WIDTH as u64, "every job ran once");
    assert_eq!(owner.good + owner.bad, 240 + GROUP_WIDTH as u64, "the owner settles");
}

#[test]
fn closing_settles_groups_that_are_lent_out() {
    for close_after in [241, 242, 243, 245, 250, 270] {
        let (engine, outcomes) = spill_run(240, 2, Some(close_after));
        assert_each_answered_once(outcomes, 240);
        assert_eq!(engine.stats(0).snapshot().slots_in_use, 0, "closed after {close_after} steps");
    }
}

/// Two shards on one thread, the second marked asleep, so that the first lends to it; every group costs more than the
/// budget and than what is worth lending for. Returns the answers to `count` jobs, in order.
fn lend_on_one_thread(engine: &Engine, shards: &[Shard; 2], messages: impl Iterator<Item = Bytes>) -> Vec<Outcome> {
    let mut tasks = LocalLoop::default();
    for shard in shards {
        tasks.spawn(shard.clone().run());
    }
    engine.thread_parked(1);
    // The first group teaches the shard what a job costs.
    let warm = spawn_checks(&mut tasks, &shards[0], 1);
    tasks.run_until_idle();
    assert_eq!(warm.borrow().len(), 1);
    let key = any_key();
    let outcomes = Rc::new(RefCell::new(Vec::new()));
    for message in messages {
        let ticket = shards[0].submit(&Submission { message, ..job(Scheme::Ed25519, &key, GOOD) }).expect("a slot");
        let outcomes = Rc::clone(&outcomes);
        tasks.spawn(async move {
            let outcome = ticket.await;
            outcomes.borrow_mut().push(outcome);
        });
    }
    tasks.run_until_idle();
    outcomes.take()
}

#[test]
fn a_lent_group_of_a_narrow_kernel_is_cut_as_well() {
    const JOBS: usize = 3 * GROUP_WIDTH;
    let kernel: &'static NarrowKernel =
        Box::leak(Box::new(NarrowKernel { busy: Duration::from_micros(300), groups: Vec::new().into() }));
    let config = EngineConfig { spill: true, turn_budget: Duration::from_micros(200), ..patient() };
    let engine = Engine::new(2, &every_scheme(kernel), &config);
    let shards = [engine.shard(0), engine.shard(1)];
    let messages = std::iter::repeat_n(Bytes::from_static(b"message"), JOBS);
    assert_eq!(lend_on_one_thread(&engine, &shards, messages), [Outcome::Good; JOBS]);
    assert_eq!(*kernel.groups.lock().unwrap(), [1; JOBS + 1]);
    let [owner, helper] = [0, 1].map(|shard| engine.stats(shard).snapshot());
    assert!(helper.spilled_in > 0, "{owner:?}");
    let flushed = |count: fn(&verilane::engine::StatsSnapshot) -> u64| count(&owner) + count(&helper);
    assert_eq!(flushed(|stats| stats.flushed_full), 0);
    // The lone job at the start and the last of all left nobody waiting, so no budget cut them.
    assert_eq!(flushed(|stats| stats.flushed_idle), 2);
    assert_eq!(flushed(|stats| stats.flushed_budget), JOBS as u64 - 1);
}

#[test]
fn messages_are_dropped_where_they_may_come_back() {
    thread_local! {
        static SHARDS: RefCell<Option<[Shard; 2]>> = const { RefCell::new(None) };
        static DROPPED: Cell<usize> = const { Cell::new(0) };
    }
    /// Submits and abandons a job on both shards when it is dropped.
    struct Meddler;
    impl AsRef<[u8]> for Meddler {
        fn as_ref(&self) -> &[u8] {
            b"message"
        }
    }
    impl Drop for Meddler {
        fn drop(&mut self) {
            SHARDS.with_borrow(|shards| shards.iter().flatten().for_each(|shard| drop(submit(shard, GOOD))));
            DROPPED.set(DROPPED.get() + 1);
        }
    }

    const JOBS: usize = 3 * GROUP_WIDTH;
    let engine = Engine::new(2, &slow_null_kernels(), &EngineConfig { spill: true, ..patient() });
    let shards = [engine.shard(0), engine.shard(1)];
    SHARDS.set(Some(shards.clone()));
    let messages = std::iter::repeat_with(|| Bytes::from_owner(Meddler)).take(JOBS);
    assert_eq!(lend_on_one_thread(&engine, &shards, messages), [Outcome::Good; JOBS]);
    assert!(engine.stats(1).snapshot().spilled_in > 0, "the helper dropped some");
    assert_eq!(DROPPED.get(), JOBS);
    SHARDS.set(None);
}

#[test]
fn nothing_is_lent_without_leave_or_without_a_sleeper() {
    for (spill, asleep) in [(false, true), (true, false)] {
        let config = EngineConfig { spill, ..patient() };
        let engine = Engine::new(2, &slow_null_kernels(), &config);
        let mut tasks = LocalLoop::default();
        let shard = engine.shard(0);
        tasks.spawn(shard.clone().run());
        let other = tasks.spawn(engine.shard(1).run());
        if asleep {
            engine.thread_parked(1);
        }
        let outcomes = spawn_checks(&mut tasks, &shard, 100);
        tasks.run_until_idle();
        assert_each_answered_once(outcomes.take(), 100);
        assert_eq!(engine.stats(0).snapshot().spilled_out, 0, "spill {spill}, asleep {asleep}");
        assert!(!tasks.ended(other));
    }
}

#[test]
fn memory_is_counted_from_the_configuration() {
    let one = engine(1, &EngineConfig::default()).memory_bytes();
    let two = engine(2, &EngineConfig { spill: false, ..EngineConfig::default() }).memory_bytes();
    assert_eq!(2 * one, two);
    assert!((4096 * SIGNATURE_MAX..4096 * 1400).contains(&one), "{one}");
    assert!(engine(2, &EngineConfig::default()).memory_bytes() > two, "blocks to lend are counted");
}

#[test]
fn a_real_kernel_gives_the_same_answers_in_every_lane() {
    let engine = Engine::new(1, &KernelTable::select::<&str>(&[]).expect("the default selection"), &patient());
    let shard = engine.shard(0);
    // RFC 4231, test case 6: a key of 131 bytes.
    let key = Arc::new(PreparedKey::hmac(&[0xaa; 131]).expect("a long secret"));
    let good: Vec<u8> = (0..64)
        .step_by(2)
        .map(|at| {
            let hex = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
            u8::from_str_radix(&hex[at..at + 2], 16).expect("two hex digits")
        })
        .collect();
    for at in 0..GROUP_WIDTH {
        let mut tickets: Vec<_> = (0..GROUP_WIDTH)
            .map(|lane| {
                let mut signature = good.clone();
                signature[lane] ^= u8::from(lane != at);
                let message = Bytes::from_static(b"Test Using Larger Than Block-Size Key - Hash Key First");
                let signature = &signature[..];
                let job = Submission { scheme: Scheme::HmacSha256, key: &key, message, signature, deadline: None };
                shard.submit(&job).expect("a free slot")
            })
            .collect();
        shard.flush();
        for (lane, ticket) in tickets.iter_mut().enumerate() {
            let expected = if lane == at { Outcome::Good } else { Outcome::Bad };
            assert_eq!(ticket.outcome(), Some(expected), "lane {lane}, good lane {at}");
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Submit { scheme: Scheme, good: bool, late: bool, bulk: bool },
    Flush,
    Read(usize),
    Drop(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let scheme = prop::sample::select(&Scheme::ALL[..4]);
    prop_oneof![
        6 => (scheme, any::<bool>(), prop::bool::weighted(0.1), any::<bool>())
            .prop_map(|(scheme, good, late, bulk)| Step::Submit { scheme, good, late, bulk }),
        1 => Just(Step::Flush),
        3 => any::<usize>().prop_map(Step::Read),
        2 => any::<usize>().prop_map(Step::Drop),
    ]
}

proptest! {
    /// Any order of submitting, running, reading and dropping: each ticket reads its own outcome, slots never leak.
    #[test]
    fn agrees_with_a_model_of_slots(steps in prop::collection::vec(step(), 1..300)) {
        const SLOTS: usize = 40;
        let engine = engine(1, &EngineConfig { slots_per_shard: SLOTS, ..patient() });
        let shard = engine.shard(0);
        let bulk_handle = shard.for_bulk();
        let key = any_key();
        let late_deadline = Instant::now();
        // Each ticket with the outcome it must have once it has run, and whether it has run.
        let mut live: Vec<(Ticket, Outcome, bool)> = Vec::new();
        let mut abandoned = 0;
        for step in steps {
            let used = live.len() + abandoned;
            match step {
                Step::Submit { scheme, good, late, bulk } => {
                    let handle = if bulk { &bulk_handle } else { &shard };
                    let room = if bulk { SLOTS - SLOTS / 4 } else { SLOTS };
                    let deadline = late.then_some(late_deadline);
                    let signature = if good { GOOD } else { BAD };
                    let answer = handle.submit(&Submission { deadline, ..job(scheme, &key, signature) });
                    prop_assert_eq!(answer.is_ok(), used < room);
                    if let Ok(ticket) = answer {
                        let expected = match (late, good) {
                            (true, _) => Outcome::DeadlineExceeded,
                            (false, true) => Outcome::Good,
                            (false, false) => Outcome::Bad,
                        };
                        live.push((ticket, expected, false));
                    }
                }
                Step::Flush => {
                    shard.flush();
                    abandoned = 0;
                    live.iter_mut().for_each(|(_, _, ran)| *ran = true);
                }
                Step::Read(at) if !live.is_empty() => {
                    let at = at % live.len();
                    let (ticket, expected, ran) = &mut live[at];
                    prop_assert_eq!(ticket.outcome(), ran.then_some(*expected));
                    if *ran {
                        drop(live.swap_remove(at));
                    }
                }
                Step::Drop(at) if !live.is_empty() => {
                    let (ticket, _, ran) = live.swap_remove(at % live.len());
                    drop(ticket);
                    abandoned += usize::from(!ran);
                }
                Step::Read(_) | Step::Drop(_) => {}
            }
            prop_assert_eq!(shard.slots_free(), SLOTS - live.len() - abandoned);
        }
    }
}
