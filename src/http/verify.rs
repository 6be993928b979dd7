//! The single operations: one token, one raw signature.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;

use super::body::{self, Collected, MediaType};
use super::items::{self, Item, Place, Question, Reader};
use super::problem::Problem;
use crate::api::{RequestFault, write_signature_answer, write_token_answer};
use crate::faces::{ShardState, token_request};
use crate::verify::Error;

/// `POST /v1/verify`.
pub(super) async fn token(state: ShardState, request: Request) -> Response {
    let (parts, incoming) = request.into_parts();
    let settings = state.settings();
    let answer = async {
        body::refuse_coding(&parts.headers)?;
        let Collected { bytes, claim: _claim } =
            body::collect(incoming, settings.body_bytes_max, state.ledger(), &state).await?;
        let deadline = state.deadline(body::caller_timeout(&parts.headers));
        let bearer = bearer_token(&parts.headers)?;
        let item = match (bearer, bytes.is_empty()) {
            (Some(token), true) => {
                Item { id: None, question: Question::Token(token_request(token, None, None, deadline)) }
            }
            (None, true) => {
                let detail =
                    "Send the token as `Authorization: Bearer` with an empty body, or a JSON body with `token`.";
                return Err(Problem::fault(RequestFault::Invalid, detail));
            }
            (None, false) => read_json(items::read_token, &parts.headers, &bytes, deadline)?,
            (Some(_), false) => {
                let detail = "Send the token in the body or as `Authorization: Bearer`, not both.";
                return Err(Problem::fault(RequestFault::CredentialsAmbiguous, detail));
            }
        };
        answer(&state, item.question).await
    };
    answer.await.unwrap_or_else(IntoResponse::into_response)
}

/// `POST /v1/signatures:verify`.
pub(super) async fn signature(state: ShardState, request: Request) -> Response {
    let (parts, incoming) = request.into_parts();
    let settings = state.settings();
    let answer = async {
        body::refuse_coding(&parts.headers)?;
        let max = settings.signature_body_bytes_max;
        let Collected { bytes, claim: _claim } = body::collect(incoming, max, state.ledger(), &state).await?;
        let deadline = state.deadline(body::caller_timeout(&parts.headers));
        let item = read_json(items::read_signature, &parts.headers, &bytes, deadline)?;
        answer(&state, item.question).await
    };
    answer.await.unwrap_or_else(IntoResponse::into_response)
}

fn read_json(
    reader: Reader,
    headers: &HeaderMap,
    body: &Bytes,
    deadline: Option<std::time::Instant>,
) -> Result<Item, Problem> {
    if body::media_type(headers)? != MediaType::Json {
        return Err(Problem::fault(RequestFault::MediaTypeUnsupported, "The body must be application/json."));
    }
    reader(body, Place::Single, deadline).map_err(|fault| Problem::fault(RequestFault::Invalid, fault.detail))
}

async fn answer(state: &ShardState, question: Question) -> Result<Response, Problem> {
    let mut out = Vec::with_capacity(512);
    match question {
        Question::Token(request) => {
            let verdict = state.verify(request).await.map_err(Problem::error)?;
            write_token_answer(&mut out, None, &Ok::<_, Error>(verdict));
        }
        Question::Signature(spec) => {
            let verdict = state.verify_signature(spec).await.map_err(Problem::error)?;
            write_signature_answer(&mut out, None, &Ok::<_, Error>(verdict));
        }
    }
    Ok(json_response(out))
}

fn json_response(body: Vec<u8>) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The token of `Authorization: Bearer` (RFC 6750 section 2.1). `None` if there is no such field. The scheme's name is
/// compared without case; exactly one space stands between it and the token.
fn bearer_token(headers: &HeaderMap) -> Result<Option<Bytes>, Problem> {
    let mut fields = headers.get_all(header::AUTHORIZATION).iter();
    let Some(field) = fields.next() else { return Ok(None) };
    if fields.next().is_some() {
        let detail = "More than one `Authorization` field was sent.";
        return Err(Problem::fault(RequestFault::CredentialsAmbiguous, detail));
    }
    match field.as_bytes().split_at_checked(7) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case(b"Bearer ") => Ok(Some(Bytes::copy_from_slice(token))),
        _ if field.as_bytes().eq_ignore_ascii_case(b"Bearer") => Ok(Some(Bytes::new())),
        _ => Err(Problem::fault(RequestFault::Invalid, "The `Authorization` field is not `Bearer` with a token.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(fields: &[&'static str]) -> Result<Option<Bytes>, &'static str> {
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append(header::AUTHORIZATION, HeaderValue::from_static(field));
        }
        bearer_token(&headers).map_err(|problem| problem.code())
    }

    #[test]
    fn exactly_one_bearer_field_is_read() {
        assert_eq!(bearer(&[]), Ok(None));
        assert_eq!(bearer(&["Bearer a.b.c"]), Ok(Some(Bytes::from_static(b"a.b.c"))));
        assert_eq!(bearer(&["bEARER a.b.c"]), Ok(Some(Bytes::from_static(b"a.b.c"))));
        assert_eq!(bearer(&["Bearer"]), Ok(Some(Bytes::new())));
        assert_eq!(bearer(&["Bearer  a"]), Ok(Some(Bytes::from_static(b" a"))), "a second space is part of the token");
        assert_eq!(bearer(&["Basic abc"]), Err("request_invalid"));
        assert_eq!(bearer(&["Bearera.b.c"]), Err("request_invalid"));
        assert_eq!(bearer(&["Bearer a", "Bearer a"]), Err("credentials_ambiguous"));
    }
}
