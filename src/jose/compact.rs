//! The split of a compact serialization into its three segments (RFC 7515 section 7.1).

use super::{Limits, Malformed};

/// The segments of a compact JWS, still encoded, borrowed from the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compact<'a> {
    /// Encoded header.
    pub header: &'a [u8],
    /// Encoded payload.
    pub payload: &'a [u8],
    /// Encoded signature.
    pub signature: &'a [u8],
    /// What is signed: header, dot, payload as they stand.
    pub signing_input: &'a [u8],
}

/// Checks the length cap, then scans for dots and stops at the fourth segment; allocates nothing.
///
/// # Errors
/// Empty, too large, JSON serialization, JWE (five segments), or anything else that is not three segments. Sizes of
/// decoded header and payload are checked here too, from their encoded lengths.
pub fn split<'a>(token: &'a [u8], limits: &Limits) -> Result<Compact<'a>, Malformed> {
    todo!()
}
