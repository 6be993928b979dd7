//! Layer 3: the question "is this token, or this raw signature, good?". Owns [`Verdict`], [`Reason`] and [`Error`],
//! and the path of a token through `jose`, `keys`, `policy` and a kernel. Knows no status codes and no sockets.
//!
//! Two answers, never mixed: a *verdict* is about the token, an *error* is about us. Every face fails closed on an
//! error.

mod explain;
mod lanes;
mod path;
mod reason;
mod refusal;
mod request;
mod shard_verifier;
mod step;
mod verdict;
mod verifier;

pub use explain::{ExplainStep, Explanation, StepStatus};
pub use reason::{Error, Reason};
pub use request::{SignatureKey, SignatureRequest, TokenRequest};
pub use shard_verifier::{Observation, Observe, ShardVerifier};
pub use verdict::{Accepted, Place, Rejection, SignatureVerdict, Verdict};
pub use verifier::{IssuerEntry, Verifier, VerifierOptions};
