//! Layer 4: what the world is told. Owns the one table that turns a [`Reason`], an [`Error`] or a faulty request into
//! a stable code, an HTTP status, a gRPC code and a public sentence, and the JSON form of an answer that HTTP and the
//! command line share. Knows no sockets and no frameworks; nothing else in the crate knows a status code.
//!
//! Codes are a contract: they are never renamed, only added. `docs/reasons.md` lists them, and a test keeps that page
//! in step with this table.

mod answer;
mod errors;
mod reasons;

pub use answer::{write_signature_answer, write_token_answer};
pub use errors::{ErrorRow, GrpcCode, RequestFault, error_code, error_row, fault_row};
pub use reasons::{ReasonRow, reason_code, reason_row};

#[cfg(doc)]
use crate::verify::{Error, Reason};
