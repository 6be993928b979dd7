//! Tables of keys follow traffic, within the budget. On CPUs without lanes no key has tables, and there is nothing here.

use std::sync::Arc;

use verilane::engine::Context;
use verilane::jose::Algorithm;
use verilane::kernel::{GROUP_WIDTH, Job, KernelTable, PreparedKey, Scheme, Tier};
use verilane::keys::tables::{TABLE_BYTES_DEFAULT, TablePlanner};
use verilane::keys::{IssuerKeys, KeySet, VerifyingKey};

fn encoded(number: u64) -> [u8; 32] {
    let point = curve25519_dalek::constants::ED25519_BASEPOINT_POINT * curve25519_dalek::Scalar::from(number + 2);
    point.compress().to_bytes()
}

/// Distinct keys; `None` where keys have no tables.
fn keys(count: u64) -> Option<Vec<Arc<PreparedKey>>> {
    let keys: Vec<_> = (0..count).map(|number| Arc::new(PreparedKey::ed25519(&encoded(number)).unwrap())).collect();
    keys[0].tier().is_some().then_some(keys)
}

/// Checks `groups` lane groups with the key; that the signatures are bad does not matter to the count.
fn traffic(context: &mut Context, key: &PreparedKey, groups: usize) {
    let job = Job { key, message: b"message", signature: &[1; 64] };
    for _ in 0..groups {
        assert_eq!(context.run(Scheme::Ed25519, &[job; GROUP_WIDTH]).count(), 0);
    }
}

fn round(planner: &mut TablePlanner, keys: &[Arc<PreparedKey>]) {
    for (key, tier) in planner.plan(keys) {
        key.set_tier(tier);
    }
}

fn tiers(keys: &[Arc<PreparedKey>]) -> Vec<Tier> {
    keys.iter().map(|key| key.tier().unwrap()).collect()
}

#[test]
fn keys_with_traffic_get_larger_tables_and_the_fewer_they_are_the_larger() {
    let mut context = Context::new(&KernelTable::select::<&str>(&[]).unwrap());
    for (hot, expected) in [(1, Tier::Full), (2, Tier::Full), (3, Tier::Large), (8, Tier::Large), (9, Tier::Medium)] {
        let Some(keys) = keys(12) else { return };
        let mut planner = TablePlanner::new(TABLE_BYTES_DEFAULT);
        round(&mut planner, &keys);
        assert_eq!(tiers(&keys), [Tier::Small; 12], "{hot} hot keys, before traffic");
        keys[..hot].iter().for_each(|key| traffic(&mut context, key, 20));
        round(&mut planner, &keys);
        assert_eq!(tiers(&keys[..hot]), vec![expected; hot], "{hot} hot keys");
        assert_eq!(tiers(&keys[hot..]), vec![Tier::Small; 12 - hot], "{hot} hot keys: the others");
    }
}

#[test]
fn a_key_that_cools_keeps_its_table_until_it_has_been_idle_long() {
    let Some(keys) = keys(2) else { return };
    let mut context = Context::new(&KernelTable::select::<&str>(&[]).unwrap());
    let mut planner = TablePlanner::new(TABLE_BYTES_DEFAULT);
    traffic(&mut context, &keys[0], 20);
    round(&mut planner, &keys);
    for _ in 0..100 {
        round(&mut planner, &keys);
    }
    assert_eq!(tiers(&keys), [Tier::Full, Tier::Small]);
    for _ in 0..1000 {
        round(&mut planner, &keys);
    }
    assert_eq!(tiers(&keys), [Tier::Small, Tier::Small]);
}

#[test]
fn when_the_budget_is_short_the_least_recently_used_gives_way() {
    let Some(keys) = keys(3) else { return };
    let mut context = Context::new(&KernelTable::select::<&str>(&[]).unwrap());
    let budget = keys[0].tier_bytes(Tier::Full) + keys[0].tier_bytes(Tier::Small);
    let mut planner = TablePlanner::new(budget);
    for (hot, expected) in [
        (0, [Tier::Full, Tier::Small, Tier::Bare]),
        (2, [Tier::Small, Tier::Bare, Tier::Full]),
        (1, [Tier::Bare, Tier::Full, Tier::Small]),
    ] {
        traffic(&mut context, &keys[hot], 20);
        for _ in 0..12 {
            // Long enough for the key before to cool; the hot one stays hot.
            traffic(&mut context, &keys[hot], 20);
            round(&mut planner, &keys);
        }
        assert_eq!(tiers(&keys), expected, "key {hot} is hot");
        let spent: usize = keys.iter().map(|key| key.tier_bytes(key.tier().unwrap())).sum();
        assert!(spent <= budget, "key {hot} is hot: {spent} of {budget}");
    }
}

#[test]
fn a_set_that_is_loaded_again_keeps_the_tables_of_keys_that_stay() {
    if keys(1).is_none() {
        return;
    }
    let set = |numbers: &[u64]| {
        let key = |number: &u64| VerifyingKey {
            key_id: Some(Arc::from(number.to_string())),
            algorithms: vec![Algorithm::EdDsa],
            prepared: Arc::new(PreparedKey::ed25519(&encoded(*number)).unwrap()),
        };
        KeySet::new(numbers.iter().map(key).collect())
    };
    let issuer = IssuerKeys::fixed(set(&[1, 2]));
    assert_eq!(tiers(&issuer.prepared_keys()), [Tier::Small; 2], "the first table comes with the set");
    issuer.prepared_keys()[1].set_tier(Tier::Medium);
    issuer.publish(set(&[2, 3]), None);
    assert_eq!(tiers(&issuer.prepared_keys()), [Tier::Medium, Tier::Small]);
}
