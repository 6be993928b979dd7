//! Vector registers as values: thin newtypes over intrinsics, so that files which hold only arithmetic need no unsafe.
//!
//! A value of a register type exists only where the CPU has the instructions: the constructors ask for the proof that
//! [`super::cpu`] makes, and every other operation starts from a value that already exists. The operations are
//! `inline(always)` and carry no `#[target_feature]` of their own: the kernel's entry function enables the features,
//! and all arithmetic is inlined into it. Called from elsewhere they are slow, never wrong.

#[cfg(target_arch = "x86_64")]
mod avx512;

#[cfg(target_arch = "x86_64")]
pub(in crate::kernel) use avx512::{LANES, Mask8, Row, U64x8, keep_in_memory, pin, prefetch_row};
