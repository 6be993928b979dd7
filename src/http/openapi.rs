//! The OpenAPI document. The types here describe the wire; they are never built.
#![allow(dead_code, reason = "the types and functions exist for the document that is derived from them")]

use std::sync::OnceLock;

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde::Serialize;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{RefOr, Required};
use utoipa::{Modify, OpenApi, ToSchema};

/// `GET /openapi.json`.
pub(super) async fn document() -> Response {
    static TEXT: OnceLock<Bytes> = OnceLock::new();
    let text = TEXT.get_or_init(|| {
        // The document is made of plain maps and strings, which always serialise.
        serde_json::to_vec(&Document::openapi()).unwrap_or_default().into()
    });
    let mut response = text.clone().into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Verilane",
        description = "Verifies JWTs and raw signatures. A verdict about a token is always a 200; problem details mean that there is none, and a caller must treat that as a rejection.",
    ),
    paths(verify, verify_batch, verify_signature, verify_signature_batch, openapi_document),
    tags(
        (name = "tokens", description = "Is this token good?"),
        (name = "signatures", description = "Is this signature over these bytes good?"),
        (name = "service", description = "About the service itself."),
    ),
    modifiers(&TokenInHeader),
)]
struct Document;

/// The token of `/v1/verify` may come in the header, and then there is no body. Clients that are generated from this
/// document learn of it here: OpenAPI passes over a parameter that is called `Authorization`.
struct TokenInHeader;

impl Modify for TokenInHeader {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("JWT")
            .description(Some("The token to be verified, with an empty body. It does not authorise the call."))
            .build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("bearer", SecurityScheme::Http(scheme));
        let operation = document.paths.paths.get_mut("/v1/verify").and_then(|path| path.post.as_mut());
        if let Some(RefOr::T(body)) = operation.and_then(|operation| operation.request_body.as_mut()) {
            body.required = Some(Required::False);
        }
    }
}

/// A token to be verified.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"token": "eyJhbGciOiJFZERTQSJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIn0.c2lnbmF0dXJl"}))]
#[serde(deny_unknown_fields)]
struct TokenRequest {
    /// The compact serialization, without any prefix.
    token: String,
    /// Whose policy and keys apply: an `iss` value or a configured name. Absent: the only issuer, or the one the
    /// token's own `iss` selects.
    #[schema(nullable = false, required = false)]
    issuer: Option<String>,
    /// An audience that must be in `aud`, besides what the policy asks.
    #[schema(nullable = false, required = false)]
    audience: Option<String>,
}

/// A token in a batch.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TokenItem {
    /// The compact serialization, without any prefix.
    token: String,
    /// As in `TokenRequest`.
    #[schema(nullable = false, required = false)]
    issuer: Option<String>,
    /// As in `TokenRequest`.
    #[schema(nullable = false, required = false)]
    audience: Option<String>,
    /// Returned with the answer. At most 128 bytes of JSON text.
    #[schema(required = false)]
    id: Option<ItemId>,
}

/// A client's own name for an item.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum ItemId {
    Text(String),
    Number(f64),
}

/// An element of a batch: the token alone, or with what goes with it.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum TokenElement {
    Token(String),
    Item(TokenItem),
}

/// The verdict about a token.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum TokenVerdict {
    Accepted(TokenAccepted),
    Rejected(Rejected),
}

/// Good signature by a key of the issuer, and every check of the policy passed.
#[derive(Serialize, ToSchema)]
struct TokenAccepted {
    verdict: AcceptedWord,
    /// Configured name of the issuer.
    issuer_name: String,
    /// `alg` of the token.
    #[schema(example = "EdDSA")]
    algorithm: String,
    /// `kid` of the key that verified it.
    #[schema(required = true)]
    key_id: Option<String>,
    /// `iss`.
    #[schema(required = true)]
    issuer: Option<String>,
    /// `sub`.
    #[schema(required = true)]
    subject: Option<String>,
    /// `exp`, seconds since 1970-01-01T00:00:00Z.
    #[schema(required = true, example = 1_700_000_000)]
    expires_at: Option<f64>,
    /// The claims set as it stands in the token.
    #[schema(value_type = Object)]
    claims: serde_json::Value,
}

