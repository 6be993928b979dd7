//! The split of a compact serialization into its three segments (RFC 7515 section 7.1). Knows nothing of what is in
//! them; an empty payload is a JWS like another here, and no claims set to `claims`.

use super::{Limits, Malformed, MalformedKind, Segment, base64url};

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

impl<'a> Compact<'a> {
    /// The encoded text of a segment.
    #[must_use]
    pub const fn segment(&self, segment: Segment) -> &'a [u8] {
        match segment {
            Segment::Header => self.header,
            Segment::Payload => self.payload,
            Segment::Signature => self.signature,
        }
    }

    /// Where a segment starts in the token.
    #[must_use]
    pub const fn offset(&self, segment: Segment) -> usize {
        match segment {
            Segment::Header => 0,
            Segment::Payload => self.header.len() + 1,
            Segment::Signature => self.signing_input.len() + 1,
        }
    }

    /// Appends the decoded bytes of a segment to `out`.
    ///
    /// # Errors
    /// If the segment is not strict base64url; the position is an offset in the token. `out` is then as it was.
    pub fn decode_into(&self, segment: Segment, out: &mut Vec<u8>) -> Result<(), Malformed> {
        base64url::decode_into(self.segment(segment), out)
            .map_err(|error| Malformed::at(MalformedKind::Base64, segment, self.offset(segment) + error.position))
    }
}

/// Checks the length cap, then scans for dots and stops at the fifth; allocates nothing.
///
/// # Errors
/// Empty, too large, JSON serialization, JWE (five segments), or anything else that is not three segments of which
/// header and signature are not empty. Sizes of decoded header and payload are checked here too, from their encoded
/// lengths.
pub fn split<'a>(token: &'a [u8], limits: &Limits) -> Result<Compact<'a>, Malformed> {
    if token.is_empty() {
        return Err(Malformed::new(MalformedKind::Empty));
    }
    if token.len() > limits.token_bytes {
        return Err(Malformed::new(MalformedKind::TokenTooLarge));
    }
    if token.trim_ascii_start().first() == Some(&b'{') {
        return Err(Malformed::new(MalformedKind::JsonSerialization));
    }
    let mut dots = memchr::memchr_iter(b'.', token);
    let not_compact = |position| Malformed { kind: MalformedKind::NotCompact, segment: None, position };
    let (Some(first), Some(second)) = (dots.next(), dots.next()) else {
        return Err(not_compact(None));
    };
    if let Some(third) = dots.next() {
        // Five segments are an encrypted token (RFC 7516 section 9); four, six and more are nothing.
        let segments_are_five = dots.next().is_some() && dots.next().is_none();
        return Err(if segments_are_five { Malformed::new(MalformedKind::Jwe) } else { not_compact(Some(third)) });
    }
    // `first < second < token.len()`: both are places of dots.
    let compact = Compact {
        header: &token[..first],
        payload: &token[first + 1..second],
        signature: &token[second + 1..],
        signing_input: &token[..second],
    };
    if compact.header.is_empty() {
        return Err(Malformed::at(MalformedKind::NotCompact, Segment::Header, 0));
    }
    if compact.signature.is_empty() {
        return Err(Malformed::at(MalformedKind::NotCompact, Segment::Signature, token.len()));
    }
    if base64url::decoded_len(compact.header.len()) > limits.header_bytes {
        return Err(Malformed::within(MalformedKind::HeaderTooLarge, Segment::Header));
    }
    if base64url::decoded_len(compact.payload.len()) > limits.payload_bytes {
        return Err(Malformed::within(MalformedKind::PayloadTooLarge, Segment::Payload));
    }
    Ok(compact)
}
