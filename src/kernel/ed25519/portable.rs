//! Ed25519 by `ed25519-dalek`: the oracle of the scheme. Its `verify` (not `verify_strict`) is the rule of the module
//! above once the key has passed the check there.

use ed25519_dalek::{Signature, Verifier};

use crate::kernel::{Job, Kernel, LaneMask, PreparedKey, Scratch, run_each};

#[derive(Debug)]
pub(super) struct Portable;

impl Kernel for Portable {
    fn lanes(&self) -> usize {
        1
    }

    fn run(&self, _scratch: &mut Scratch, jobs: &[Job<'_>]) -> LaneMask {
        run_each(jobs, check_vartime)
    }
}

pub(super) fn check_vartime(job: &Job<'_>) -> bool {
    let (PreparedKey::Ed25519(key), Ok(signature)) = (job.key, Signature::from_slice(job.signature)) else {
        return false;
    };
    key.verifying_key().is_some_and(|key| key.verify(job.message, &signature).is_ok())
}
