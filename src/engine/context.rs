//! Everything one thread needs to run kernels: the chosen kernels and their scratch.

use crate::kernel::{GROUP_WIDTH, Job, KernelTable, LaneMask, Scheme, Scratch};

/// Kernels and scratch of one thread. Usable without the engine: the synchronous path of the library.
#[derive(Debug)]
pub struct Context {
    kernels: KernelTable,
    scratch: [Scratch; Scheme::COUNT],
}

impl Context {
    /// Allocates the scratch of every chosen kernel; nothing is allocated afterwards.
    #[must_use]
    pub fn new(kernels: &KernelTable) -> Self {
        let scratch = Scheme::ALL.map(|scheme| kernels.get(scheme).kernel.scratch());
        Self { kernels: kernels.clone(), scratch }
    }

    /// Runs one lane group of up to [`GROUP_WIDTH`] jobs.
    pub fn run(&mut self, scheme: Scheme, jobs: &[Job<'_>]) -> LaneMask {
        self.kernels.get(scheme).kernel.run(&mut self.scratch[scheme.index()], jobs)
    }

    /// How many jobs of `scheme` run side by side; more in one group gains nothing.
    #[must_use]
    pub fn lanes(&self, scheme: Scheme) -> usize {
        self.kernels.get(scheme).kernel.lanes().clamp(1, GROUP_WIDTH)
    }

    /// The kernels in use.
    #[must_use]
    pub fn kernels(&self) -> &KernelTable {
        &self.kernels
    }
}
