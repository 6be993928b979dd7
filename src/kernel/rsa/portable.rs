//! RSA by `aws-lc-rs`: the oracle of the six schemes.

use super::Padding;
use crate::kernel::{Job, Kernel, LaneMask, PreparedKey, Scratch, run_each};

#[derive(Debug)]
pub(super) struct Portable(pub(super) Padding);

impl Kernel for Portable {
    fn lanes(&self) -> usize {
        1
    }

    fn run(&self, _scratch: &mut Scratch, jobs: &[Job<'_>]) -> LaneMask {
        run_each(jobs, |job| check_vartime(self.0, job))
    }
}

fn check_vartime(padding: Padding, job: &Job<'_>) -> bool {
    let PreparedKey::Rsa(key) = job.key else { return false };
    // The library checks the length too; here it stands where a reader looks for it.
    job.signature.len() == key.modulus_len() && key.parsed(padding).verify_sig(job.message, job.signature).is_ok()
}
