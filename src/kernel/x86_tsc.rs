//! The time stamp counter of x86-64: one instruction, and whether its ticks are all equally long.
#![allow(unsafe_code)]

use std::arch::x86_64::{__cpuid, _rdtsc};

/// The counter now.
#[must_use]
pub fn now() -> u64 {
    // SAFETY: every x86-64 has the instruction, and it touches no memory. (A system that forbids it to programs, which
    // Linux does on request of the program only, ends the program; nothing is corrupted.)
    unsafe { _rdtsc() }
}

/// Whether the counter runs at one rate whatever the core does (CPUID leaf 0x80000007, EDX bit 8).
#[must_use]
pub fn is_steady() -> bool {
    const LEAF: u32 = 0x8000_0007;
    __cpuid(0x8000_0000).eax >= LEAF && __cpuid(LEAF).edx >> 8 & 1 == 1
}
