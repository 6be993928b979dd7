//! Layer 4: the operator's view, on a listener of its own. Owns liveness, readiness, the metrics page and kernel
//! information. Reads snapshots only: nothing here can change what the service answers.

mod kernels;
mod readiness;
mod server;

pub use kernels::{FeatureInfo, KernelCandidate, KernelInfo, KernelReport};
pub use readiness::{IssuerReadiness, Readiness, ReadinessReport};
pub use server::serve;

use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Serialize;

use crate::telemetry::{METRICS_CONTENT_TYPE, Metrics};
use crate::verify::Verifier;

/// What the admin listener shows. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AdminState {
    /// The metrics page.
    pub metrics: Arc<Metrics>,
    /// Issuers and their keys.
    pub verifier: Arc<ArcSwap<Verifier>>,
    /// Whether to send traffic here.
    pub readiness: Arc<Readiness>,
    /// Kernels, as chosen at start.
    pub kernels: Arc<KernelReport>,
}

/// Routes of the admin listener.
pub fn router(state: AdminState) -> Router {
    Router::new()
        .route("/livez", get(alive))
        .route("/readyz", get(ready))
        .route("/healthz", get(ready))
        .route("/metrics", get(metrics))
        .route("/kernels", get(kernels))
        .fallback(async || (StatusCode::NOT_FOUND, "Here are /livez, /readyz, /healthz, /metrics and /kernels.\n"))
        .with_state(state)
}

/// The process answers: nothing else. A restart would not help against missing keys.
async fn alive() -> Response {
    json(StatusCode::OK, &serde_json::json!({ "status": "alive" }))
}

async fn ready(State(state): State<AdminState>) -> Response {
    let report = state.readiness.report(state.verifier.load().issuers());
    json(if report.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, &report)
}

async fn metrics(State(state): State<AdminState>) -> Response {
    match state.metrics.encode() {
        Ok(page) => ([(header::CONTENT_TYPE, METRICS_CONTENT_TYPE)], page).into_response(),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "the metrics cannot be written\n").into_response(),
    }
}

async fn kernels(State(state): State<AdminState>) -> Response {
    json(StatusCode::OK, state.kernels.as_ref())
}

fn json<T: Serialize>(status: StatusCode, value: &T) -> Response {
    // Plain structs of strings, numbers and lists always serialise.
    let mut body = serde_json::to_vec_pretty(value).unwrap_or_default();
    body.push(b'\n');
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
