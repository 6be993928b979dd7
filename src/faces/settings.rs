//! Bounds on what the faces take in and hold.

use std::time::Duration;

/// Bounds and times of the faces. Everything a client can make us hold is bounded by one of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaceSettings {
    /// Bytes of the body of `/v1/verify`: the token limit with room for the JSON around it. Default 40 KiB.
    pub body_bytes_max: usize,
    /// Bytes of the body of `/v1/signatures:verify`, and of a gRPC message that is not a batch. Default 1 MiB.
    pub signature_body_bytes_max: usize,
    /// Bytes of a batch sent in one piece: a JSON array, or a gRPC `VerifyBatch`. Default 16 MiB.
    pub batch_bytes_max: usize,
    /// Items of a batch sent in one piece. Default 65,536.
    pub batch_items_max: usize,
    /// Bytes of one line of NDJSON. Longer lines are skipped and answered with an error. Default 40 KiB.
    pub line_bytes_max: usize,
    /// Requests of one batch or stream in flight at once, at least 1. Default 256.
    pub window: usize,
    /// Slots that all batches and streams of one shard take at once, at least 1; the others wait. Keep it well below
    /// the engine's slots, so that single checks always find one. Default 1024.
    pub bulk_in_flight_max: usize,
    /// Bytes of requests that one shard holds at once, over all connections: header fields, bodies being read, batches
    /// and lines with their answers, and answers that are not sent yet. Beyond it requests are refused as overloaded. Default 256 MiB.
    pub held_bytes_max: usize,
    /// How long a check may take when the caller says nothing; also the most a caller can ask for. Default 5 s.
    pub request_timeout: Duration,
    /// How long a client may pause while it sends a body, or take to send a whole one that is not streamed. Default
    /// 30 s.
    pub body_timeout: Duration,
    /// How long a `VerifyStream` may be silent in both directions before it is ended. Default one hour.
    pub stream_idle_timeout: Duration,
}

impl Default for FaceSettings {
    fn default() -> Self {
        Self {
            body_bytes_max: 40 * 1024,
            signature_body_bytes_max: 1024 * 1024,
            batch_bytes_max: 16 * 1024 * 1024,
            batch_items_max: 65_536,
            line_bytes_max: 40 * 1024,
            window: 256,
            bulk_in_flight_max: 1024,
            held_bytes_max: 256 * 1024 * 1024,
            request_timeout: Duration::from_secs(5),
            body_timeout: Duration::from_secs(30),
            stream_idle_timeout: Duration::from_secs(3600),
        }
    }
}
