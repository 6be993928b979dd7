//! Verilane verifies JWTs and raw signatures: strictly, in batches, many lanes wide.
//!
//! The crate is a library first. [`kernel`], [`jose`], [`policy`], [`keys`], [`engine`] and [`verify`] build without
//! the servers (`default-features = false`) and let a Rust program verify tokens in process. Feature `server` adds the
//! HTTP and gRPC faces, the admin listener, configuration and the command line of the `verilane` binary.
//!
//! Modules form layers; a module uses lower layers only. `docs/ARCHITECTURE.md` has the picture and the invariants.
#![deny(unsafe_code, unsafe_op_in_unsafe_fn)]
#![warn(missing_docs, unreachable_pub, clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block)]

pub mod engine;
pub mod jose;
pub mod kernel;
pub mod keys;
pub mod policy;
pub mod verify;

#[cfg(feature = "server")]
pub mod admin;
#[cfg(feature = "server")]
pub mod api;
#[cfg(feature = "server")]
pub mod app;
#[cfg(feature = "server")]
pub mod config;
#[cfg(feature = "server")]
pub mod faces;
#[cfg(feature = "server")]
pub mod grpc;
#[cfg(feature = "server")]
pub mod http;
#[cfg(feature = "server")]
pub mod runtime;
#[cfg(feature = "server")]
pub mod telemetry;
