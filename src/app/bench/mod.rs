//! `verilane bench`: what this CPU gives. Every kernel this CPU can run, beside the libraries a program would otherwise
//! call, measured in turns in one process. `report` says what favours whom.

mod clock;
mod contest;
mod library;
mod material;
mod report;

use std::hint::black_box;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use self::contest::{Call, Contestant, WrongVerdict};
use self::material::{Amount, Material};
use self::report::{Report, Row, Subject};
use super::EXIT_ACCEPTED;
use super::cli::{BenchArguments, TierChoice};
use super::cpu::tested_kernels;
use super::failure::{Failure, Outcome};
use crate::kernel::{self, Entry, GROUP_WIDTH, Job, Kernel, LaneMask, PreparedKey, Scheme, Tier};
use crate::runtime::affinity;

/// Jobs a call, up to a whole lane group.
const FILLS: [usize; 4] = [1, 4, 8, GROUP_WIDTH];
/// Jobs of a long run whose keys are given by value: each has a prepared key of its own in memory at the same time.
const BY_VALUE_RUN_MAX: usize = 256;

/// How a verifier gets the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    /// Ahead of time, in the form it likes best: what that costs is not counted.
    Prepared,
    /// As bytes with every signature: decoding and preparation are counted.
    ByValue,
}

/// One contest: a scheme, a length of messages, a set of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Event {
    scheme: Scheme,
    message_len: usize,
    keys: usize,
    given: Given,
    /// The tables of prepared keys, where a kernel of this CPU keeps any for the scheme.
    tier: Option<Tier>,
}

pub(super) fn run(arguments: &BenchArguments) -> Outcome {
    let schemes = chosen_schemes(&arguments.scheme)?;
    check_backends(&arguments.backend, &schemes)?;
    // Whoever cannot answer the known answers is not measured.
    let (_, failures) = tested_kernels(&[])?;
    if let Some(failure) = failures.first() {
        return Err(Failure::new(failure).hint("`verilane cpu` shows what failed; nothing was measured"));
    }
    if let Some(cpu) = arguments.pin {
        affinity::pin_current_thread_to(cpu)
            .map_err(|error| Failure::new(format!("cannot run on CPU {cpu} alone: {error}")))?;
    }

    let events = events(arguments, &schemes);
    let mut progress = Progress::new(events.len());
    let mut rows = Vec::new();
    for event in events {
        progress.begin(&event.to_string());
        rows.extend(hold(event, arguments)?);
    }
    progress.end();

    let report = Report {
        ticks_per_ns: clock::ticks_per_ns(),
        pinned: arguments.pin,
        time: arguments.time.0,
        rsa_bits: arguments.rsa_bits,
        rows,
    };
    let text = if arguments.json { format!("{:#}\n", report.as_json()) } else { report.as_text() };
    std::io::stdout().lock().write_all(text.as_bytes()).map_err(|error| Failure::output(&error))?;
    Ok(EXIT_ACCEPTED)
}

