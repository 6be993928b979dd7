//! Known-answer tests at start: one good and one bad signature for every chosen kernel.

use super::{KernelTable, Scheme};

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

/// Runs the known answers of every kernel in `table`, in every lane position.
///
/// A failing kernel is replaced in `table` by the next entry of its scheme that passes. If none is left the scheme is
/// unusable, and the last failure is fatal: the caller must not serve.
///
/// # Errors
/// The failures, if some scheme has no kernel that passes.
pub fn self_test(table: &mut KernelTable) -> Result<Vec<KatFailure>, Vec<KatFailure>> {
    todo!()
}
