//! Layer 2: keys of issuers. Owns key sets as immutable snapshots, their sources (file, inline, PEM, secret, remote),
//! refresh and discovery: the only outbound network of the product. Knows no tokens and no policies.

mod issuer_keys;
mod key_set;
mod pem;
pub mod prepare;
mod refetch;
#[cfg(feature = "fetch")]
pub mod remote;
pub mod source;
pub mod tables;
#[cfg(feature = "server")]
pub mod watch;

pub use issuer_keys::{CurrentKeys, IssuerKeys, KeyStatus};
pub use key_set::{Candidates, KeySet, KeySetReport, NoKey, VerifyingKey};
pub use refetch::{Refetch, RefetchLimits};
