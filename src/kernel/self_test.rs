//! Known-answer tests at start: good and bad signatures for every chosen kernel, before it may answer anyone.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::known_answers::KnownAnswer;
use super::{GROUP_WIDTH, Job, Kernel, KernelTable, LaneMask, Scheme, Selection, available};

/// A kernel that gave a wrong answer in its self-test.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel {scheme}/{backend} failed its self-test: {what}")]
pub struct KatFailure {
    /// Scheme of the kernel.
    pub scheme: Scheme,
    /// Its backend.
    pub backend: &'static str,
    /// What it answered wrongly.
    pub what: &'static str,
}

/// Runs the known answers of every kernel in `table`.
///
/// A kernel of width one runs a group of good and bad signatures; a wider one runs full groups in which every lane holds
/// good and bad ones, in patterns that tell any two lanes apart, and then every fill. All of it takes milliseconds.
///
/// A failing kernel is replaced in `table` by the next slower entry of its scheme that passes; a forced choice is never
/// left for a faster one. The failures are returned for the caller to report.
///
/// # Errors
/// All failures, if some scheme has no kernel left that passes. The caller must not serve then.
pub fn self_test(table: &mut KernelTable) -> Result<Vec<KatFailure>, Vec<KatFailure>> {
    let mut failures = Vec::new();
    let mut unusable = false;
    for scheme in Scheme::ALL {
        let chosen = table.get(scheme);
        let Err(what) = probe(scheme, chosen.kernel) else { continue };
        failures.push(KatFailure { scheme, backend: chosen.backend, what });
        match next_that_passes(scheme, chosen.backend, &mut failures) {
            Some(selection) => table.set(scheme, selection),
            None => unusable = true,
        }
    }
    if unusable { Err(failures) } else { Ok(failures) }
}

/// The best entry behind `failed` that passes; failures on the way are added to the list. A kernel that is not in the
/// registry (tests put such in) stands before all entries.
fn next_that_passes(scheme: Scheme, failed: &str, failures: &mut Vec<KatFailure>) -> Option<Selection> {
    let position = available(scheme).position(|(entry, _)| entry.backend == failed);
    for (entry, kernel) in available(scheme).skip(position.map_or(0, |position| position + 1)) {
        match probe(scheme, kernel) {
            Ok(()) => return Some(Selection { backend: entry.backend, kernel, forced: false }),
            Err(what) => failures.push(KatFailure { scheme, backend: entry.backend, what }),
        }
    }
    None
}

/// Runs the known answers of `scheme` through one kernel.
fn probe(scheme: Scheme, kernel: &dyn Kernel) -> Result<(), &'static str> {
    // A kernel that panics on a known answer is as unfit as one that answers wrongly, and no reason to go down.
    catch_unwind(AssertUnwindSafe(|| run_known_answers(scheme, kernel))).unwrap_or(Err("panicked"))
}

fn run_known_answers(scheme: Scheme, kernel: &dyn Kernel) -> Result<(), &'static str> {
    let answer = KnownAnswer::of(scheme);
    let key = (answer.key)().map_err(|_| "the key of the known answer was refused")?;
    let bad = answer.bad(scheme);
    let good_job = Job { key: &key, message: answer.message, signature: answer.signature };
    let bad_job = |index: usize| {
        let bad = &bad[index % bad.len()];
        Job { key: &key, message: &bad.message, signature: &bad.signature }
    };

    let mut scratch = kernel.scratch();
    // `good` has a bit for every lane that shall hold the good signature; the others hold the bad ones in turn.
    let mut run = |good: u16, fill: usize| {
        let job = |lane: usize| if good >> lane & 1 == 1 { good_job } else { bad_job(lane) };
        let group: [Job<'_>; GROUP_WIDTH] = std::array::from_fn(job);
        let got = kernel.run(&mut scratch, &group[..fill]).bits();
        let want = good & LaneMask::first(fill).bits();
        match (got & !want, want & !got) {
            (0, 0) => Ok(()),
            (0, _) => Err("refused a good signature"),
            _ => Err("accepted a bad signature"),
        }
    };

    run(0, 0)?;
    if kernel.lanes() == 1 {
        // One lane, whatever the position: each bad signature once, a good one before and behind.
        let fill = bad.len() + 2;
        return run(1 | 1 << (fill - 1), fill);
    }
    for pattern in LANE_NUMBER_BITS {
        run(pattern, GROUP_WIDTH)?;
        run(!pattern, GROUP_WIDTH)?;
    }
    for fill in 1..=GROUP_WIDTH {
        run(LANE_NUMBER_BITS[0], fill)?;
        run(!LANE_NUMBER_BITS[0], fill)?;
    }
    Ok(())
}

/// Pattern `k` has the lanes whose number has bit `k`. No two lanes are alike in all four, so an answer that comes out
/// of the wrong lane shows.
const LANE_NUMBER_BITS: [u16; 4] = [0xaaaa, 0xcccc, 0xf0f0, 0xff00];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_answer_passes_on_every_available_kernel() {
        for scheme in Scheme::ALL {
            for (entry, kernel) in available(scheme) {
                assert_eq!(probe(scheme, kernel), Ok(()), "{}", entry.name());
            }
        }
    }

    #[test]
    fn patterns_tell_all_lanes_apart() {
        let number = |lane: usize| (0..4).map(|k| (LANE_NUMBER_BITS[k] >> lane & 1) << k).sum::<u16>();
        for lane in 0..GROUP_WIDTH {
            assert_eq!(usize::from(number(lane)), lane);
        }
    }
}
