//! Errors and request faults: code, HTTP status, gRPC code, retry hint.

use crate::verify::Error;

/// The gRPC status codes we answer with; the numbers are those of the gRPC specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum GrpcCode {
    /// The call itself is ill-formed.
    InvalidArgument = 3,
    /// The deadline passed.
    DeadlineExceeded = 4,
    /// There is no such method or thing.
    NotFound = 5,
    /// A bound was reached.
    ResourceExhausted = 8,
    /// The method is not offered this way.
    Unimplemented = 12,
    /// A fault of ours.
    Internal = 13,
    /// Try again elsewhere or later.
    Unavailable = 14,
}

impl GrpcCode {
    /// The number on the wire.
    #[must_use]
    pub const fn number(self) -> i32 {
        self as i32
    }
}

/// One row of the table of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorRow {
    /// Stable code, snake_case.
    pub code: &'static str,
    /// HTTP status.
    pub http_status: u16,
    /// gRPC status.
    pub grpc: GrpcCode,
    /// Short title, the same for every occurrence (RFC 9457 section 3.1.3).
    pub title: &'static str,
    /// Seconds after which trying again makes sense, if it ever does without a change.
    pub retry_after_s: Option<u32>,
}

/// What can be wrong with a call before any token or signature is looked at. The client's fault, but no verdict:
/// nothing was asked that could be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RequestFault {
    /// The body is not what the operation takes: not JSON, a member missing, unknown, twice or of the wrong type.
    Invalid,
    /// Credentials came twice, or both in the body and in the `Authorization` field.
    CredentialsAmbiguous,
    /// The body, or one line or item of it, is longer than the limit.
    TooLarge,
    /// `Content-Type` or content coding is not one the operation takes.
    MediaTypeUnsupported,
    /// No such path.
    NotFound,
    /// The path exists, the method is not for it.
    MethodNotAllowed,
    /// The client did not send its request within the time allowed.
    TimedOut,
}

impl RequestFault {
    /// Every fault, in declaration order.
    pub const ALL: [Self; 7] = [
        Self::Invalid,
        Self::CredentialsAmbiguous,
        Self::TooLarge,
        Self::MediaTypeUnsupported,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::TimedOut,
    ];
}

/// The row of an error.
#[must_use]
pub const fn error_row(error: Error) -> ErrorRow {
    match error {
        Error::Overloaded => ErrorRow {
            code: "overloaded",
            http_status: 503,
            grpc: GrpcCode::ResourceExhausted,
            title: "Overloaded, try again shortly",
            retry_after_s: Some(1),
        },
        Error::KeysUnavailable => ErrorRow {
            code: "keys_unavailable",
            http_status: 503,
            grpc: GrpcCode::Unavailable,
            title: "The keys of the issuer are not available",
            retry_after_s: Some(5),
        },
        Error::DeadlineExceeded => ErrorRow {
            code: "deadline_exceeded",
            http_status: 504,
            grpc: GrpcCode::DeadlineExceeded,
            title: "The deadline passed before the check ran",
            retry_after_s: None,
        },
        Error::ShuttingDown => ErrorRow {
            code: "shutting_down",
            http_status: 503,
            grpc: GrpcCode::Unavailable,
            title: "The service is shutting down",
            retry_after_s: Some(1),
        },
        Error::Internal => ErrorRow {
            code: "internal",
            http_status: 500,
            grpc: GrpcCode::Internal,
            title: "Internal error",
            retry_after_s: None,
        },
    }
}

/// The stable code of an error.
#[must_use]
pub const fn error_code(error: Error) -> &'static str {
    error_row(error).code
}

/// The row of a request fault.
#[must_use]
pub const fn fault_row(fault: RequestFault) -> ErrorRow {
    match fault {
        RequestFault::Invalid => ErrorRow {
            code: "request_invalid",
            http_status: 400,
            grpc: GrpcCode::InvalidArgument,
            title: "The request is not well-formed",
            retry_after_s: None,
        },
        RequestFault::CredentialsAmbiguous => ErrorRow {
            code: "credentials_ambiguous",
            http_status: 400,
            grpc: GrpcCode::InvalidArgument,
            title: "More than one token was given",
            retry_after_s: None,
        },
        RequestFault::TooLarge => ErrorRow {
            code: "request_too_large",
            http_status: 413,
            grpc: GrpcCode::ResourceExhausted,
            title: "The request is too large",
            retry_after_s: None,
        },
        RequestFault::MediaTypeUnsupported => ErrorRow {
            code: "media_type_unsupported",
            http_status: 415,
            grpc: GrpcCode::InvalidArgument,
            title: "The media type is not supported",
            retry_after_s: None,
        },
        RequestFault::NotFound => ErrorRow {
            code: "not_found",
            http_status: 404,
            grpc: GrpcCode::NotFound,
            title: "There is nothing at this path",
            retry_after_s: None,
        },
        RequestFault::MethodNotAllowed => ErrorRow {
            code: "method_not_allowed",
            http_status: 405,
            grpc: GrpcCode::Unimplemented,
            title: "The method is not allowed here",
            retry_after_s: None,
        },
        RequestFault::TimedOut => ErrorRow {
            code: "request_timeout",
            http_status: 408,
            grpc: GrpcCode::DeadlineExceeded,
            title: "The request was not sent in time",
            retry_after_s: None,
        },
    }
}
