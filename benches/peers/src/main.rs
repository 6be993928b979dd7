//! Verilane's kernels beside the fastest public code for the same work, in one process. `run` builds and starts it.
//!
//! - Ed25519 beside `ed25519-simd` 0.1.0, policy `Dalek` (the one closest to ours, and its faster one): cold
//!   (`NullKeyCache`) and with every key in its `HotKeyCache`.
//! - SHA-512 of sixteen messages of 464 bytes beside `aws-lc-rs`.
//!
//! Both sides see the same jobs in the same order; every verdict is looked at. All of it is compiled for this CPU.

#[path = "../../../src/app/bench/contest.rs"]
#[allow(dead_code, reason = "shared with `verilane bench`, which reads all of the figures")]
mod contest;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

use aws_lc_rs::digest;
use aws_lc_rs::rand;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use contest::{Call, Contestant, WrongVerdict};
use ed25519_simd::{DalekPolicy, DalekVerifier, HotKeyCache, KeyCache, Verifier, VerifyInput};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use verilane::kernel::{GROUP_WIDTH, Job, Kernel, LaneMask, PreparedKey, Scheme, Sha512Lanes, Tier, available};

const MESSAGE_LEN: usize = 400;
const RUN: usize = 1024;
/// Many signatures a key, so that what they touch of its table is most of the table.
const SIGNATURES: usize = 16 * RUN;
const UNKNOWN_KEYS: usize = 256;
const KEY_MEMORY: usize = 64 * 1024 * 1024;
/// What Ed25519 hashes for a message of 400 bytes.
const HASHED_LEN: usize = 464;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Failure> {
    let (cpu, time) = arguments()?;
    let (backend, kernel) = available(Scheme::Ed25519)
        .next()
        .map(|(entry, kernel)| (entry.backend, kernel))
        .ok_or("no kernel of Ed25519 runs here")?;
    println!(
        "ed25519/{backend} beside ed25519-simd 0.1.0 (policy Dalek), messages of {MESSAGE_LEN} bytes, CPU {cpu} alone"
    );
    println!("{:<34}{:>6}{:>14}{:>10}   ours is faster by", "", "jobs", "per second", "ns");
    for keys in [1, 4, 16, 256] {
        prepared(kernel, keys, time)?;
    }
    by_value(kernel, time)?;
    sha512(time)
}

fn arguments() -> Result<(usize, Duration), Failure> {
    let mut time = Duration::from_secs(1);
    let allowed = sched_getaffinity(None)?;
    let mut cpu = (0..CpuSet::MAX_CPU).rfind(|&cpu| allowed.is_set(cpu)).ok_or("no CPU")?;
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--cpu" => cpu = value.parse()?,
            "--time" => time = Duration::try_from_secs_f64(value.parse()?)?,
            _ => return Err(format!("unknown: {name}; known: --cpu, --time").into()),
        }
    }
    let mut only = CpuSet::new();
    only.set(cpu);
    sched_setaffinity(None, &only)?;
    Ok((cpu, time))
}

/// Signed messages, in turn by several keys.
struct Material {
    keys: Vec<[u8; 32]>,
    messages: Vec<[u8; MESSAGE_LEN]>,
    signatures: Vec<[u8; 64]>,
}

impl Material {
    fn new(keys: usize) -> Result<Self, Failure> {
        let pairs: Vec<Ed25519KeyPair> = (0..keys).map(|_| Ed25519KeyPair::generate()).collect::<Result<_, _>>()?;
        let mut messages = vec![[0; MESSAGE_LEN]; SIGNATURES];
        let mut signatures = Vec::new();
        for (index, message) in messages.iter_mut().enumerate() {
            rand::fill(message)?;
            signatures.push(pairs[index % keys].sign(message).as_ref().try_into()?);
        }
        let keys = pairs.iter().map(|pair| pair.public_key().as_ref().try_into()).collect::<Result<_, _>>()?;
        Ok(Self { keys, messages, signatures })
    }

    fn key(&self, index: usize) -> &[u8; 32] {
        &self.keys[index % self.keys.len()]
    }

    fn inputs(&self) -> Vec<VerifyInput<'_>> {
        let input = |index: usize| VerifyInput {
            public_key: *self.key(index),
            signature: self.signatures[index],
            message: &self.messages[index],
        };
        (0..SIGNATURES).map(input).collect()
    }

    fn job<'a>(&'a self, index: usize, key: &'a PreparedKey) -> Job<'a> {
        Job { key, message: &self.messages[index], signature: &self.signatures[index] }
    }
}

