//! Shared helpers.

pub mod cases;
pub mod faulty_kernels;
pub mod random;
