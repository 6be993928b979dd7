//! Verification of many signatures: hash, digits, sums of table rows, one shared inversion, comparison of bytes.
//!
//! Sixteen lanes work at a time, as two groups of eight that take turns. With at most eight jobs each job gets several
//! lanes: they share its digits and add their sums up at the end, so that a lone signature takes a fraction of the time
//! of sixteen. Jobs whose key has a table and jobs whose key has none ([`super::window`]) form groups of their own.
//!
//! A job that cannot be good (wrong key family, wrong length, `S >= L`) is left out or computes with harmless input and
//! is masked out at the end.
#![expect(clippy::needless_range_loop, reason = "one index names the same limb or lane group in several arrays")]

use std::sync::Arc;

use arc_swap::Guard;
use arrayvec::ArrayVec;

use super::batch_inverse::invert_all;
use super::constants::ONE;
use super::encoding::encode;
use super::field::Fe;
use super::key::LaneKey;
use super::layout::{DIGITS_MAX, Layout};
use super::pipeline::{GROUPS, Step, sum_rows};
use super::point::Point;
use super::scalar::Scalar;
use super::table::{AffinePoint, Table};
use super::window::{self, NO_ROWS, WINDOW, WindowRows};
use crate::kernel::cpu::HaveAvx512;
use crate::kernel::sha512::{Message, avx512_x8, portable};
use crate::kernel::vector::{LANES, Mask8, Row, U64x8};
use crate::kernel::{GROUP_WIDTH, Job, LaneMask};

/// Lane groups of jobs that share one inversion. More save little and no longer fit the nearest cache.
const RUN_GROUPS: usize = 8;

/// Jobs that share one inversion.
const RUN_JOBS: usize = RUN_GROUPS * GROUP_WIDTH;

/// Lane groups that [`RUN_JOBS`] jobs may need: those with and those without a table end with a partial one each.
const SUMS_MAX: usize = RUN_GROUPS + 1;

/// Up to this many jobs it is faster to hash them one by one.
const HASH_ONE_BY_ONE_MAX: usize = 2;

/// Up to this many jobs without a table are faster one by one, in portable code.
const BARE_ONE_BY_ONE_MAX: usize = 1;

/// Steps of one lane group at most: digits of `S` and of `h`.
const STEPS_MAX: usize = 2 * DIGITS_MAX;

/// A key in use: its table, held while rows are read, and how many jobs it has.
struct Held<'a> {
    key: &'a LaneKey,
    table: Guard<Option<Arc<Table>>>,
    jobs: u64,
}

/// The keys of a run.
type AllHeld<'a> = ArrayVec<Held<'a>, RUN_JOBS>;

/// A job that has the right form.
#[derive(Clone, Copy)]
pub(super) struct Signed<'a> {
    /// The key as it is encoded.
    pub(super) encoded: &'a [u8; 32],
    /// What the key holds for this kernel.
    pub(super) key: &'a LaneKey,
    /// The signed bytes.
    pub(super) message: &'a [u8],
    /// `R || S`.
    pub(super) signature: &'a [u8; 64],
}

/// A job in a lane.
#[derive(Clone, Copy)]
struct Lane<'a> {
    signed: Signed<'a>,
    /// The digits of `h`.
    layout: &'static Layout,
    /// The table that these digits select from; empty for keys without one.
    rows: &'a [Row],
}

/// Working memory of one thread.
pub(super) struct Workspace {
    /// Digits of the jobs in lanes, those of `S` first.
    steps: [Step; STEPS_MAX],
    /// The same, several lanes a job.
    dealt: [Step; STEPS_MAX],
    /// Multiples of keys without a table.
    window: WindowRows,
    /// Lane groups that wait for the inversion.
    sums: [Sums; SUMS_MAX],
}

/// What is left of a lane group before the inversion.
#[derive(Clone, Copy)]
struct Sums {
    /// `S B - h A` of each lane: `Y + X`, `Y - X` ..
    sum: [Fe; GROUPS],
    difference: [Fe; GROUPS],
    /// .. and `2 Z`.
    z2: [Fe; GROUPS],
    /// Words of `R` of each job, in all of the job's lanes.
    r: [[U64x8; 4]; GROUPS],
    /// Lanes whose jobs may be good.
    possible: u16,
    /// Lanes that each job has; job `i` has the lanes from `i lanes_per_job` on.
    lanes_per_job: usize,
}

