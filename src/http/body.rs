//! Request bodies and the header fields that describe them. Limits come before buffering.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, header};
use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt;

use super::Problem;
use crate::api::RequestFault;
use crate::faces::{Claim, Ledger, ShardState};
use crate::verify::Error;

/// A whole body, and the claim on what it takes. Keep the claim as long as the bytes.
pub(super) struct Collected {
    pub(super) bytes: Bytes,
    pub(super) claim: Claim,
}

/// The whole body, if it is at most `max` bytes, comes within the time for bodies, and fits the account of the
/// shard, for single calls or for bulk.
pub(super) async fn collect(body: Body, max: usize, ledger: &Ledger, state: &ShardState) -> Result<Collected, Problem> {
    let announced = body.size_hint().lower();
    if usize::try_from(announced).map_or(true, |announced| announced > max) {
        return Err(too_large(max));
    }
    match tokio::time::timeout(state.settings().body_timeout, read(body, max, ledger.open())).await {
        Ok(collected) => collected,
        Err(_) => Err(Problem::fault(RequestFault::TimedOut, "The body was not sent in time.")),
    }
}

async fn read(mut body: Body, max: usize, mut claim: Claim) -> Result<Collected, Problem> {
    let mut first = Bytes::new();
    // Most bodies are one piece, which is kept as it is.
    let mut joined = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Problem::fault(RequestFault::Invalid, "The body ended early."))?;
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + joined.len() + data.len() > max {
            return Err(too_large(max));
        }
        if !claim.grow(data.len()) {
            return Err(Problem::error(Error::Overloaded));
        }
        if first.is_empty() && joined.is_empty() {
            first = data;
        } else {
            if joined.is_empty() {
                joined.extend_from_slice(&std::mem::take(&mut first));
            }
            joined.extend_from_slice(&data);
        }
    }
    let bytes = if joined.is_empty() { first } else { joined.freeze() };
    Ok(Collected { bytes, claim })
}

fn too_large(max: usize) -> Problem {
    Problem::fault(RequestFault::TooLarge, format!("The body is longer than {max} bytes."))
}

/// What a body is said to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MediaType {
    /// `application/json`.
    Json,
    /// `application/x-ndjson` or `application/ndjson`: one JSON text a line.
    NdJson,
    /// Anything else.
    Other,
    /// The request does not say.
    Absent,
}

/// Reads `Content-Type`, without its parameters. Two of them are refused: a proxy in front may have read the other one.
pub(crate) fn media_type(headers: &HeaderMap) -> Result<MediaType, Problem> {
    let mut fields = headers.get_all(header::CONTENT_TYPE).iter();
    let Some(value) = fields.next() else { return Ok(MediaType::Absent) };
    if fields.next().is_some() {
        return Err(Problem::fault(RequestFault::Invalid, "More than one `Content-Type` field was sent."));
    }
    let essence = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    Ok(if essence.eq_ignore_ascii_case(b"application/json") {
        MediaType::Json
    } else if essence.eq_ignore_ascii_case(b"application/x-ndjson")
        || essence.eq_ignore_ascii_case(b"application/ndjson")
    {
        MediaType::NdJson
    } else {
        MediaType::Other
    })
}

/// Refuses a coded body: what it expands to has no bound that could be told beforehand.
pub(super) fn refuse_coding(headers: &HeaderMap) -> Result<(), Problem> {
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    if codings.all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Ok(());
    }
    Err(Problem::fault(RequestFault::MediaTypeUnsupported, "A content coding is not accepted."))
}

static EXPECTED_TIMEOUT: HeaderName = HeaderName::from_static("x-envoy-expected-rq-timeout-ms");

/// How long the caller will wait, if it says so in the field that Envoy adds to upstream requests.
pub(super) fn caller_timeout(headers: &HeaderMap) -> Option<Duration> {
    let millis = headers.get(&EXPECTED_TIMEOUT)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_millis(millis))
}
