//! Kernels that check nothing, to see the engine alone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use verilane::kernel::{Job, Kernel, KernelTable, LaneMask, PreparedKey, Scheme, Scratch};

/// Accepts a job if the first byte of its signature is odd.
#[derive(Debug)]
pub struct NullKernel {
    /// How long each job keeps the thread busy.
    pub busy: Duration,
}

impl Kernel for NullKernel {
    fn lanes(&self) -> usize {
        verilane::kernel::GROUP_WIDTH
    }

    fn run(&self, _scratch: &mut Scratch, jobs: &[Job<'_>]) -> LaneMask {
        let started = Instant::now();
        while !self.busy.is_zero() && started.elapsed() < self.busy * jobs.len() as u32 {
            std::hint::spin_loop();
        }
        jobs.iter().enumerate().fold(LaneMask::NONE, |mask, (lane, job)| {
            mask.with(lane, job.signature.first().is_some_and(|byte| byte % 2 == 1))
        })
    }
}

static INSTANT: NullKernel = NullKernel { busy: Duration::ZERO };
static SLOW: NullKernel = NullKernel { busy: Duration::from_micros(20) };

/// A table where every scheme is answered at once by [`NullKernel`].
pub fn null_kernels() -> KernelTable {
    every_scheme(&INSTANT)
}

/// The same, taking 20 us a job.
pub fn slow_null_kernels() -> KernelTable {
    every_scheme(&SLOW)
}

/// One lane, a set time a job, and a record of how long its groups were.
#[derive(Debug)]
pub struct NarrowKernel {
    /// How long each job keeps the thread busy.
    pub busy: Duration,
    /// Jobs of each group so far.
    pub groups: std::sync::Mutex<Vec<usize>>,
}

impl Kernel for NarrowKernel {
    fn lanes(&self) -> usize {
        1
    }

    fn run(&self, scratch: &mut Scratch, jobs: &[Job<'_>]) -> LaneMask {
        self.groups.lock().expect("no test panics while it counts").push(jobs.len());
        NullKernel { busy: self.busy }.run(scratch, jobs)
    }
}

/// A kernel with a fault.
#[cfg(feature = "server")]
#[derive(Debug)]
struct PanickingKernel;

#[cfg(feature = "server")]
impl Kernel for PanickingKernel {
    fn lanes(&self) -> usize {
        1
    }

    fn run(&self, _scratch: &mut Scratch, _jobs: &[Job<'_>]) -> LaneMask {
        panic!("a fault in a kernel, on purpose");
    }
}

/// A table of kernels that panic.
#[cfg(feature = "server")]
pub fn panicking_kernels() -> KernelTable {
    every_scheme(&PanickingKernel)
}

/// A table with `kernel` for every scheme.
pub fn every_scheme(kernel: &'static dyn Kernel) -> KernelTable {
    let mut table = KernelTable::select::<&str>(&[]).expect("the default selection exists");
    for scheme in Scheme::ALL {
        table.replace(scheme, kernel);
    }
    table
}

/// A key to put into jobs that no kernel looks at.
pub fn any_key() -> Arc<PreparedKey> {
    Arc::new(PreparedKey::hmac(&[7; 64]).expect("64 bytes are long enough for every HMAC scheme"))
}
