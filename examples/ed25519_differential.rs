//! Millions of Ed25519 checks, every kernel of this CPU against `ed25519-dalek`: the long form of what the tests do in
//! short. Prints the seed, the count and the share of good signatures, or the first disagreement.
//!
//! ```text
//! cargo run --release --example ed25519_differential -- --count 10000000 [--seed N] [--threads N]
//! ```

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use verilane::kernel::{GROUP_WIDTH, Job, Kernel, LaneMask, Scheme, Tier, available};

#[path = "../tests/it/support/ed25519_cases.rs"]
mod ed25519_cases;
#[path = "../tests/it/support/random.rs"]
#[allow(dead_code, reason = "shared with the tests, which use more of it")]
mod random;

use ed25519_cases::{Check, checks, keys};
use random::Random;

/// Most work goes where most traffic goes; large tables take longest to build.
const TIERS: [Tier; 8] =
    [Tier::Bare, Tier::Bare, Tier::Small, Tier::Small, Tier::Small, Tier::Medium, Tier::Medium, Tier::Large];

struct Options {
    count: u64,
    seed: u64,
    threads: u64,
}

fn options() -> Result<Options, String> {
    let clock =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64);
    let mut options = Options { count: 100_000, seed: clock, threads: 1 };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().and_then(|value| value.parse().ok());
        let value = value.ok_or_else(|| format!("{name} needs a number"))?;
        match name.as_str() {
            "--count" => options.count = value,
            "--seed" => options.seed = value,
            "--threads" => options.threads = value,
            _ => return Err(format!("unknown option {name}")),
        }
    }
    Ok(options)
}

/// Compares one pool of checks on one kernel: groups of random fill, then one long run.
fn compare(kernel: &dyn Kernel, pool: &[Check], random: &mut Random) -> Result<(), String> {
    let mut scratch = kernel.scratch();
    let jobs: Vec<Job<'_>> = pool.iter().map(Check::job).collect();
    let mut at = 0;
    while at < jobs.len() {
        let fill = (1 + random.below(GROUP_WIDTH)).min(jobs.len() - at);
        let mask = kernel.run(&mut scratch, &jobs[at..at + fill]);
        right(mask, &pool[at..at + fill])?;
        at += fill;
    }
    let mut masks = vec![LaneMask::NONE; jobs.len().div_ceil(GROUP_WIDTH)];
    kernel.run_many(&mut scratch, &jobs, &mut masks);
    masks.iter().zip(pool.chunks(GROUP_WIDTH)).try_for_each(|(mask, group)| right(*mask, group))
}

fn right(mask: LaneMask, group: &[Check]) -> Result<(), String> {
    for lane in 0..GROUP_WIDTH {
        let good = group.get(lane).is_some_and(|check| check.good);
        if mask.contains(lane) != good {
            let what = group.get(lane).map_or_else(|| "an idle lane".to_owned(), Check::describe);
            return Err(format!("lane {lane} of {}: {what}", group.len()));
        }
    }
    Ok(())
}

/// Runs `count` checks; returns how many were good.
fn run(count: u64, seed: u64, done: &AtomicU64) -> Result<u64, String> {
    let mut random = Random::from_seed(seed);
    let mut good = 0;
    let mut left = count;
    while left > 0 {
        let keys = keys(48, &TIERS, &mut random);
        let mut pool: Vec<Check> = Vec::new();
        for _ in 0..6 {
            for key in &keys {
                pool.extend(checks(key, &keys, &mut random));
            }
        }
        pool.truncate(left.min(pool.len() as u64) as usize);
        random.shuffle(&mut pool);
        good += pool.iter().filter(|check| check.good).count() as u64;
        for (entry, kernel) in available(Scheme::Ed25519).filter(|(entry, _)| entry.backend != "portable") {
            compare(kernel, &pool, &mut random).map_err(|what| format!("{}: {what}", entry.name()))?;
        }
        left -= pool.len() as u64;
        done.fetch_add(pool.len() as u64, Ordering::Relaxed);
    }
    Ok(good)
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(what) => {
            eprintln!("{what}");
            return ExitCode::from(2);
        }
    };
    let names: Vec<String> = available(Scheme::Ed25519).map(|(entry, _)| entry.name()).collect();
    println!("kernels: {}; seed {}", names.join(", "), options.seed);
    let done = AtomicU64::new(0);
    let threads = options.threads.max(1);
    let outcome: Result<u64, String> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|thread| {
                let share = options.count / threads + u64::from(thread < options.count % threads);
                let done = &done;
                scope.spawn(move || run(share, options.seed.wrapping_add(thread), done))
            })
            .collect();
        running.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?).sum()
    });
    let done = done.into_inner();
    match outcome {
        Ok(good) => {
            println!(
                "{done} checks, {good} of them good, each in a group of random fill and in a long run: all as the oracle"
            );
            ExitCode::SUCCESS
        }
        Err(what) => {
            println!("after {done} checks: DISAGREEMENT, {what}");
            ExitCode::FAILURE
        }
    }
}
