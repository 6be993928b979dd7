//! HMAC by RustCrypto's `hmac` and `sha2`: the oracle of the three schemes. The pad states are copied for every message
//! instead of being computed again.

use ::hmac::Mac;
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use crate::kernel::{Job, Kernel, LaneMask, PreparedKey, Scratch, run_each};

#[derive(Debug)]
pub(super) struct Portable(pub(super) Hash);

#[derive(Clone, Copy, Debug)]
pub(super) enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

impl Kernel for Portable {
    fn lanes(&self) -> usize {
        1
    }

    fn run(&self, _scratch: &mut Scratch, jobs: &[Job<'_>]) -> LaneMask {
        run_each(jobs, |job| {
            let PreparedKey::Hmac(key) = job.key else { return false };
            match self.0 {
                Hash::Sha256 => check(Some(&key.states.sha256), job),
                Hash::Sha384 => check(key.states.sha384.as_ref(), job),
                Hash::Sha512 => check(key.states.sha512.as_ref(), job),
            }
        })
    }
}

/// Constant time in the tag and the secret; the lengths of message and signature are public.
fn check<M: Mac + Clone>(state: Option<&M>, job: &Job<'_>) -> bool {
    // No state: the secret is too short for this hash.
    let Some(state) = state else { return false };
    let mut tag = state.clone().chain_update(job.message).finalize().into_bytes();
    // Slices of different lengths are never equal, and say so at once.
    let equal = tag.as_slice().ct_eq(job.signature);
    tag.as_mut_slice().zeroize();
    equal.into()
}