impl Workspace {
    pub(super) fn new(have: HaveAvx512) -> Box<Self> {
        let one = Fe::splat(have, &ONE);
        let sums = Sums {
            sum: [one; GROUPS],
            difference: [one; GROUPS],
            z2: [one; GROUPS],
            r: [[U64x8::zero(have); 4]; GROUPS],
            possible: 0,
            lanes_per_job: 1,
        };
        let steps = [[[0; LANES]; GROUPS]; STEPS_MAX];
        Box::new(Self { steps, dealt: steps, window: NO_ROWS, sums: [sums; SUMS_MAX] })
    }
}

/// What the answers to jobs depend on besides the jobs.
#[derive(Clone, Copy)]
pub(super) struct Setup<'a> {
    pub(super) have: HaveAvx512,
    /// Table of the base point.
    pub(super) base: &'a Table,
    /// Brings a job into the form that lanes take; jobs for which it returns `None` are refused.
    pub(super) signed: for<'j> fn(&'j Job<'j>) -> Option<Signed<'j>>,
    /// Checks one job in portable code.
    pub(super) check: fn(&Job<'_>) -> bool,
}

/// Answers `jobs` in lane groups of [`GROUP_WIDTH`]: bit `i` of `masks[k]` belongs to job `GROUP_WIDTH k + i`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512ifma")]
pub(super) fn verify(setup: &Setup<'_>, work: &mut Workspace, jobs: &[Job<'_>], masks: &mut [LaneMask]) {
    for (jobs, masks) in jobs.chunks(RUN_JOBS).zip(masks.chunks_mut(RUN_GROUPS)) {
        verify_run(setup, work, jobs, masks);
    }
}

