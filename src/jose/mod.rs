//! Layer 1: the text formats of JOSE. Owns base64url, the split of compact JWS, strict JSON, headers, claims sets, JWK
//! and JWK Set parsing, and algorithm names. Pure: performs no I/O and reads no clock.
//!
//! Everything here refuses first: unknown, duplicate, oversized or ill-formed input is [`Malformed`] with a kind and,
//! where it helps, a position. One JSON reader serves headers, claims and key sets, so no two parsers can disagree.

mod algorithm;
pub mod base64url;
pub mod claims;
pub mod compact;
pub mod header;
pub mod json;
pub mod jwk;
mod limits;
mod malformed;
pub mod media_type;
mod numeric_date;

pub use algorithm::Algorithm;
pub use claims::{Audience, Claims};
pub use compact::Compact;
pub use header::Header;
pub use jwk::{Jwk, JwkMaterial, JwkSet, SkippedKey};
pub use limits::Limits;
pub use malformed::{Malformed, MalformedKind, Segment};
pub use numeric_date::NumericDate;
