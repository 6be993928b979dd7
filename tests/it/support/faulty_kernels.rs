//! Kernels with a planted fault, to show that the tests would find one.

use std::sync::atomic::{AtomicBool, Ordering};

use verilane::kernel::{GROUP_WIDTH, Job, Kernel, LaneMask, Scheme, Scratch, entries};

/// What is wrong with a [`FaultyKernel`]. Each is a fault that a real vector kernel has had or nearly had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Accepts everything: an answer that starts at "accepted".
    AcceptsAll,
    /// Refuses everything.
    RefusesAll,
    /// Two lanes are exchanged on the way in or out.
    SwapsLanes3And4,
    /// The last lane of a full group is left out of the computation and keeps the answer of the lane before.
    LastLaneCopiesItsNeighbour,
    /// Idle lanes answer.
    IdleLanesAnswer,
    /// A refused signature leaves state behind that breaks the next group.
    RefusalBreaksTheNextGroup,
    /// The last bit of the signature does not count.
    IgnoresTheLastBit,
    /// Panics when a group is full.
    PanicsWhenFull,
}

impl Fault {
    pub const ALL: [Self; 8] = [
        Self::AcceptsAll,
        Self::RefusesAll,
        Self::SwapsLanes3And4,
        Self::LastLaneCopiesItsNeighbour,
        Self::IdleLanesAnswer,
        Self::RefusalBreaksTheNextGroup,
        Self::IgnoresTheLastBit,
        Self::PanicsWhenFull,
    ];
}

/// The portable kernel of a scheme with a fault, said to be as wide as a lane group.
#[derive(Debug)]
pub struct FaultyKernel {
    fault: Fault,
    portable: &'static dyn Kernel,
    refused_before: AtomicBool,
}

impl FaultyKernel {
    /// Lives for ever, as kernels do.
    pub fn leak(scheme: Scheme, fault: Fault) -> &'static Self {
        let portable = entries(scheme).last().and_then(|entry| (entry.open)()).unwrap();
        Box::leak(Box::new(Self { fault, portable, refused_before: AtomicBool::new(false) }))
    }
}

impl Kernel for FaultyKernel {
    fn lanes(&self) -> usize {
        GROUP_WIDTH
    }

    fn run(&self, scratch: &mut Scratch, jobs: &[Job<'_>]) -> LaneMask {
        let honest = self.portable.run(scratch, jobs);
        let all = LaneMask::first(jobs.len());
        match self.fault {
            Fault::AcceptsAll => all,
            Fault::RefusesAll => LaneMask::NONE,
            Fault::SwapsLanes3And4 if jobs.len() > 4 => honest.with(3, honest.contains(4)).with(4, honest.contains(3)),
            Fault::LastLaneCopiesItsNeighbour if jobs.len() == GROUP_WIDTH => {
                honest.with(GROUP_WIDTH - 1, honest.contains(GROUP_WIDTH - 2))
            }
            Fault::IdleLanesAnswer => LaneMask::from_bits(honest.bits() | !all.bits()),
            Fault::RefusalBreaksTheNextGroup => {
                let broken = self.refused_before.swap(honest != all, Ordering::Relaxed);
                if broken { LaneMask::NONE } else { honest }
            }
            Fault::IgnoresTheLastBit => {
                let flipped: Vec<Vec<u8>> = jobs.iter().map(|job| flip_last_bit(job.signature)).collect();
                let jobs: Vec<Job<'_>> =
                    jobs.iter().zip(&flipped).map(|(job, signature)| Job { signature, ..*job }).collect();
                LaneMask::from_bits(honest.bits() | self.portable.run(scratch, &jobs).bits())
            }
            Fault::PanicsWhenFull if jobs.len() == GROUP_WIDTH => panic!("planted"),
            Fault::SwapsLanes3And4 | Fault::LastLaneCopiesItsNeighbour | Fault::PanicsWhenFull => honest,
        }
    }
}

fn flip_last_bit(signature: &[u8]) -> Vec<u8> {
    let mut flipped = signature.to_vec();
    if let Some(last) = flipped.last_mut() {
        *last ^= 1;
    }
    flipped
}
