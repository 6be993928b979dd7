//! How much of a token is looked at before it is refused.

/// Bounds on one token and on JSON documents. All are inclusive maxima.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the compact serialization. Default 24 KiB.
    pub token_bytes: usize,
    /// Bytes of the decoded header. Default 4 KiB.
    pub header_bytes: usize,
    /// Bytes of the decoded payload. Default 16 KiB.
    pub payload_bytes: usize,
    /// Nesting of JSON arrays and objects, the outermost object being 1. Default 16.
    pub json_depth: usize,
    /// Members of all objects plus elements of all arrays of one document. Default 1024.
    pub json_members: usize,
    /// Characters of one JSON number. Default 64.
    pub number_chars: usize,
}

impl Limits {
    /// The defaults named at the fields.
    pub const DEFAULT: Self = Self {
        token_bytes: 24 * 1024,
        header_bytes: 4 * 1024,
        payload_bytes: 16 * 1024,
        json_depth: 16,
        json_members: 1024,
        number_chars: 64,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