/// Not accepted.
#[derive(Serialize, ToSchema)]
struct Rejected {
    verdict: RejectedWord,
    /// Stable code from a closed list.
    #[schema(example = "signature_invalid")]
    reason: String,
    /// One sentence for a person. Not stable.
    detail: String,
    /// `header`, `payload` or `signature`, where that helps.
    #[schema(required = false)]
    segment: Option<String>,
    /// Byte offset in the token, or in the decoded segment for JSON, where that helps.
    #[schema(required = false)]
    position: Option<u64>,
}

/// No verdict for this entry of a batch. Treat it as rejected.
#[derive(Serialize, ToSchema)]
struct EntryError {
    verdict: ErrorWord,
    /// Stable code.
    #[schema(example = "overloaded")]
    error: String,
    /// One sentence for a person. Not stable.
    detail: String,
    /// Line, counted from 1, for NDJSON lines that could not be read.
    #[schema(required = false)]
    line: Option<u64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum AcceptedWord {
    Accepted,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum RejectedWord {
    Rejected,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ErrorWord {
    Error,
}

/// An answer in a batch: a verdict or an error, with the client's `id` first if it gave one.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum TokenAnswer {
    Accepted(TokenAccepted),
    Rejected(Rejected),
    Error(EntryError),
}

/// A raw signature. One of `message` and `message_text`, and one of `key` and `key_id`, must be given.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "algorithm": "EdDSA",
    "message": "",
    "signature": "5VZDAMNgrHKQhuLMgG6CioSHfx645dl02HPgZSJJAVVfuIIVkKM7rMYeOXAc-bRr0lv18FlbviRlUUFDjnoQCw",
    "key": {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},
}))]
#[serde(deny_unknown_fields)]
struct SignatureRequest {
    /// JOSE name.
    #[schema(example = "EdDSA")]
    algorithm: String,
    /// What is signed, base64url without padding.
    #[schema(nullable = false, required = false)]
    message: Option<String>,
    /// What is signed, as text; its UTF-8 bytes count.
    #[schema(nullable = false, required = false)]
    message_text: Option<String>,
    /// The signature in JWA form (RFC 7518), base64url without padding.
    signature: String,
    /// A JWK. A secret (`kty` `oct`) is accepted: send one over a protected channel only.
    #[schema(nullable = false, required = false, value_type = Object)]
    key: Option<serde_json::Value>,
    /// `kid` of a configured issuer's key.
    #[schema(nullable = false, required = false)]
    key_id: Option<String>,
    /// Goes with `key_id`: an `iss` value or a configured name. May be absent if only one issuer is configured.
    #[schema(nullable = false, required = false)]
    issuer: Option<String>,
    /// In a batch only: returned with the answer.
    #[schema(required = false)]
    id: Option<ItemId>,
}

/// The verdict about a raw signature.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum SignatureVerdict {
    Accepted(SignatureAccepted),
    Rejected(Rejected),
}

/// The signature is good.
#[derive(Serialize, ToSchema)]
struct SignatureAccepted {
    verdict: AcceptedWord,
}

/// An answer in a batch of raw signatures.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum SignatureAnswer {
    Accepted(SignatureAccepted),
    Rejected(Rejected),
    Error(EntryError),
}

/// Problem details (RFC 9457).
#[derive(Serialize, ToSchema)]
struct Problem {
    /// `urn:verilane:problem:` and the code.
    #[schema(example = "urn:verilane:problem:request_invalid")]
    r#type: String,
    /// The same for every occurrence.
    title: String,
    /// HTTP status.
    #[schema(example = 400)]
    status: u16,
    /// Stable code.
    #[schema(example = "request_invalid")]
    code: String,
    /// One sentence about this occurrence.
    detail: String,
}

