//! Shared helpers.

#[cfg(feature = "server")]
pub mod binary;
pub mod cases;
pub mod ed25519_cases;
pub mod faulty_kernels;
#[cfg(feature = "server")]
pub mod jwks_server;
pub mod local;
pub mod null_kernel;
pub mod random;
pub mod rfc_tokens;
#[cfg(feature = "server")]
pub mod server;
pub mod signed_cases;
pub mod textbook;
pub mod tokens;