/// [`verify`] for at most [`RUN_JOBS`] jobs.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512ifma")]
fn verify_run<'a>(setup: &Setup<'a>, work: &mut Workspace, jobs: &'a [Job<'a>], masks: &mut [LaneMask]) {
    let have = setup.have;
    masks.fill(LaneMask::NONE);
    let mut accept = |job: usize, good: bool| {
        masks[job / GROUP_WIDTH] = masks[job / GROUP_WIDTH].with(job % GROUP_WIDTH, good);
    };

    let mut held = AllHeld::new();
    let formed: ArrayVec<(usize, Signed<'a>, usize), RUN_JOBS> = jobs
        .iter()
        .enumerate()
        .filter_map(|(i, job)| (setup.signed)(job).map(|signed| (i, signed, hold(&mut held, signed.key))))
        .collect();
    let mut prepared: ArrayVec<(usize, Lane<'_>), RUN_JOBS> = ArrayVec::new();
    let mut bare = prepared.clone();
    for &(i, signed, place) in &formed {
        match held[place].table.as_deref() {
            Some(table) => prepared.push((i, Lane { signed, layout: table.layout(), rows: table.rows() })),
            None => bare.push((i, Lane { signed, layout: &WINDOW, rows: &[] })),
        }
    }
    if bare.len() % GROUP_WIDTH <= BARE_ONE_BY_ONE_MAX {
        let (_, few) = bare.as_chunks::<GROUP_WIDTH>();
        for (i, _) in few {
            accept(*i, (setup.check)(&jobs[*i]));
        }
        bare.truncate(bare.len() / GROUP_WIDTH * GROUP_WIDTH);
    }

    let groups = || prepared.chunks(GROUP_WIDTH).chain(bare.chunks(GROUP_WIDTH));
    let mut w = [[Fe::splat(have, &ONE); GROUPS]; SUMS_MAX];
    for (k, group) in groups().enumerate() {
        sum_group(setup, work, group, k);
        w[k] = work.sums[k].z2;
    }
    let mut products = w;
    invert_all(have, w[..groups().count()].as_flattened_mut(), products.as_flattened_mut());
    for ((sums, w), group) in work.sums.iter().zip(&w).zip(groups()) {
        let good = matching_lanes(sums, w);
        for (lane, (i, _)) in group.iter().enumerate() {
            accept(*i, good >> (lane * sums.lanes_per_job) & 1 == 1);
        }
    }
    for held in &held {
        held.key.count_uses(held.jobs);
    }
}

/// Holds the table of a key; returns the place. Neighbours often share a key.
fn hold<'a>(held: &mut AllHeld<'a>, key: &'a LaneKey) -> usize {
    let place = held.iter().rposition(|held| std::ptr::eq(held.key, key)).unwrap_or_else(|| {
        held.push(Held { key, table: key.table(), jobs: 0 });
        held.len() - 1
    });
    held[place].jobs += 1;
    place
}

/// The lanes whose sum encodes to `R`.
#[inline(always)]
fn matching_lanes(sums: &Sums, w: &[Fe; GROUPS]) -> u16 {
    let mut equal = [0; GROUPS];
    for group in 0..GROUPS {
        let encoded = encode(&sums.sum[group], &sums.difference[group], &w[group]);
        let r = &sums.r[group];
        equal[group] =
            encoded[0].equal(r[0]) & encoded[1].equal(r[1]) & encoded[2].equal(r[2]) & encoded[3].equal(r[3]);
    }
    u16::from_le_bytes(equal) & sums.possible
}

/// Computes the sums of 1 to [`GROUP_WIDTH`] jobs into `work.sums[k]`. All have a table, or none has.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512ifma")]
fn sum_group(setup: &Setup<'_>, work: &mut Workspace, jobs: &[(usize, Lane<'_>)], k: usize) {
    let (have, base) = (setup.have, setup.base);
    let Workspace { steps, dealt, window, sums } = work;
    let sums = &mut sums[k];
    // Lanes without a job repeat the first, so that all lanes have the same digits as a rule.
    let Some((_, first)) = jobs.first() else { return };
    let mut lanes = [*first; GROUP_WIDTH];
    for (lane, (_, job)) in lanes.iter_mut().zip(jobs) {
        *lane = *job;
    }

    let base_digits = base.layout().digits();
    let digits = base_digits + lanes.iter().map(|lane| lane.layout.digits()).max().unwrap_or(0);
    let groups = jobs.len().div_ceil(LANES);
    let mut in_range = [0; GROUPS];
    for group in 0..groups {
        let lanes = &lanes.as_chunks::<LANES>().0[group];
        (sums.r[group], in_range[group]) = recode(have, lanes, jobs.len(), base.layout(), group, &mut steps[..digits]);
    }
    let in_range = u16::from_le_bytes(in_range);

    let points = if first.rows.is_empty() {
        let points = sum_bare(have, &lanes, groups, &steps[base_digits..digits], window);
        for step in &mut steps[..base_digits] {
            step[groups..].fill([0; LANES]);
        }
        (sums.lanes_per_job, sums.possible) = (1, in_range);
        sum_rows(have, Some(&points), &steps[..base_digits], base.rows(), base_digits, &[[base.rows(); LANES]; GROUPS])
    } else if jobs.len() * 2 > GROUP_WIDTH {
        let tables = [0, LANES].map(|first| std::array::from_fn(|lane| lanes[first + lane].rows));
        (sums.lanes_per_job, sums.possible) = (1, in_range);
        sum_rows(have, None, &steps[..digits], base.rows(), base_digits, &tables)
    } else {
        let lanes_per_job = GROUP_WIDTH / jobs.len().next_power_of_two();
        let owner = |lane: usize| lane / lanes_per_job;
        let tables = [0, LANES].map(|first| std::array::from_fn(|lane| lanes[owner(first + lane)].rows));
        let base_rounds = deal(&steps[..base_digits], dealt, lanes_per_job);
        let rounds = base_rounds + deal(&steps[base_digits..digits], &mut dealt[base_rounds..], lanes_per_job);
        let points = sum_rows(have, None, &dealt[..rounds], base.rows(), base_rounds, &tables);
        let r = sums.r[0].map(U64x8::to_array);
        for group in 0..GROUPS {
            let words = |i: usize| U64x8::load(have, &std::array::from_fn(|lane| r[i][owner(group * LANES + lane)]));
            sums.r[group] = [words(0), words(1), words(2), words(3)];
        }
        sums.lanes_per_job = lanes_per_job;
        sums.possible = (0..GROUP_WIDTH).fold(0, |mask, lane| mask | (in_range >> owner(lane) & 1) << lane);
        sum_lanes(have, &points, lanes_per_job)
    };
    for group in 0..GROUPS {
        let point = &points[group];
        sums.sum[group] = point.sum;
        sums.difference[group] = point.difference;
        sums.z2[group] = point.z.add(&point.z).carry();
    }
}

