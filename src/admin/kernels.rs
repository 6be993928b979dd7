//! What the CPU has and which kernel was chosen for each scheme. The command line shows the same.

use serde::Serialize;

use curve25519_dalek::constants::ED25519_BASEPOINT_COMPRESSED;

use crate::kernel::{Entry, KatFailure, KernelTable, PreparedKey, Scheme, Tier, cpu, entries};

/// Features and kernels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelReport {
    /// Architecture, as Rust names it.
    pub architecture: &'static str,
    /// The CPU's own name of itself.
    pub cpu: Option<&'static str>,
    /// Features that kernels ask for.
    pub features: Vec<FeatureInfo>,
    /// Names that the environment hides and that no feature of this architecture has.
    pub unknown_disabled: Vec<String>,
    /// One entry a scheme.
    pub kernels: Vec<KernelInfo>,
    /// Tables that Ed25519 keys get with traffic, smallest first; empty where no kernel uses them.
    pub key_tables: Vec<KeyTableInfo>,
    /// Kernels that failed their self-test and were replaced.
    pub self_test_failures: Vec<String>,
}

/// A size of table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyTableInfo {
    /// Its tier.
    pub tier: &'static str,
    /// Memory for each key that has it.
    pub bytes: usize,
}

/// One CPU feature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FeatureInfo {
    /// Its name.
    pub name: &'static str,
    /// Whether kernels may use it.
    pub present: bool,
    /// What it is for, or why it is absent.
    pub note: &'static str,
}

/// The kernel of one scheme.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelInfo {
    /// The scheme.
    pub scheme: &'static str,
    /// The backend in use.
    pub backend: &'static str,
    /// Jobs that run side by side.
    pub lanes: usize,
    /// Whether the configuration named it.
    pub forced: bool,
    /// What there is, best first.
    pub candidates: Vec<KernelCandidate>,
}

/// One kernel there is for a scheme.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelCandidate {
    /// Its backend.
    pub backend: &'static str,
    /// What it needs; empty for nothing.
    pub needs: &'static str,
    /// Whether it runs on this CPU.
    pub available: bool,
    /// Why it is not in use; `None` for the one that is.
    pub not_chosen: Option<String>,
}

impl KernelReport {
    /// The report on `table`. `failures` are those that [`self_test`](crate::kernel::self_test) found and replaced.
    #[must_use]
    pub fn new(table: &KernelTable, failures: &[KatFailure]) -> Self {
        let feature = |each: &cpu::Feature| FeatureInfo { name: each.name, present: each.present, note: each.note };
        Self {
            architecture: cpu::architecture(),
            cpu: cpu::brand(),
            features: cpu::features().iter().map(feature).collect(),
            unknown_disabled: cpu::unknown_disabled().iter().map(ToString::to_string).collect(),
            kernels: Scheme::ALL.into_iter().map(|scheme| kernel_info(table, failures, scheme)).collect(),
            key_tables: key_tables(),
            self_test_failures: failures.iter().map(ToString::to_string).collect(),
        }
    }
}

/// The tiers as a key of this CPU has them; the base point is as good a key as any.
fn key_tables() -> Vec<KeyTableInfo> {
    let key = PreparedKey::ed25519(ED25519_BASEPOINT_COMPRESSED.as_bytes()).ok().filter(|key| key.tier().is_some());
    let info = |key: &PreparedKey, tier: Tier| KeyTableInfo { tier: tier.name(), bytes: key.tier_bytes(tier) };
    key.iter().flat_map(|key| Tier::ALL.map(|tier| info(key, tier))).collect()
}

fn kernel_info(table: &KernelTable, failures: &[KatFailure], scheme: Scheme) -> KernelInfo {
    let chosen = table.get(scheme);
    let candidates = entries(scheme).map(|entry| KernelCandidate {
        backend: entry.backend,
        needs: entry.needs,
        available: (entry.open)().is_some(),
        not_chosen: why_not(table, failures, entry),
    });
    KernelInfo {
        scheme: scheme.name(),
        backend: chosen.backend,
        lanes: chosen.kernel.lanes(),
        forced: chosen.forced,
        candidates: candidates.collect(),
    }
}

/// Why an entry of the registry is not the chosen one.
fn why_not(table: &KernelTable, failures: &[KatFailure], entry: &Entry) -> Option<String> {
    let selection = table.get(entry.scheme);
    if selection.backend == entry.backend {
        return None;
    }
    let failed = failures.iter().find(|failure| failure.scheme == entry.scheme && failure.backend == entry.backend);
    Some(if let Some(failure) = failed {
        format!("failed its self-test: {}", failure.what)
    } else if (entry.open)().is_none() {
        format!("needs {}", entry.needs)
    } else if selection.forced {
        format!("{} is forced", selection.backend)
    } else {
        format!("{} is faster", selection.backend)
    })
}