/// Verify one token
///
/// The token is a member of a JSON body, or comes as `Authorization: Bearer` with an empty body. Exactly one of the two.
#[utoipa::path(
    post, path = "/v1/verify", tag = "tokens", operation_id = "verify",
    params(
        ("X-Envoy-Expected-Rq-Timeout-Ms" = Option<u32>, Header, description = "How long the caller waits, in milliseconds"),
    ),
    security((), ("bearer" = [])),
    request_body(content = TokenRequest, content_type = "application/json"),
    responses(
        (status = 200, description = "A verdict, good or bad", body = TokenVerdict, content_type = "application/json",
            examples(
                ("accepted" = (value = json!({"verdict": "accepted", "issuer_name": "main", "algorithm": "EdDSA", "key_id": "k1", "issuer": "https://issuer.example", "subject": "alice", "expires_at": 1_700_000_000, "claims": {"iss": "https://issuer.example", "sub": "alice", "exp": 1_700_000_000}}))),
                ("rejected" = (value = json!({"verdict": "rejected", "reason": "signature_invalid", "detail": "The signature is not valid"}))),
            )),
        (status = 400, description = "Not a well-formed request", body = Problem, content_type = "application/problem+json"),
        (status = 408, description = "Not sent in time", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = Problem, content_type = "application/problem+json"),
        (status = 415, description = "Not JSON, or a content coding", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "Overloaded, keys not available or shutting down; see Retry-After", body = Problem, content_type = "application/problem+json"),
        (status = 504, description = "The deadline passed", body = Problem, content_type = "application/problem+json"),
    ),
)]
fn verify() {}

/// Verify many tokens
///
/// A JSON array in one piece, or NDJSON streamed both ways: a line is one token object, answers keep the order, one a
/// line, and come while lines are still being sent. Read while you write: at most a window of lines is in flight. A bad
/// entry gets an error of its own and the rest goes on.
#[utoipa::path(
    post, path = "/v1/verify:batch", tag = "tokens", operation_id = "verifyBatch",
    request_body(content(
        (Vec<TokenElement> = "application/json"),
        (TokenElement = "application/x-ndjson"),
    )),
    responses(
        (status = 200, description = "One answer an entry, in order", content(
            (Vec<TokenAnswer> = "application/json"),
            (TokenAnswer = "application/x-ndjson"),
        )),
        (status = 400, description = "Not a JSON array", body = Problem, content_type = "application/problem+json"),
        (status = 408, description = "Not sent in time", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = Problem, content_type = "application/problem+json"),
        (status = 415, description = "Neither JSON nor NDJSON", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "Overloaded or shutting down; see Retry-After", body = Problem, content_type = "application/problem+json"),
    ),
)]
fn verify_batch() {}

/// Verify one raw signature
///
/// No claims are looked at. With `key_id` the issuer's allowed algorithms count; nothing else of its policy applies.
#[utoipa::path(
    post, path = "/v1/signatures:verify", tag = "signatures", operation_id = "verifySignature",
    request_body(content = SignatureRequest, content_type = "application/json"),
    responses(
        (status = 200, description = "A verdict, good or bad", body = SignatureVerdict, content_type = "application/json"),
        (status = 400, description = "Not a well-formed request", body = Problem, content_type = "application/problem+json"),
        (status = 408, description = "Not sent in time", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = Problem, content_type = "application/problem+json"),
        (status = 415, description = "Not JSON", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "Overloaded, keys not available or shutting down; see Retry-After", body = Problem, content_type = "application/problem+json"),
        (status = 504, description = "The deadline passed", body = Problem, content_type = "application/problem+json"),
    ),
)]
fn verify_signature() {}

/// Verify many raw signatures
///
/// As `/v1/verify:batch`.
#[utoipa::path(
    post, path = "/v1/signatures:batch", tag = "signatures", operation_id = "verifySignatureBatch",
    request_body(content(
        (Vec<SignatureRequest> = "application/json"),
        (SignatureRequest = "application/x-ndjson"),
    )),
    responses(
        (status = 200, description = "One answer an entry, in order", content(
            (Vec<SignatureAnswer> = "application/json"),
            (SignatureAnswer = "application/x-ndjson"),
        )),
        (status = 400, description = "Not a JSON array", body = Problem, content_type = "application/problem+json"),
        (status = 408, description = "Not sent in time", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = Problem, content_type = "application/problem+json"),
        (status = 415, description = "Neither JSON nor NDJSON", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "Overloaded or shutting down; see Retry-After", body = Problem, content_type = "application/problem+json"),
    ),
)]
fn verify_signature_batch() {}

/// This document
#[utoipa::path(
    get, path = "/openapi.json", tag = "service", operation_id = "openapi",
    responses((status = 200, description = "OpenAPI 3.1", content_type = "application/json")),
)]
fn openapi_document() {}
