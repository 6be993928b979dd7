//! base64url without padding (RFC 4648 section 5, RFC 7515 section 2): strict. Refuses padding, foreign characters,
//! white space, lengths of 1 mod 4 and non-zero unused bits, with the offset of the first bad character.

/// Why text is not strict base64url.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not base64url without padding (character {position})")]
pub struct Base64Error {
    /// Offset of the first bad character; the last character for a bad length or stray bits.
    pub position: usize,
}

/// Bytes that `chars` characters decode to.
#[must_use]
pub const fn decoded_len(chars: usize) -> usize {
    chars / 4 * 3 + (chars % 4) * 3 / 4
}

/// Appends the decoded bytes to `out`. On error `out` is as it was.
///
/// # Errors
/// If `text` is not strict base64url.
pub fn decode_into(text: &[u8], out: &mut Vec<u8>) -> Result<(), Base64Error> {
    todo!()
}

/// The decoded bytes.
///
/// # Errors
/// If `text` is not strict base64url.
pub fn decode(text: &[u8]) -> Result<Vec<u8>, Base64Error> {
    let mut out = Vec::with_capacity(decoded_len(text.len()));
    decode_into(text, &mut out)?;
    Ok(out)
}

/// Encodes without padding.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    todo!()
}
