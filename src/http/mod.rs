//! Layer 4: the HTTP face. Owns routes, request bodies, problem details, the OpenAPI document and the loop of one
//! connection, which gRPC shares. Knows no cryptography and decides nothing about a token; status codes come from
//! [`crate::api`].
//!
//! Everything of a shard stays on the shard's thread. axum and tonic want `Send` futures, so state, futures and streams
//! are wrapped in [`SendWrapper`], which panics rather than let another thread touch them.

mod activity;
mod answers;
mod batch;
mod body;
mod connection;
mod items;
mod lines;
mod openapi;
mod problem;
mod takeup;
mod verify;

pub(crate) use body::{MediaType, media_type};
pub use connection::{ConnectionSettings, serve_connection};
pub use problem::Problem;

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use send_wrapper::SendWrapper;

use crate::api::RequestFault;
use crate::faces::{FIELD_BYTES, Held, ShardState};
use crate::verify::Error;

/// State as axum takes it.
type LocalState = SendWrapper<ShardState>;

/// The routes of the HTTP face on one shard. Call it on the shard's thread and serve it there.
pub fn router(state: ShardState) -> Router {
    Router::new()
        .route("/v1/verify", only_post(post(verify_handler)))
        .route("/v1/verify:batch", only_post(post(verify_batch_handler)))
        .route("/v1/signatures:verify", only_post(post(signature_handler)))
        .route("/v1/signatures:batch", only_post(post(signature_batch_handler)))
        .route("/openapi.json", get(openapi::document).fallback(|| method_not_allowed("GET, HEAD")))
        .fallback(not_found)
        .layer(middleware::from_fn_with_state(SendWrapper::new(state.clone()), bound_head))
        .with_state(SendWrapper::new(state))
        .layer(middleware::from_fn(echo_request_id))
}

fn only_post(route: MethodRouter<LocalState>) -> MethodRouter<LocalState> {
    route.fallback(|| method_not_allowed("POST"))
}

async fn verify_handler(State(state): State<LocalState>, request: Request) -> Response {
    SendWrapper::new(async move { verify::token(state.take(), request).await }).await
}

async fn signature_handler(State(state): State<LocalState>, request: Request) -> Response {
    SendWrapper::new(async move { verify::signature(state.take(), request).await }).await
}

async fn verify_batch_handler(State(state): State<LocalState>, request: Request) -> Response {
    SendWrapper::new(async move { batch::tokens(state.take(), request).await }).await
}

async fn signature_batch_handler(State(state): State<LocalState>, request: Request) -> Response {
    SendWrapper::new(async move { batch::signatures(state.take(), request).await }).await
}

async fn not_found() -> Response {
    Problem::fault(RequestFault::NotFound, "The operations are listed at /openapi.json.").into_response()
}

async fn method_not_allowed(allow: &'static str) -> Response {
    let problem = Problem::fault(RequestFault::MethodNotAllowed, format!("This path takes {allow}."));
    ([(header::ALLOW, allow)], problem).into_response()
}

/// Puts the header fields of a request on the shard's account until it is answered: one connection may have a thousand
/// requests begun, each with fields of the largest size. The answer is on the account until it is sent; those of
/// batches, whose length is not known beforehand, see to that themselves.
async fn bound_head(State(state): State<LocalState>, request: Request, next: Next) -> Response {
    let fields: usize =
        request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + FIELD_BYTES).sum();
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let Some(claim) = state.ledger().claim(fields + target).map(SendWrapper::new) else {
        return Problem::error(Error::Overloaded).into_response();
    };
    let response = next.run(request).await;
    drop(claim);
    match response.body().size_hint().exact().map_or(Ok(0), usize::try_from) {
        Ok(0) => response,
        Ok(length) => match state.ledger().claim(length) {
            Some(claim) => response.map(|body| Body::new(Held::new(body, claim))),
            None => Problem::error(Error::Overloaded).into_response(),
        },
        Err(_) => Problem::error(Error::Overloaded).into_response(),
    }
}

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Returns the caller's `x-request-id` with the answer, so that a caller can connect the two. Nothing is made up, and
/// a value that is too long or no plain text is not returned.
async fn echo_request_id(request: Request, next: Next) -> Response {
    let id = request.headers().get(&REQUEST_ID).filter(|id| is_plain(id)).cloned();
    let mut response = next.run(request).await;
    if let Some(id) = id {
        response.headers_mut().insert(REQUEST_ID.clone(), id);
    }
    response
}

fn is_plain(id: &HeaderValue) -> bool {
    id.len() <= 128 && id.as_bytes().iter().all(u8::is_ascii_graphic)
}
