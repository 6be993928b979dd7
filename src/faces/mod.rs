//! Layer 4: what both faces share: a shard's state, the bounds on requests, deadlines, the drain signal, and how a call
//! becomes a question for `verify`. Knows no routes and no protobuf.

mod drain;
mod held;
mod ledger;
mod settings;
mod signature;
mod state;

pub use drain::{Drain, DrainSwitch};
pub use held::Held;
pub use ledger::{Claim, FIELD_BYTES, Ledger, batch_bytes};
pub use settings::FaceSettings;
pub use signature::{KeySpec, SignatureSpec};
pub use state::ShardState;
pub(crate) use state::{token_request, unix_now};
