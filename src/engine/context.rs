//! Everything one thread needs to run kernels: the chosen kernels and their scratch.

use crate::kernel::{Job, KernelTable, LaneMask, Scheme, Scratch};

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

    /// Runs one lane group of up to [`GROUP_WIDTH`](crate::kernel::GROUP_WIDTH) jobs.
    pub fn run(&mut self, scheme: Scheme, jobs: &[Job<'_>]) -> LaneMask {
        self.kernels.get(scheme).kernel.run(&mut self.scratch[scheme.index()], jobs)
    }

    /// The kernels in use.
    #[must_use]
    pub fn kernels(&self) -> &KernelTable {
        &self.kernels
    }
}