/// Prepared keys against the other's cache, and against it without one.
fn prepared(kernel: &'static dyn Kernel, keys: usize, time: Duration) -> Result<(), Failure> {
    let material = Material::new(keys)?;
    let prepared: Vec<PreparedKey> =
        material.keys.iter().map(|key| PreparedKey::ed25519(key)).collect::<Result<_, _>>()?;
    // The largest tables that fit what the service gives to keys by default.
    let fits = |tier: &Tier| prepared[0].tier_bytes(*tier) * keys <= KEY_MEMORY;
    let tier = Tier::ALL.into_iter().rev().find(fits).unwrap_or(Tier::Bare);
    prepared.iter().for_each(|key| key.set_tier(tier));
    let jobs: Vec<Job<'_>> = (0..SIGNATURES).map(|index| material.job(index, &prepared[index % keys])).collect();
    let inputs = material.inputs();
    refuses_forgeries(&inputs, &jobs, kernel)?;

    let mut table = Table::default();
    for count in [GROUP_WIDTH, RUN] {
        let hot = DalekVerifier::with_cache(HotKeyCache::with_capacity(keys));
        table.add("ours, prepared", count, ours(kernel, &jobs, count));
        table.add("ed25519-simd, hot keys", count, theirs(hot, &inputs, count));
        table.add("ed25519-simd, no cache", count, theirs(DalekVerifier::new(), &inputs, count));
    }
    let noun = if keys == 1 { "key" } else { "keys in turn" };
    table.show(&format!("{keys} {noun}, {tier} tables"), 3, time)
}

/// Keys that nobody has seen before: ours are prepared for each signature, theirs not retained.
fn by_value(kernel: &'static dyn Kernel, time: Duration) -> Result<(), Failure> {
    let material = Material::new(UNKNOWN_KEYS)?;
    let inputs = material.inputs();
    let mut table = Table::default();
    for count in [GROUP_WIDTH, UNKNOWN_KEYS] {
        table.add("ours, key by value", count, ours_by_value(kernel, &material, count));
        table.add("ed25519-simd, no cache", count, theirs(DalekVerifier::new(), &inputs, count));
    }
    table.show(&format!("{UNKNOWN_KEYS} unknown keys in turn"), 2, time)
}

fn sha512(time: Duration) -> Result<(), Failure> {
    let Some(lanes) = Sha512Lanes::detect() else { return Err("no lane SHA-512 here".into()) };
    let messages: Vec<[u8; HASHED_LEN]> = (0..GROUP_WIDTH)
        .map(|_| {
            let mut message = [0; HASHED_LEN];
            rand::fill(&mut message).map(|()| message)
        })
        .collect::<Result<_, _>>()?;
    let groups: [[&[u8]; 8]; 2] =
        std::array::from_fn(|group| std::array::from_fn(|lane| messages[8 * group + lane].as_slice()));
    let want: Vec<digest::Digest> = messages.iter().map(|message| digest::digest(&digest::SHA512, message)).collect();
    let got = groups.map(|group| lanes.hash(&group));
    if !got.as_flattened().iter().zip(&want).all(|(got, want)| got.as_slice() == want.as_ref()) {
        return Err("lane SHA-512 and aws-lc-rs do not agree".into());
    }

    let mut table = Table::default();
    table.add(
        "ours, two groups of eight lanes",
        GROUP_WIDTH,
        Box::new(|| {
            for group in &groups {
                black_box(lanes.hash(black_box(group)));
            }
            Ok(GROUP_WIDTH)
        }),
    );
    table.add(
        "aws-lc-rs, one after the other",
        GROUP_WIDTH,
        Box::new(|| {
            for message in &messages {
                black_box(digest::digest(&digest::SHA512, black_box(message)));
            }
            Ok(GROUP_WIDTH)
        }),
    );
    table.show(&format!("SHA-512, {GROUP_WIDTH} messages of {HASHED_LEN} bytes"), 2, time)
}

fn ours<'a>(kernel: &'static dyn Kernel, jobs: &'a [Job<'a>], count: usize) -> Call<'a> {
    let mut scratch = kernel.scratch();
    let mut masks = vec![LaneMask::NONE; count.div_ceil(GROUP_WIDTH)];
    let mut chunks = jobs.chunks_exact(count).cycle();
    Box::new(move || {
        let jobs = black_box(chunks.next().ok_or(WrongVerdict)?);
        kernel.run_many(&mut scratch, jobs, &mut masks);
        all_good(&masks, count)
    })
}

