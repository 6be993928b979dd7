//! base64url without padding (RFC 4648 section 5, RFC 7515 section 2): strict. Refuses padding, foreign characters,
//! white space, lengths of 1 mod 4 and non-zero unused bits, with the offset of the first bad character.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::NO_PAD;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
type Codec = base64::engine::simd::Simd;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
type Codec = base64::engine::GeneralPurpose;

/// `NO_PAD` refuses padding and trailing bits when it decodes.
static CODEC: LazyLock<Codec> = LazyLock::new(|| {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    return Codec::url_safe(NO_PAD);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return Codec::new(&base64::alphabet::URL_SAFE, NO_PAD);
});

/// Why text is not strict base64url.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not base64url without padding (character {position})")]
pub struct Base64Error {
    /// Offset of the first bad character; the last character for a bad length or stray bits.
    pub position: usize,
}

impl Base64Error {
    /// Finds the first bad character of text that the codec has refused.
    fn locate(text: &[u8]) -> Self {
        let foreign =
            text.iter().position(|byte| !matches!(byte, b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'));
        Self { position: foreign.unwrap_or_else(|| text.len().saturating_sub(1)) }
    }
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
    let start = out.len();
    out.resize(start + decoded_len(text.len()), 0);
    // `start` is at most the length: `resize` has just added to it.
    match CODEC.decode_slice(text, &mut out[start..]) {
        Ok(written) => {
            out.truncate(start + written);
            Ok(())
        }
        Err(_) => {
            out.truncate(start);
            Err(Base64Error::locate(text))
        }
    }
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
    CODEC.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bad_character_is_named() {
        let cases: &[(&str, usize)] = &[
            ("A", 0),
            ("AAAAA", 4),
            ("AA==", 2),
            ("AAA=", 3),
            ("=", 0),
            ("AB", 1),
            ("AAB", 2),
            (" AAA", 0),
            ("AA\nA", 2),
            ("AA+/", 2),
            ("AAAA AAAA", 4),
            ("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\u{e9}A", 78),
        ];
        for (text, position) in cases {
            assert_eq!(decode(text.as_bytes()), Err(Base64Error { position: *position }), "{text:?}");
        }
    }

    #[test]
    fn a_refused_text_leaves_the_output_alone() {
        let mut out = b"kept".to_vec();
        assert!(decode_into(b"AAAAAAA!", &mut out).is_err());
        assert_eq!(out, b"kept");
        decode_into(b"AAAA", &mut out).expect("strict");
        assert_eq!(out, b"kept\0\0\0");
    }
}
