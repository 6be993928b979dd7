//! Between protobuf messages and `verify`.

use std::time::{Duration, Instant};

use bytes::Bytes;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Status};

use super::proto;
use crate::api::{ErrorRow, RequestFault, error_row, fault_row, reason_code};
use crate::faces::{KeySpec, SignatureSpec, token_request};
use crate::verify::{Accepted, Error, Reason, Rejection, SignatureVerdict, TokenRequest, Verdict};

/// The field of a status that has the stable code.
pub(super) const CODE: &str = "verilane-code";

/// The question a message asks.
pub(super) fn token(message: proto::VerifyRequest, deadline: Option<Instant>) -> TokenRequest {
    token_request(Bytes::from(message.token), message.issuer, message.audience, deadline)
}

/// The question a message asks.
pub(super) fn signature(
    message: proto::VerifySignatureRequest,
    deadline: Option<Instant>,
) -> Result<SignatureSpec, Status> {
    use proto::verify_signature_request::Key;
    let key = match message.key {
        Some(Key::KeyReference(key)) => KeySpec::Id { issuer: key.issuer, key_id: key.key_id },
        Some(Key::Jwk(text)) => KeySpec::Jwk(Bytes::from(text)),
        None => return Err(fault_status(RequestFault::Invalid, "One of `key_reference` and `jwk` is needed.")),
    };
    let proto::VerifySignatureRequest { algorithm, message, signature, .. } = message;
    Ok(SignatureSpec { algorithm, message, signature, key, deadline })
}

/// The answer of a unary call.
pub(super) fn verify_response(verdict: Verdict) -> proto::VerifyResponse {
    use proto::verify_response::Verdict as Message;
    proto::VerifyResponse {
        verdict: Some(match verdict {
            Verdict::Accepted(facts) => Message::Accepted(accepted(*facts)),
            Verdict::Rejected(rejection) => Message::Rejected(rejected(rejection)),
        }),
    }
}

/// The answer of a unary call.
pub(super) fn signature_response(verdict: SignatureVerdict) -> proto::VerifySignatureResponse {
    use proto::verify_signature_response::Verdict as Message;
    proto::VerifySignatureResponse {
        verdict: Some(match verdict {
            SignatureVerdict::Accepted => Message::Accepted(proto::SignatureAccepted {}),
            SignatureVerdict::Rejected(rejection) => Message::Rejected(rejected(rejection)),
        }),
    }
}

/// One answer of a batch or stream.
pub(super) fn answer(answer: Result<Verdict, Error>) -> proto::VerifyAnswer {
    use proto::verify_answer::Answer as Message;
    proto::VerifyAnswer {
        answer: Some(match answer {
            Ok(Verdict::Accepted(facts)) => Message::Accepted(accepted(*facts)),
            Ok(Verdict::Rejected(rejection)) => Message::Rejected(rejected(rejection)),
            Err(error) => Message::Error(failure(&error_row(error), error_row(error).title)),
        }),
    }
}

/// The answer to a stream message that asks nothing.
pub(super) fn invalid(detail: &str) -> proto::VerifyAnswer {
    let failure = failure(&fault_row(RequestFault::Invalid), detail);
    proto::VerifyAnswer { answer: Some(proto::verify_answer::Answer::Error(failure)) }
}

fn failure(row: &ErrorRow, detail: &str) -> proto::Failure {
    proto::Failure { code: row.code.to_owned(), detail: detail.to_owned() }
}

fn accepted(facts: Accepted) -> proto::Accepted {
    proto::Accepted {
        issuer_name: facts.issuer_name.as_ref().to_owned(),
        algorithm: facts.algorithm.name().to_owned(),
        key_id: facts.key_id.as_deref().map(str::to_owned),
        issuer: facts.issuer,
        subject: facts.subject,
        expires_at: facts.expires_at.map(|date| date.seconds),
        claims: facts.payload,
    }
}

fn rejected(rejection: Rejection) -> proto::Rejected {
    let place = rejection.place;
    proto::Rejected {
        reason: reason(rejection.reason).into(),
        code: reason_code(rejection.reason).to_owned(),
        detail: rejection.detail,
        segment: place.and_then(|place| place.segment).map(|segment| segment.name().to_owned()),
        position: place.and_then(|place| place.position).and_then(|position| u64::try_from(position).ok()),
    }
}

