//! Shared helpers.

pub mod cases;
pub mod faulty_kernels;
pub mod random;
pub mod rfc_tokens;
pub mod tokens;
