//! Ed25519 in AVX-512 lanes with 52-bit multiply-add: sixteen signatures side by side, with prepared tables and without
//! doublings. `docs/kernels.md` has the figures and what else was tried.
//!
//! `field`, `scalar`, `point` are arithmetic in lanes; `layout` and `table` are the prepared multiples; `verify` is the
//! flow. All inputs are public: table rows are read by index, and time depends on them.
#![allow(unsafe_code)]

mod batch_inverse;
mod constants;
mod encoding;
mod field;
mod invert;
mod key;
mod layout;
mod pipeline;
mod point;
mod rows;
mod scalar;
mod table;
#[cfg(test)]
mod testing;
mod verify;
mod window;

use std::sync::OnceLock;

pub(super) use self::key::LaneKey;
use self::layout::Layout;
use self::table::Table;
use self::verify::{Setup, Signed, Workspace};
use super::portable;
use crate::kernel::cpu::HaveAvx512;
use crate::kernel::{GROUP_WIDTH, Job, Kernel, LaneMask, PreparedKey, Scratch, assert_masks};

/// What the CPU must have.
pub(super) const NEEDS: &str = HaveAvx512::NEEDS;

/// The base point's table is shared by all keys and may be large: some 6 MiB.
static BASE_LAYOUT: Layout = Layout::new(20);

/// The kernel. Exists only where the CPU has the instructions.
#[derive(Debug)]
pub(super) struct Avx512Ifma {
    have: HaveAvx512,
    base: Table,
}

impl Avx512Ifma {
    /// The kernel, if this CPU can run it. The first call builds the table of the base point, in a few milliseconds.
    pub(super) fn open() -> Option<&'static dyn Kernel> {
        static KERNEL: OnceLock<Option<Avx512Ifma>> = OnceLock::new();
        let kernel = KERNEL.get_or_init(|| {
            let have = HaveAvx512::detect()?;
            Some(Self { have, base: Table::of_base_point(have, &BASE_LAYOUT) })
        });
        kernel.as_ref().map(|kernel| kernel as &dyn Kernel)
    }
}

impl Kernel for Avx512Ifma {
    fn lanes(&self) -> usize {
        GROUP_WIDTH
    }

    fn scratch(&self) -> Scratch {
        Scratch::new(Workspace::new(self.have))
    }

    fn run(&self, scratch: &mut Scratch, jobs: &[Job<'_>]) -> LaneMask {
        assert!(jobs.len() <= GROUP_WIDTH, "a lane group holds {GROUP_WIDTH} jobs, not {}", jobs.len());
        let mut mask = LaneMask::NONE;
        self.run_many(scratch, jobs, std::slice::from_mut(&mut mask));
        mask
    }

    fn run_many(&self, scratch: &mut Scratch, jobs: &[Job<'_>], masks: &mut [LaneMask]) {
        assert_masks(jobs, masks);
        let mut local = None;
        let work = match scratch.get_mut::<Box<Workspace>>() {
            Some(work) => work,
            None => local.insert(Workspace::new(self.have)),
        };
        let setup = Setup { have: self.have, base: &self.base, signed, check: portable::check_vartime };
        // SAFETY: `self.have` exists only where detection found every feature that `verify` enables.
        unsafe { verify::verify(&setup, work, jobs, masks) }
    }
}

/// The job in the form the lanes take; `None` if its key or the length of its signature cannot be right.
fn signed<'a>(job: &'a Job<'a>) -> Option<Signed<'a>> {
    let PreparedKey::Ed25519(key) = job.key else { return None };
    Some(Signed {
        encoded: &key.encoded,
        key: &key.lanes,
        message: job.message,
        signature: job.signature.try_into().ok()?,
    })
}