/// `-h A` in every lane of the first `groups` groups, for keys without a table.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512ifma")]
fn sum_bare(
    have: HaveAvx512,
    lanes: &[Lane<'_>; GROUP_WIDTH],
    groups: usize,
    steps: &[Step],
    rows: &mut WindowRows,
) -> [Point; GROUPS] {
    let mut points = [[AffinePoint::NEUTRAL; LANES]; GROUPS];
    for (points, lanes) in points.iter_mut().zip(lanes.as_chunks::<LANES>().0).take(groups) {
        if lanes.iter().any(|lane| lane.signed.key.known_point().is_none()) {
            for (lane, point) in lanes.iter().zip(window::decode_opposite(have, &lanes.map(|lane| lane.signed.encoded)))
            {
                lane.signed.key.remember_point(point);
            }
        }
        for (point, lane) in points.iter_mut().zip(lanes) {
            *point = lane.signed.key.known_point().copied().unwrap_or(AffinePoint::NEUTRAL);
        }
    }
    window::multiply(have, &points, groups, steps, rows)
}

/// Hashes eight jobs and writes the digits of `S` and `h` of each, those of `S` first. Returns the words of `R` and the
/// lanes with `S < L`. `jobs` is how many jobs there are in all.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512ifma")]
fn recode(
    have: HaveAvx512,
    lanes: &[Lane<'_>; LANES],
    jobs: usize,
    base: &Layout,
    group: usize,
    steps: &mut [Step],
) -> ([U64x8; 4], Mask8) {
    let mut rows = [U64x8::zero(have); LANES];
    for i in 0..LANES {
        rows[i] = U64x8::load_bytes(have, lanes[i].signed.signature);
    }
    let [r0, r1, r2, r3, s0, s1, s2, s3] = U64x8::transpose_8(rows);
    let (s, below_order) = Scalar::from_words([s0, s1, s2, s3]);
    // S >= L would need more digits than there are; such a lane is refused and computes with 0.
    let (base_steps, key_steps) = steps.split_at_mut(base.digits());
    s.keep_lanes(below_order).digits(have, base, Mask8::MAX, group, base_steps);

    let h = Scalar::reduce(hash(have, lanes, jobs));
    let layout = |i: usize| lanes[i].layout;
    let mut left = Mask8::MAX;
    while left != 0 {
        // Lanes whose tables have the same layout: all of them, as a rule.
        let first = layout(left.trailing_zeros() as usize);
        let same = (0..LANES).fold(0, |mask, i| mask | Mask8::from(std::ptr::eq(layout(i), first)) << i);
        if same != Mask8::MAX && left == Mask8::MAX {
            // Lanes with fewer digits than others add nothing at the end.
            for step in key_steps.iter_mut() {
                step[group] = [0; LANES];
            }
        }
        h.digits(have, first, same, group, key_steps);
        if same == Mask8::MAX {
            for step in &mut key_steps[first.digits()..] {
                step[group] = [0; LANES];
            }
        }
        left &= !same;
    }
    ([r0, r1, r2, r3], below_order)
}

/// The hashes of eight jobs as words in lanes. `jobs` is how many of them there are in all.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512ifma")]
fn hash(have: HaveAvx512, lanes: &[Lane<'_>; LANES], jobs: usize) -> [U64x8; 8] {
    let messages = lanes.each_ref().map(|lane| {
        let Signed { encoded, message, signature, .. } = lane.signed;
        let (r, _) = signature.as_chunks::<32>();
        Message { first: &r[0], second: encoded, body: message }
    });
    if jobs > HASH_ONE_BY_ONE_MAX {
        return avx512_x8::hash_x8(have, &messages);
    }
    let mut words = [[0; 8]; LANES];
    for (words, message) in words.iter_mut().zip(&messages[..jobs]) {
        *words = portable::hash(message);
    }
    let mut rows = [U64x8::zero(have); LANES];
    for i in 0..LANES {
        rows[i] = U64x8::load(have, &words[i]);
    }
    U64x8::transpose_8(rows)
}

/// Spreads digits of one lane a job (all in group 0) over several lanes a job: lane `i` of a job takes its digits `i`,
/// `i + lanes_per_job`, ... Returns how many rounds of steps there are.
fn deal(digits: &[Step], dealt: &mut [Step], lanes_per_job: usize) -> usize {
    let rounds = digits.len().div_ceil(lanes_per_job);
    for (round, dealt) in dealt[..rounds].iter_mut().enumerate() {
        for lane in 0..GROUP_WIDTH {
            let (job, part) = (lane / lanes_per_job, lane % lanes_per_job);
            let digit = digits.get(round * lanes_per_job + part);
            dealt[lane / LANES][lane % LANES] = digit.map_or(0, |step| step[0][job]);
        }
    }
    rounds
}

/// Every lane of a block of `lanes_per_job` lanes gets the sum of the block.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512ifma")]
fn sum_lanes(have: HaveAvx512, points: &[Point; GROUPS], lanes_per_job: usize) -> [Point; GROUPS] {
    let mut points = *points;
    if lanes_per_job > LANES {
        points[0] = points[0].add_cached(&points[1].cached(have));
    }
    for point in &mut points {
        if lanes_per_job >= 2 {
            *point = point.add_cached(&point.permute(U64x8::swap_1).cached(have));
        }
        if lanes_per_job >= 4 {
            *point = point.add_cached(&point.permute(U64x8::swap_2).cached(have));
        }
        if lanes_per_job >= 8 {
            *point = point.add_cached(&point.permute(U64x8::swap_4).cached(have));
        }
    }
    points
}
