//! Counts the entries of a batch message as its bytes arrive. An entry may be two bytes on the wire and a hundred in
//! memory: the bound on entries must hold before the message is decoded, as the one on bytes does.

/// Bytes before a message: whether it is compressed, and its length.
const FRAME_HEAD: u64 = 5;
/// The field of the entries, in every batch message.
const ENTRIES: u64 = 1;
/// Bits that a varint may have.
const VARINT_BITS: u32 = 64;

/// Reads the outermost fields of one message and nothing in them.
#[derive(Debug)]
pub(super) struct EntryCount {
    next: Next,
    left: usize,
    max: usize,
}

/// What the next byte belongs to.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// A field's tag.
    Tag(Varint),
    /// The value of a varint field.
    Value(Varint),
    /// The length of a field.
    Length(Varint),
    /// So many bytes that do not matter.
    Skip(u64),
    /// The message is broken here; decoding ends at the same place.
    Broken,
}

#[derive(Clone, Copy, Debug, Default)]
struct Varint {
    value: u64,
    bits: u32,
}

impl Varint {
    /// Takes a byte in. The number, if that was its last; itself, if not; `None` if it is too long.
    fn push(mut self, byte: u8) -> Option<Result<u64, Self>> {
        if self.bits >= VARINT_BITS {
            return None;
        }
        self.value |= u64::from(byte & 0x7f) << self.bits;
        self.bits += 7;
        Some(if byte < 0x80 { Ok(self.value) } else { Err(self) })
    }
}

impl EntryCount {
    /// For at most `max` entries.
    pub(super) fn new(max: usize) -> Self {
        Self { next: Next::Skip(FRAME_HEAD), left: max, max }
    }

    /// Entries allowed.
    pub(super) fn max(&self) -> usize {
        self.max
    }

    /// Entries that may still come.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Reads on. `false` once there are more entries than allowed.
    pub(super) fn read(&mut self, mut bytes: &[u8]) -> bool {
        while let Some((&byte, rest)) = bytes.split_first() {
            if let Next::Skip(count) = self.next {
                let here = usize::try_from(count).map_or(bytes.len(), |count| count.min(bytes.len()));
                bytes = &bytes[here..];
                let left = count - here as u64;
                self.next = if left == 0 { Next::Tag(Varint::default()) } else { Next::Skip(left) };
                continue;
            }
            bytes = rest;
            let (varint, again): (Varint, fn(Varint) -> Next) = match self.next {
                Next::Tag(varint) => (varint, Next::Tag),
                Next::Value(varint) => (varint, Next::Value),
                Next::Length(varint) => (varint, Next::Length),
                Next::Skip(_) | Next::Broken => return true,
            };
            self.next = match (varint.push(byte), self.next) {
                (None, _) => Next::Broken,
                (Some(Err(longer)), _) => again(longer),
                (Some(Ok(tag)), Next::Tag(_)) => {
                    if tag == ENTRIES << 3 | 2 {
                        let Some(left) = self.left.checked_sub(1) else { return false };
                        self.left = left;
                    }
                    match tag & 7 {
                        0 => Next::Value(Varint::default()),
                        1 => Next::Skip(8),
                        2 => Next::Length(Varint::default()),
                        5 => Next::Skip(4),
                        // Groups: what is in them counts as if it stood outside, which is never too little.
                        _ => Next::Tag(Varint::default()),
                    }
                }
                (Some(Ok(length)), Next::Length(_)) if length > 0 => Next::Skip(length),
                (Some(Ok(_)), _) => Next::Tag(Varint::default()),
            };
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;
    use crate::grpc::proto::{VerifyBatchRequest, VerifyRequest};

    #[test]
    fn entries_are_counted_however_the_message_is_cut() {
        let long = VerifyRequest { token: "x".repeat(300), ..VerifyRequest::default() };
        let requests = vec![VerifyRequest::default(), long, VerifyRequest::default()];
        let mut message = vec![0; 5];
        // Fields we do not know, of every wire type, in front.
        message
            .extend_from_slice(&[0x78, 0xff, 0x01, 0x79, 1, 2, 3, 4, 5, 6, 7, 8, 0x7d, 1, 2, 3, 4, 0x7a, 2, 0x0a, 0]);
        message.extend_from_slice(&VerifyBatchRequest { requests }.encode_to_vec());
        for size in 1..=message.len() {
            let fits = |max| {
                let mut count = EntryCount::new(max);
                message.chunks(size).all(|piece| count.read(piece))
            };
            assert!(fits(3) && !fits(2), "pieces of {size} bytes");
        }
    }
}