/// The number of a reason on the wire.
fn reason(reason: Reason) -> proto::Reason {
    match reason {
        Reason::TokenMissing => proto::Reason::TokenMissing,
        Reason::TokenTooLarge => proto::Reason::TokenTooLarge,
        Reason::HeaderTooLarge => proto::Reason::HeaderTooLarge,
        Reason::PayloadTooLarge => proto::Reason::PayloadTooLarge,
        Reason::TokenMalformed => proto::Reason::TokenMalformed,
        Reason::JsonSerializationUnsupported => proto::Reason::JsonSerializationUnsupported,
        Reason::JweUnsupported => proto::Reason::JweUnsupported,
        Reason::NestedTokenUnsupported => proto::Reason::NestedTokenUnsupported,
        Reason::Base64Invalid => proto::Reason::Base64Invalid,
        Reason::HeaderInvalid => proto::Reason::HeaderInvalid,
        Reason::ClaimsInvalid => proto::Reason::ClaimsInvalid,
        Reason::CriticalHeaderUnsupported => proto::Reason::CriticalHeaderUnsupported,
        Reason::UnencodedPayloadUnsupported => proto::Reason::UnencodedPayloadUnsupported,
        Reason::AlgorithmUnsupported => proto::Reason::AlgorithmUnsupported,
        Reason::AlgorithmNotAllowed => proto::Reason::AlgorithmNotAllowed,
        Reason::AlgorithmMismatch => proto::Reason::AlgorithmMismatch,
        Reason::TypeMismatch => proto::Reason::TypeMismatch,
        Reason::IssuerMissing => proto::Reason::IssuerMissing,
        Reason::IssuerUnknown => proto::Reason::IssuerUnknown,
        Reason::IssuerMismatch => proto::Reason::IssuerMismatch,
        Reason::UnknownKeyId => proto::Reason::UnknownKid,
        Reason::NoMatchingKey => proto::Reason::NoMatchingKey,
        Reason::TooManyMatchingKeys => proto::Reason::TooManyMatchingKeys,
        Reason::KeyInvalid => proto::Reason::KeyInvalid,
        Reason::SignatureInvalid => proto::Reason::SignatureInvalid,
        Reason::NumericDateInvalid => proto::Reason::NumericDateInvalid,
        Reason::ExpiryMissing => proto::Reason::ExpiryMissing,
        Reason::Expired => proto::Reason::Expired,
        Reason::NotYetValid => proto::Reason::NotYetValid,
        Reason::IssuedInFuture => proto::Reason::IssuedInFuture,
        Reason::LifetimeTooLong => proto::Reason::LifetimeTooLong,
        Reason::AudienceMissing => proto::Reason::AudienceMissing,
        Reason::AudienceMismatch => proto::Reason::AudienceMismatch,
        Reason::ClaimMissing => proto::Reason::ClaimMissing,
    }
}

/// Our error as the status of a call, with a hint on when to try again (gRFC A6).
pub(super) fn error_status(error: Error) -> Status {
    row_status(&error_row(error), error_row(error).title)
}

/// The client's fault as the status of a call.
pub(super) fn fault_status(fault: RequestFault, detail: &str) -> Status {
    row_status(&fault_row(fault), detail)
}

/// The transport library's own statuses about a request, in our words and with a code. It calls a message it cannot read
/// its own internal error; internal errors of ours have a code already.
pub(super) fn coded(status: Status) -> Status {
    if status.metadata().contains_key(CODE) {
        return status;
    }
    match status.code() {
        Code::OutOfRange => fault_status(RequestFault::TooLarge, "The message is longer than this method takes."),
        Code::Internal => {
            fault_status(RequestFault::Invalid, &format!("The message cannot be read: {}.", status.message()))
        }
        // A compressed message. The number is what the protocol asks for, and this field says which codings there are:
        // only the code is missing.
        Code::Unimplemented if status.metadata().contains_key("grpc-accept-encoding") => {
            let mut status = status;
            let code = MetadataValue::from_static(fault_row(RequestFault::MediaTypeUnsupported).code);
            status.metadata_mut().insert(CODE, code);
            status
        }
        _ => status,
    }
}

fn row_status(row: &ErrorRow, detail: &str) -> Status {
    let mut metadata = MetadataMap::new();
    metadata.insert(CODE, MetadataValue::from_static(row.code));
    if let Some(seconds) = row.retry_after_s {
        metadata.insert("grpc-retry-pushback-ms", MetadataValue::from(u64::from(seconds) * 1000));
    }
    Status::with_metadata(Code::from_i32(row.grpc.number()), detail, metadata)
}

/// `grpc-timeout`: at most eight digits and a unit. `None` if it is absent or ill-formed.
pub(super) fn caller_timeout(metadata: &MetadataMap) -> Option<Duration> {
    let text = metadata.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(value * 3600),
        "M" => Duration::from_secs(value * 60),
        "S" => Duration::from_secs(value),
        "m" => Duration::from_millis(value),
        "u" => Duration::from_micros(value),
        "n" => Duration::from_nanos(value),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_number_of_its_own_and_the_name_of_its_code() {
        let mut seen = std::collections::BTreeSet::new();
        for each in Reason::ALL {
            let message = reason(each);
            assert!(seen.insert(i32::from(message)), "{each:?}");
            let name = message.as_str_name().strip_prefix("REASON_").unwrap().to_lowercase();
            assert_eq!(name, reason_code(each));
        }
    }

    #[test]
    fn grpc_timeouts_are_read_strictly() {
        for (text, want) in [
            ("1S", Some(Duration::from_secs(1))),
            ("250m", Some(Duration::from_millis(250))),
            ("99999999H", Some(Duration::from_secs(99_999_999 * 3600))),
            ("100000000S", None),
            ("S", None),
            ("-1S", None),
            ("1s", None),
            ("1.5S", None),
        ] {
            let mut metadata = MetadataMap::new();
            metadata.insert("grpc-timeout", text.parse().unwrap());
            assert_eq!(caller_timeout(&metadata), want, "{text}");
        }
    }
}
