//! What every handler of one shard works with.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use tokio::sync::Semaphore;

use super::{Drain, FaceSettings, KeySpec, Ledger, SignatureSpec};
use crate::verify::{
    Error, Reason, Rejection, ShardVerifier, SignatureRequest, SignatureVerdict, TokenRequest, Verdict,
};

/// The state of the faces on one shard. Cheap to clone, bound to its thread.
#[derive(Clone)]
pub struct ShardState(Rc<Inner>);

struct Inner {
    single: ShardVerifier,
    bulk: ShardVerifier,
    settings: Arc<FaceSettings>,
    drain: Drain,
    ledger: Ledger,
    bulk_ledger: Ledger,
    /// One key that came with a bulk call is prepared at a time, and every ready task runs before the next.
    preparing: Semaphore,
}

impl ShardState {
    /// State for one shard. `single` answers calls about one token, `bulk` those of batches and streams: give it the
    /// shard's handle for bulk work, so that single calls pass.
    #[must_use]
    pub fn new(single: ShardVerifier, bulk: ShardVerifier, settings: Arc<FaceSettings>, drain: Drain) -> Self {
        let bulk = bulk.holding_back(settings.bulk_in_flight_max);
        let ledger = Ledger::new(settings.held_bytes_max);
        let (bulk_ledger, preparing) = (ledger.for_bulk(), Semaphore::new(1));
        Self(Rc::new(Inner { single, bulk, settings, drain, ledger, bulk_ledger, preparing }))
    }

    /// Bounds and times.
    #[must_use]
    pub fn settings(&self) -> &FaceSettings {
        &self.0.settings
    }

    /// The drain signal.
    #[must_use]
    pub fn drain(&self) -> &Drain {
        &self.0.drain
    }

    /// The account of what clients sent, for single calls.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.0.ledger
    }

    /// The same account for batches and streams, which leave a part of it to single calls.
    #[must_use]
    pub fn bulk_ledger(&self) -> &Ledger {
        &self.0.bulk_ledger
    }

    /// When a check that arrives now must be done: after what the caller allows, and never later than the setting.
    #[must_use]
    pub fn deadline(&self, asked: Option<Duration>) -> Option<Instant> {
        let own = self.0.settings.request_timeout;
        Instant::now().checked_add(asked.map_or(own, |asked| asked.min(own)))
    }

    /// When the caller of a batch stops waiting, if it says so; counted from now.
    #[must_use]
    pub fn call_ends(asked: Option<Duration>) -> Option<Instant> {
        Instant::now().checked_add(asked?)
    }

    /// When the check of one item that is taken up now must be done. The setting counts from now, so that a long batch
    /// is not late by its length alone; `call_ends` is the end for all items.
    #[must_use]
    pub fn item_deadline(&self, call_ends: Option<Instant>) -> Option<Instant> {
        self.deadline(None).into_iter().chain(call_ends).min()
    }

    /// Verifies the one token of a call.
    ///
    /// # Errors
    /// If the question cannot be answered.
    pub async fn verify(&self, request: TokenRequest) -> Result<Verdict, Error> {
        self.0.single.verify(request).await
    }

    /// Verifies the one raw signature of a call.
    ///
    /// # Errors
    /// If the question cannot be answered.
    pub async fn verify_signature(&self, spec: SignatureSpec) -> Result<SignatureVerdict, Error> {
        ask_signature(&self.0.single, spec.into_request()).await
    }

    /// Verifies one token of many, once there is room among the bulk checks of this shard.
    ///
    /// # Errors
    /// If the question cannot be answered.
    pub async fn verify_in_bulk(&self, request: TokenRequest) -> Result<Verdict, Error> {
        self.0.bulk.verify(request).await
    }

    /// Verifies one raw signature of many, once there is room among the bulk checks of this shard.
    ///
    /// # Errors
    /// If the question cannot be answered.
    pub async fn verify_signature_in_bulk(&self, spec: SignatureSpec) -> Result<SignatureVerdict, Error> {
        let request = self.prepare_in_bulk(spec).await;
        ask_signature(&self.0.bulk, request).await
    }

    /// Preparing a large RSA key costs as much as a check, and runs here rather than in the engine's turns: a window full
    /// of them would keep the thread from everybody else.
    async fn prepare_in_bulk(&self, spec: SignatureSpec) -> Result<SignatureRequest, Rejection> {
        if !matches!(spec.key, KeySpec::Jwk(_)) {
            return spec.into_request();
        }
        let _turn = self.0.preparing.acquire().await;
        let request = spec.into_request();
        // Comes back after the event loop has asked for new I/O and run what that made ready.
        tokio::task::yield_now().await;
        request
    }
}

async fn ask_signature(
    verifier: &ShardVerifier,
    request: Result<SignatureRequest, Rejection>,
) -> Result<SignatureVerdict, Error> {
    match request {
        Ok(request) => verifier.verify_signature(request).await,
        Err(rejection) => Ok(verifier.reject_signature(rejection)),
    }
}

/// A token request as a face receives it, judged by the time of arrival.
pub(crate) fn token_request(
    token: Bytes,
    issuer: Option<String>,
    audience: Option<String>,
    deadline: Option<Instant>,
) -> TokenRequest {
    TokenRequest { token, issuer, audience, now: unix_now(), deadline }
}

/// A rejection that says no more than its reason.
pub(crate) fn rejection(reason: Reason) -> Rejection {
    Rejection { reason, place: None, detail: crate::api::reason_row(reason).message.to_owned() }
}

/// Seconds since 1970. A clock before 1970 reads as 1970: everything is then not yet valid, which fails closed.
pub(crate) fn unix_now() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX)
}