fn ours_by_value<'a>(kernel: &'static dyn Kernel, material: &'a Material, count: usize) -> Call<'a> {
    let mut scratch = kernel.scratch();
    let mut masks = vec![LaneMask::NONE; count.div_ceil(GROUP_WIDTH)];
    let mut starts = (0..SIGNATURES).step_by(count).cycle();
    Box::new(move || {
        let from = black_box(starts.next().ok_or(WrongVerdict)?);
        let keys: Vec<PreparedKey> = (from..from + count)
            .map(|index| PreparedKey::ed25519(material.key(index)))
            .collect::<Result<_, _>>()
            .map_err(|_| WrongVerdict)?;
        let jobs: Vec<Job<'_>> = keys.iter().enumerate().map(|(at, key)| material.job(from + at, key)).collect();
        kernel.run_many(&mut scratch, &jobs, &mut masks);
        all_good(&masks, count)
    })
}

fn all_good(masks: &[LaneMask], count: usize) -> Result<usize, WrongVerdict> {
    if masks.iter().map(|mask| mask.count()).sum::<usize>() == count { Ok(count) } else { Err(WrongVerdict) }
}

fn theirs<'a, C: KeyCache + 'a>(
    mut verifier: Verifier<DalekPolicy, C>,
    inputs: &'a [VerifyInput<'a>],
    count: usize,
) -> Call<'a> {
    let mut out = vec![false; count];
    let mut chunks = inputs.chunks_exact(count).cycle();
    Box::new(move || {
        let inputs = black_box(chunks.next().ok_or(WrongVerdict)?);
        verifier.verify_batch(inputs, &mut out);
        if out.iter().all(|&good| good) { Ok(count) } else { Err(WrongVerdict) }
    })
}

/// Both sides must find the bad ones among good ones before they are measured.
fn refuses_forgeries(inputs: &[VerifyInput<'_>], jobs: &[Job<'_>], kernel: &dyn Kernel) -> Result<(), Failure> {
    const COUNT: usize = 64;
    let good: Vec<bool> = (0..COUNT).map(|index| index % 3 != 0).collect();
    let mut inputs = inputs[..COUNT].to_vec();
    for (input, &good) in inputs.iter_mut().zip(&good) {
        input.signature[40] ^= u8::from(!good);
    }
    let jobs: Vec<Job<'_>> =
        jobs.iter().zip(&inputs).map(|(job, input)| Job { signature: &input.signature, ..*job }).collect();
    let mut masks = [LaneMask::NONE; COUNT / GROUP_WIDTH];
    kernel.run_many(&mut kernel.scratch(), &jobs, &mut masks);
    let ours: Vec<bool> = (0..COUNT).map(|index| masks[index / GROUP_WIDTH].contains(index % GROUP_WIDTH)).collect();
    let mut theirs = vec![false; COUNT];
    DalekVerifier::new().verify_batch(&inputs, &mut theirs);
    if ours == good && theirs == good { Ok(()) } else { Err("bad signatures were not all found".into()) }
}

/// Rows that are measured together. Each group of rows begins with ours.
#[derive(Default)]
struct Table<'a> {
    names: Vec<(&'static str, usize)>,
    contestants: Vec<Contestant<'a>>,
}

impl<'a> Table<'a> {
    fn add(&mut self, name: &'static str, jobs: usize, call: Call<'a>) {
        self.names.push((name, jobs));
        self.contestants.push(Contestant::new(call));
    }

    fn show(mut self, title: &str, group: usize, time: Duration) -> Result<(), Failure> {
        let figures = contest::hold(&mut self.contestants, time).map_err(|WrongVerdict| "a verdict was wrong")?;
        println!("\n{title}");
        for (names, figures) in self.names.chunks(group).zip(figures.chunks(group)) {
            for (index, ((name, jobs), row)) in names.iter().zip(figures).enumerate() {
                print!("  {name:<32}{jobs:>6}{:>14.0}{:>10.0}", 1e9 / row.median, row.median);
                if index > 0 {
                    print!("   {:.2}x", row.median / figures[0].median);
                }
                println!();
            }
        }
        Ok(())
    }
}
