//! Signature checks as data, and running them through a kernel in every neighbourhood.

use std::sync::Arc;

use verilane::kernel::{GROUP_WIDTH, Job, Kernel, LaneMask, PreparedKey, Scheme, Tier};

use super::random::Random;

/// One signature check.
#[derive(Clone)]
pub struct Case {
    pub name: String,
    pub key: Arc<PreparedKey>,
    pub message: Vec<u8>,
    pub signature: Vec<u8>,
}

impl Case {
    pub fn job(&self) -> Job<'_> {
        Job { key: &self.key, message: &self.message, signature: &self.signature }
    }
}

/// A case that a kernel answered wrongly: enough to run it again.
#[derive(Debug)]
#[expect(dead_code, reason = "read through Debug when a test fails")]
pub struct Disagreement {
    case: String,
    lane: usize,
    fill: usize,
    expected: bool,
    message: String,
    signature: String,
}

/// Runs one lane group and compares every lane, the idle ones included, with the expected answers.
pub fn run_group(kernel: &dyn Kernel, group: &[(&Case, bool)]) -> Result<(), Disagreement> {
    run_group_on(kernel, &mut kernel.scratch(), group)
}

/// As [`run_group`], with working memory that has seen other groups.
pub fn run_group_on(
    kernel: &dyn Kernel,
    scratch: &mut verilane::kernel::Scratch,
    group: &[(&Case, bool)],
) -> Result<(), Disagreement> {
    let jobs: Vec<Job<'_>> = group.iter().map(|(case, _)| case.job()).collect();
    let got = kernel.run(scratch, &jobs);
    let want = group.iter().enumerate().fold(LaneMask::NONE, |mask, (lane, (_, expected))| mask.with(lane, *expected));
    let Some(lane) = (0..GROUP_WIDTH).find(|&lane| got.contains(lane) != want.contains(lane)) else { return Ok(()) };
    let case = group.get(lane).map(|(case, _)| *case);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    Err(Disagreement {
        case: case.map_or_else(|| "an idle lane".to_owned(), |case| case.name.clone()),
        lane,
        fill: group.len(),
        expected: want.contains(lane),
        message: case.map(|case| hex(&case.message)).unwrap_or_default(),
        signature: case.map(|case| hex(&case.signature)).unwrap_or_default(),
    })
}

/// Runs all cases in full groups, shuffled, so that each has other cases as neighbours, and again with every case one
/// lane further: `rounds` of [`GROUP_WIDTH`] put every case in every lane.
pub fn run_in_lanes(
    kernel: &dyn Kernel,
    cases: &[(Case, bool)],
    rounds: usize,
    random: &mut Random,
) -> Result<(), Disagreement> {
    let mut order: Vec<(&Case, bool)> = cases.iter().map(|(case, expected)| (case, *expected)).collect();
    random.shuffle(&mut order);
    vary_tiers(cases, random);
    let mut scratch = kernel.scratch();
    for _ in 0..rounds {
        for group in order.chunks(GROUP_WIDTH) {
            run_group_on(kernel, &mut scratch, group)?;
        }
        order.rotate_right(1);
    }
    Ok(())
}

/// Gives keys that have tiers one at random, so that groups are mixed.
fn vary_tiers(cases: &[(Case, bool)], random: &mut Random) {
    for (case, _) in cases {
        if case.key.tier() == Some(Tier::Bare) && random.below(2) == 0 {
            case.key.set_tier(if random.below(8) == 0 { Tier::Medium } else { Tier::Small });
        }
    }
}

/// Checks that no kernel of `scheme` may accept: no signature, far too long a signature, a key of another family.
pub fn garbage(scheme: Scheme, key: &Arc<PreparedKey>) -> Vec<(Case, bool)> {
    let base_point = {
        let mut encoded = [0x66; 32];
        encoded[0] = 0x58;
        encoded
    };
    let foreign = match scheme {
        Scheme::Ed25519 => PreparedKey::hmac(&[7; 64]),
        _ => PreparedKey::ed25519(&base_point),
    };
    let foreign = Arc::new(foreign.unwrap());
    let case = |name: &str, key: &Arc<PreparedKey>, message: &[u8], signature: Vec<u8>| {
        let case =
            Case { name: format!("{scheme}: {name}"), key: Arc::clone(key), message: message.to_vec(), signature };
        (case, false)
    };
    vec![
        case("nothing at all", key, b"", vec![]),
        case("no signature", key, b"message", vec![]),
        case("one byte", key, b"message", vec![1]),
        case("2000 bytes of signature", key, b"message", vec![0x5a; 2000]),
        case("foreign key", &foreign, b"message", vec![0; 64]),
        case("foreign key, no signature", &foreign, b"", vec![]),
    ]
}
