//! Problem details (RFC 9457): how the HTTP face says that it has no verdict.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::api::{ErrorRow, RequestFault, error_row, fault_row};
use crate::verify::Error;

/// Prefix of `type`: a name, not an address. The code follows.
const TYPE_PREFIX: &str = "urn:verilane:problem:";

/// An answer that is no verdict: the request is at fault, or we are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    row: ErrorRow,
    detail: String,
}

impl Problem {
    /// The request is at fault. `detail` is one sentence and holds nothing secret of the request.
    #[must_use]
    pub fn fault(fault: RequestFault, detail: impl Into<String>) -> Self {
        Self { row: fault_row(fault), detail: detail.into() }
    }

    /// We could not answer.
    #[must_use]
    pub fn error(error: Error) -> Self {
        Self { row: error_row(error), detail: format!("{}.", error_row(error).title) }
    }

    /// Stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.row.code
    }

    /// One sentence.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

#[derive(Serialize)]
struct Document<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    code: &'a str,
    detail: &'a str,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self { row, detail } = &self;
        let document = Document {
            r#type: format!("{TYPE_PREFIX}{}", row.code),
            title: row.title,
            status: row.http_status,
            code: row.code,
            detail,
        };
        // Strings and a number always serialise; should they not, the status still says what happened.
        let body = serde_json::to_vec(&document).unwrap_or_default();
        let status = StatusCode::from_u16(row.http_status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = row.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