/// The schemes of that name or of that family (`hmac`, `rsa_pss`), in their usual order; all without a name.
fn chosen_schemes(names: &[String]) -> Result<Vec<Scheme>, Failure> {
    let is = |scheme: Scheme, name: &str| {
        scheme.name().strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    for name in names {
        if !Scheme::ALL.into_iter().any(|scheme| is(scheme, name)) {
            let known: Vec<&str> = Scheme::ALL.into_iter().map(Scheme::name).collect();
            return Err(Failure::new(format!("no scheme is named `{name}`; known: {}", known.join(", ")))
                .hint("the start of a name stands for all it begins: `hmac`, `rsa_pss`"));
        }
    }
    let chosen = |scheme: &Scheme| names.is_empty() || names.iter().any(|name| is(*scheme, name));
    Ok(Scheme::ALL.into_iter().filter(chosen).collect())
}

/// Every backend that was named must be there for one of the schemes, so that a row that is missing is not overlooked.
fn check_backends(names: &[String], schemes: &[Scheme]) -> Result<(), Failure> {
    for name in names {
        let mut entries = schemes.iter().flat_map(|scheme| kernel::entries(*scheme)).filter(|e| e.backend == name);
        match entries.next() {
            None => {
                return Err(Failure::new(format!("none of the chosen schemes has a backend named `{name}`"))
                    .hint("`verilane cpu` shows the backends of every scheme"));
            }
            Some(entry) if (entry.open)().is_none() => {
                return Err(Failure::new(format!("backend `{name}` needs {}, which is not there", entry.needs))
                    .hint("`verilane cpu` shows the features of this CPU"));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Key sets of several sizes are for Ed25519, whose keys have tables that compete for caches.
fn events(arguments: &BenchArguments, schemes: &[Scheme]) -> Vec<Event> {
    let mut events = Vec::new();
    for &scheme in schemes {
        for &message_len in &arguments.message {
            if scheme == Scheme::Ed25519 {
                for &keys in &arguments.keys {
                    for tier in tiers(arguments, keys) {
                        events.push(Event { scheme, message_len, keys, given: Given::Prepared, tier });
                    }
                }
            } else {
                events.push(Event { scheme, message_len, keys: 1, given: Given::Prepared, tier: None });
            }
            // Where preparing the same bytes again costs as much as preparing others, one key stands for many.
            let keys = if scheme == Scheme::Ed25519 { BY_VALUE_RUN_MAX } else { 1 };
            events.push(Event { scheme, message_len, keys, given: Given::ByValue, tier: None });
        }
    }
    events
}

/// The tables that `keys` Ed25519 keys are to have: each once, however it was asked for; `None` where there are none.
fn tiers(arguments: &BenchArguments, keys: usize) -> Vec<Option<Tier>> {
    // Every key takes the same memory, so the base point can speak for all.
    let Ok(key) = PreparedKey::ed25519(&BASE_POINT) else { return vec![None] };
    if key.tier().is_none() {
        return vec![None];
    }
    let memory = arguments.key_memory.as_u64();
    let fits = |tier: &Tier| (key.tier_bytes(*tier) as u64).saturating_mul(keys as u64) <= memory;
    let mut tiers: Vec<Option<Tier>> = Vec::new();
    for choice in &arguments.tier {
        let tier = match choice {
            TierChoice::Fixed(tier) => Some(*tier),
            TierChoice::Auto => Tier::ALL.into_iter().rev().find(fits),
        };
        if !tiers.contains(&tier) {
            tiers.push(tier);
        }
    }
    tiers
}

/// The encoding of Ed25519's base point (RFC 8032 section 5.1).
const BASE_POINT: [u8; 32] = {
    let mut encoded = [0x66; 32];
    encoded[0] = 0x58;
    encoded
};

/// Bytes of the messages of a contest, unless a single long run takes more.
const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How many different messages are signed for a contest: one for each key at least.
fn messages(event: Event, run: usize) -> usize {
    let wanted = match event.scheme {
        // Each signature touches its own rows of a table. Few signatures would touch few rows, and the caches would
        // hold them however large the table is.
        Scheme::Ed25519 => (run * 16).min(MESSAGE_BYTES_MAX / event.message_len.max(1)).max(run),
        // Nothing depends on the number, and signing is slow.
        Scheme::RsaPkcs1Sha256
        | Scheme::RsaPkcs1Sha384
        | Scheme::RsaPkcs1Sha512
        | Scheme::RsaPssSha256
        | Scheme::RsaPssSha384
        | Scheme::RsaPssSha512 => run.min(64),
        _ => run,
    };
    wanted.max(event.keys)
}

/// Measures all kernels and libraries of one event.
fn hold(event: Event, arguments: &BenchArguments) -> Result<Vec<Row>, Failure> {
    let run = match event.given {
        Given::Prepared => arguments.run,
        Given::ByValue => arguments.run.min(BY_VALUE_RUN_MAX),
    };
    let amount = Amount {
        keys: event.keys,
        messages: messages(event, run),
        message_len: event.message_len,
        rsa_bits: arguments.rsa_bits,
    };
    let material = Material::new(event.scheme, amount)
        .map_err(|_| Failure::new(format!("the cryptographic library cannot sign for {}", event.scheme)))?;
    let keys: Vec<PreparedKey> = match event.given {
        Given::Prepared => (0..material.keys.len()).map(|key| prepare(&material, key)).collect::<Result<_, _>>()?,
        // A single one, to try the kernels with bad signatures.
        Given::ByValue => vec![prepare(&material, 0)?],
    };
    if let Some(tier) = event.tier {
        for key in &keys {
            key.set_tier(tier);
        }
    }
    let jobs: Vec<Job<'_>> = match event.given {
        // A whole number of long runs, so that runs from the first to the last job cover all.
        Given::Prepared => {
            let count = material.messages.len().next_multiple_of(run);
            (0..count).map(|index| material.job(index, &keys[material.key_of(index % amount.messages)])).collect()
        }
        Given::ByValue => Vec::new(),
    };

    let mut subjects = Vec::new();
    let mut contestants = Vec::new();
    for (entry, kernel) in kernel::available(event.scheme) {
        if !arguments.backend.is_empty() && arguments.backend.iter().all(|name| name != entry.backend) {
            continue;
        }
        refuses_bad_signatures(entry, kernel, &material, &keys[0])?;
        for calls_of in calls(event, run) {
            let tier = event.tier.filter(|_| kernel.lanes() > 1);
            subjects.push(Subject::Kernel { backend: entry.backend, jobs: calls_of, tier });
            contestants.push(Contestant::new(match event.given {
                Given::Prepared => prepared_call(kernel, &jobs, calls_of),
                Given::ByValue => by_value_call(kernel, &material, calls_of),
            }));
        }
    }
    for (name, mut check) in library::all(&material, event.given) {
        subjects.push(Subject::Library { name });
        let mut walk = Walk::over(material.messages.len(), 1);
        contestants.push(Contestant::new(Box::new(move || {
            if check(black_box(walk.next())) { Ok(1) } else { Err(WrongVerdict) }
        })));
    }

    let figures = contest::hold(&mut contestants, arguments.time.0)
        .map_err(|WrongVerdict| Failure::new(format!("a verdict on a good signature was wrong: {event}")))?;
    Ok(subjects.into_iter().zip(figures).map(|(subject, figures)| Row { event, subject, figures }).collect())
}

/// The numbers of jobs that kernels are called with.
fn calls(event: Event, run: usize) -> Vec<usize> {
    let mut calls: Vec<usize> = match (event.given, event.keys) {
        (Given::Prepared, 1) => FILLS.to_vec(),
        // More keys matter where work arrives in bulk.
        (Given::Prepared, _) => vec![GROUP_WIDTH],
        (Given::ByValue, _) => vec![1, GROUP_WIDTH],
    };
    if run > GROUP_WIDTH {
        calls.push(run);
    }
    calls
}

fn prepare(material: &Material, key: usize) -> Result<PreparedKey, Failure> {
    material
        .prepare(key)
        .map_err(|error| Failure::new(format!("a fresh key of {} is refused: {error}", material.scheme)))
}

/// A kernel that says yes to everything is fast; it gets bad signatures among good ones before it is measured.
fn refuses_bad_signatures(
    entry: &Entry,
    kernel: &dyn Kernel,
    material: &Material,
    key: &PreparedKey,
) -> Result<(), Failure> {
    let own: Vec<usize> = (0..material.messages.len()).filter(|&index| material.key_of(index) == 0).take(8).collect();
    let forged: Vec<Vec<u8>> = own
        .iter()
        .map(|&index| {
            let mut signature = material.signatures[index].clone();
            signature[index % 32] ^= 1;
            signature
        })
        .collect();
    // Good and bad in an order that differs from one lane group to the next, over more than one of them.
    let is_good = |lane: usize| !lane.is_multiple_of(3);
    let jobs: Vec<Job<'_>> = (0..3 * GROUP_WIDTH + 5)
        .map(|lane| {
            let own_index = lane % own.len();
            let good = material.job(own[own_index], key);
            if is_good(lane) { good } else { Job { signature: &forged[own_index], ..good } }
        })
        .collect();
    let want: Vec<LaneMask> = (0..jobs.len())
        .collect::<Vec<_>>()
        .chunks(GROUP_WIDTH)
        .map(|lanes| lanes.iter().enumerate().fold(LaneMask::NONE, |mask, (at, &lane)| mask.with(at, is_good(lane))))
        .collect();
    let mut scratch = kernel.scratch();
    let mut many = vec![LaneMask::NONE; want.len()];
    kernel.run_many(&mut scratch, &jobs, &mut many);
    let single: Vec<LaneMask> = jobs.chunks(GROUP_WIDTH).map(|group| kernel.run(&mut scratch, group)).collect();
    if many == want && single == want {
        return Ok(());
    }
    Err(Failure::new(format!("kernel {} gives wrong verdicts on good and bad signatures", entry.name())))
}

/// Calls with prepared keys, `count` jobs each, walking through all of `jobs`.
fn prepared_call<'a>(kernel: &'static dyn Kernel, jobs: &'a [Job<'a>], count: usize) -> Call<'a> {
    let mut answers = Answers::new(kernel, count);
    let mut walk = Walk::over(jobs.len(), count);
    Box::new(move || {
        let from = walk.next();
        answers.ask(black_box(&jobs[from..from + count]))
    })
}

/// Calls whose keys come as bytes: each call prepares a key for each of its jobs and throws it away.
fn by_value_call<'a>(kernel: &'static dyn Kernel, material: &'a Material, count: usize) -> Call<'a> {
    let mut answers = Answers::new(kernel, count);
    let mut walk = Walk::over(material.messages.len().next_multiple_of(count), count);
    let messages = material.messages.len();
    Box::new(move || {
        let from = black_box(walk.next());
        let key = |index: usize| material.prepare(material.key_of(index % messages)).map_err(|_| WrongVerdict);
        let keys: Vec<PreparedKey> = (from..from + count).map(key).collect::<Result<_, _>>()?;
        let jobs: Vec<Job<'_>> = keys.iter().enumerate().map(|(at, key)| material.job(from + at, key)).collect();
        answers.ask(&jobs)
    })
}

/// Asks a kernel and looks at every verdict.
struct Answers {
    kernel: &'static dyn Kernel,
    scratch: kernel::Scratch,
    masks: Vec<LaneMask>,
}

impl Answers {
    fn new(kernel: &'static dyn Kernel, count: usize) -> Self {
        Self { kernel, scratch: kernel.scratch(), masks: vec![LaneMask::NONE; count.div_ceil(GROUP_WIDTH)] }
    }

    /// `jobs`, which are all good, as one call.
    fn ask(&mut self, jobs: &[Job<'_>]) -> Result<usize, WrongVerdict> {
        if jobs.len() <= GROUP_WIDTH {
            self.masks[0] = self.kernel.run(&mut self.scratch, jobs);
        } else {
            self.kernel.run_many(&mut self.scratch, jobs, &mut self.masks);
        }
        let good = jobs.chunks(GROUP_WIDTH).zip(&self.masks).all(|(group, mask)| *mask == LaneMask::first(group.len()));
        if good { Ok(jobs.len()) } else { Err(WrongVerdict) }
    }
}

/// Where the next call begins: step after step through what there is, again and again.
struct Walk {
    next: usize,
    step: usize,
    end: usize,
}

impl Walk {
    /// Steps of `step` over `end` places; what is left over at the end is skipped.
    fn over(end: usize, step: usize) -> Self {
        Self { next: 0, step, end }
    }

    fn next(&mut self) -> usize {
        if self.next + self.step > self.end {
            self.next = 0;
        }
        let at = self.next;
        self.next += self.step;
        at
    }
}

/// What is going on, for whoever waits: one line that changes on a terminal, one line an event elsewhere.
struct Progress {
    terminal: bool,
    done: usize,
    total: usize,
    start: std::time::Instant,
}

impl Progress {
    fn new(total: usize) -> Self {
        Self { terminal: std::io::stderr().is_terminal(), done: 0, total, start: std::time::Instant::now() }
    }

    fn begin(&mut self, what: &str) {
        self.done += 1;
        let (done, total) = (self.done, self.total);
        let left = if done > 1 { self.left() } else { String::new() };
        // Progress that cannot be shown is no reason to stop.
        let _ = if self.terminal {
            write!(std::io::stderr(), "\r\x1b[K[{done}/{total}] {what}{left}")
        } else {
            writeln!(std::io::stderr(), "[{done}/{total}] {what}")
        };
    }

    /// Events differ in length, so this is a guess.
    fn left(&self) -> String {
        let finished = self.done - 1;
        let left = self.start.elapsed().as_secs_f64() / finished as f64 * (self.total - finished) as f64;
        format!(" (about {} left)", humantime::format_duration(Duration::from_secs(left.ceil() as u64)))
    }

    fn end(&self) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

impl std::fmt::Display for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, messages of {} bytes, ", self.scheme, self.message_len)?;
        match (self.given, self.keys) {
            (Given::Prepared, 1) => f.write_str("one prepared key")?,
            (Given::Prepared, keys) => write!(f, "{keys} prepared keys in turn")?,
            (Given::ByValue, _) => f.write_str("keys by value")?,
        }
        match self.tier {
            Some(tier) => write!(f, ", {tier} tables"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_steps_through_everything_again_and_again() {
        let mut walk = Walk::over(10, 4);
        assert_eq!([walk.next(), walk.next(), walk.next(), walk.next()], [0, 4, 0, 4]);
        let mut walk = Walk::over(4, 4);
        assert_eq!([walk.next(), walk.next()], [0, 0]);
    }

    #[test]
    fn a_name_chooses_a_scheme_or_a_family() {
        let chosen = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            chosen_schemes(&names).map_err(|failure| failure.to_string())
        };
        assert_eq!(chosen(&[]).unwrap(), Scheme::ALL);
        assert_eq!(chosen(&["hmac", "ed25519"]).unwrap().len(), 4);
        assert_eq!(chosen(&["rsa_pss"]).unwrap().len(), 3);
        assert_eq!(chosen(&["hmac_sha256"]).unwrap(), [Scheme::HmacSha256]);
        for name in ["", "hma", "hmac_", "ed25519x"] {
            assert!(chosen(&[name]).unwrap_err().contains("known: ed25519"), "{name}");
        }
    }

    #[test]
    fn material_of_every_scheme_is_accepted_by_kernels_and_libraries_and_forgeries_are_not() {
        for scheme in Scheme::ALL {
            let amount = Amount { keys: 2, messages: 5, message_len: 33, rsa_bits: 2048 };
            let mut material = Material::new(scheme, amount).unwrap();
            let keys = [0, 1].map(|key| material.prepare(key).unwrap());
            for (entry, kernel) in kernel::available(scheme) {
                refuses_bad_signatures(entry, kernel, &material, &keys[0]).unwrap();
                let jobs: Vec<Job<'_>> = (0..5).map(|index| material.job(index, &keys[index % 2])).collect();
                assert!(matches!(prepared_call(kernel, &jobs, 5)(), Ok(5)), "{}", entry.name());
                assert!(matches!(by_value_call(kernel, &material, 5)(), Ok(5)), "{}", entry.name());
            }
            for given in [Given::Prepared, Given::ByValue] {
                for (name, mut check) in library::all(&material, given) {
                    assert!((0..5).all(&mut check), "{scheme} {name}");
                }
            }
            material.signatures[3][7] ^= 1;
            for given in [Given::Prepared, Given::ByValue] {
                for (name, mut check) in library::all(&material, given) {
                    assert!(check(2) && !check(3), "{scheme} {name}");
                }
            }
            let (_, kernel) = kernel::available(scheme).next().unwrap();
            assert!(by_value_call(kernel, &material, 5)().is_err(), "{scheme}");
        }
    }
}
