//! Integration tests: one binary, for faster links and shared helpers.
mod support;

mod conformance;
mod differential;
mod ed25519_lanes;
mod engine;
mod jose;
mod kernel;
mod keys;
mod policy;
mod tables;
mod tidy;
mod verify;

#[cfg(feature = "fetch")]
mod shard_verifier;

#[cfg(feature = "server")]
mod admin;
#[cfg(feature = "server")]
mod cli;
#[cfg(feature = "server")]
mod config;
#[cfg(feature = "server")]
mod grpc;
#[cfg(feature = "server")]
mod http;
#[cfg(feature = "server")]
mod interop;
#[cfg(feature = "server")]
mod runtime;
#[cfg(feature = "server")]
mod serve;
