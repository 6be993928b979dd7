//! Ed25519 in lanes: all tiers of tables, mixed groups, long runs, and tables that change under way. Every answer is
//! compared with that of `ed25519-dalek`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use verilane::kernel::{GROUP_WIDTH, Job, Kernel, LaneMask, PreparedKey, Scheme, Tier, available};

use crate::support::ed25519_cases::{Check, checks, keys};
use crate::support::random::Random;

/// Tiers that a debug build makes in no time.
const TIERS: [Tier; 3] = [Tier::Bare, Tier::Small, Tier::Medium];

fn compare(kernel: &dyn Kernel, checks: &[&Check]) {
    let jobs: Vec<Job<'_>> = checks.iter().map(|check| check.job()).collect();
    let mut scratch = kernel.scratch();
    let assert_right = |mask: LaneMask, group: &[&Check], how: &str| {
        for lane in 0..GROUP_WIDTH {
            let good = group.get(lane).is_some_and(|check| check.good);
            let what = group.get(lane).map_or_else(|| "an idle lane".to_owned(), |check| check.describe());
            assert_eq!(mask.contains(lane), good, "{how}, lane {lane} of {}: {what}", group.len());
        }
    };
    for (jobs, group) in jobs.chunks(GROUP_WIDTH).zip(checks.chunks(GROUP_WIDTH)) {
        assert_right(kernel.run(&mut scratch, jobs), group, "run");
    }
    // Whatever the masks held before.
    let mut masks = vec![LaneMask::first(GROUP_WIDTH); jobs.len().div_ceil(GROUP_WIDTH)];
    kernel.run_many(&mut scratch, &jobs, &mut masks);
    for (mask, group) in masks.iter().zip(checks.chunks(GROUP_WIDTH)) {
        assert_right(*mask, group, "run_many");
    }
}

fn pool(keys_count: usize, per_key: usize, random: &mut Random) -> Vec<Check> {
    let keys = keys(keys_count, &TIERS, random);
    let mut pool = Vec::new();
    for key in &keys {
        for _ in 0..per_key {
            pool.extend(checks(key, &keys, random));
        }
    }
    random.shuffle(&mut pool);
    let good = pool.iter().filter(|check| check.good).count();
    assert!(good >= keys_count && good < pool.len() / 2, "{good} good of {}", pool.len());
    pool
}

#[test]
fn every_length_of_a_run_gives_the_answers_of_single_checks() {
    let mut random = Random::from_environment("runs");
    let pool = pool(6, 4, &mut random);
    for (entry, kernel) in available(Scheme::Ed25519) {
        println!("{}", entry.name());
        for length in (0..=33).chain([127, 128, 129, 145, 257]) {
            let checks: Vec<&Check> = (0..length).map(|_| random.pick(&pool)).collect();
            compare(kernel, &checks);
        }
    }
}

#[test]
fn the_answer_does_not_depend_on_the_tier() {
    let mut random = Random::from_environment("tiers");
    let keys = keys(3, &[Tier::Bare], &mut random);
    let pool: Vec<Check> = keys.iter().flat_map(|key| checks(key, &keys, &mut random)).collect();
    let all: Vec<&Check> = pool.iter().collect();
    for (_, kernel) in available(Scheme::Ed25519) {
        for tier in [Tier::Bare, Tier::Small, Tier::Medium, Tier::Large, Tier::Small, Tier::Bare] {
            keys[0].prepared.set_tier(tier);
            assert!(keys[0].prepared.tier().is_none_or(|now| now == tier));
            // One key climbs, one follows a step behind, one stays bare: groups of mixed tiers.
            compare(kernel, &all);
            keys[1].prepared.set_tier(tier);
        }
    }
}

#[test]
fn tables_may_change_while_signatures_are_checked() {
    let mut random = Random::from_environment("changes");
    let keys = keys(4, &TIERS, &mut random);
    let pool: Vec<Check> = keys.iter().flat_map(|key| checks(key, &keys, &mut random)).collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for key in &keys {
                    for tier in [Tier::Small, Tier::Bare, Tier::Medium] {
                        key.prepared.set_tier(tier);
                    }
                }
            }
        });
        let all: Vec<&Check> = pool.iter().collect();
        for (_, kernel) in available(Scheme::Ed25519) {
            for _ in 0..20 {
                compare(kernel, &all);
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn uses_are_counted_for_keys_with_tiers() {
    let mut random = Random::from_environment("uses");
    let key = &keys(1, &[Tier::Bare], &mut random)[0];
    let checks = checks(key, std::slice::from_ref(key), &mut random);
    let formed = checks.iter().filter(|check| check.signature.len() == 64).count() as u64;
    let (_, kernel) = available(Scheme::Ed25519).next().unwrap();
    let jobs: Vec<Job<'_>> = checks.iter().map(Check::job).collect();
    kernel.run(&mut kernel.scratch(), &jobs);
    let expected = if key.prepared.tier().is_some() { formed } else { 0 };
    assert_eq!(key.prepared.uses(), expected);
}

#[test]
fn tiers_take_the_memory_they_say_and_other_families_have_none() {
    let hmac = PreparedKey::hmac(&[1; 32]).unwrap();
    hmac.set_tier(Tier::Full);
    assert_eq!((hmac.tier(), hmac.tier_bytes(Tier::Full), hmac.uses()), (None, 0, 0));
    let mut random = Random::from_environment("memory");
    let key: Arc<PreparedKey> = Arc::clone(&keys(1, &[Tier::Bare], &mut random)[0].prepared);
    if key.tier().is_none() {
        return;
    }
    let bytes = Tier::ALL.map(|tier| key.tier_bytes(tier));
    assert_eq!(bytes[0], 0);
    assert!(bytes.is_sorted() && bytes[1] > 50_000 && bytes[1] < 64 << 10 && bytes[4] < 5 << 20, "{bytes:?}");
}
