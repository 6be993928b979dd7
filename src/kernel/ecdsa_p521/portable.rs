//! ECDSA on P-521 by `aws-lc-rs`: the oracle of the scheme.

use crate::kernel::{Job, Kernel, LaneMask, PreparedKey, Scratch, run_each};

#[derive(Debug)]
pub(super) struct Portable;

impl Kernel for Portable {
    fn lanes(&self) -> usize {
        1
    }

    fn run(&self, _scratch: &mut Scratch, jobs: &[Job<'_>]) -> LaneMask {
        run_each(jobs, |job| match job.key {
            PreparedKey::EcdsaP521(key) => key.point.check_vartime(job),
            _ => false,
        })
    }
}
