//! The JSON form of an answer: one object, written straight into the caller's buffer. `/v1/verify`, each line of
//! `/v1/verify:batch` and the command line's `--json` share it.

use super::{error_code, error_row, reason_code};
use crate::jose::NumericDate;
use crate::verify::{Accepted, Error, Rejection, SignatureVerdict, Verdict};

/// Appends the answer about a token: `{"verdict":"accepted",..}`, `{"verdict":"rejected",..}` or, when we could not
/// answer, `{"verdict":"error",..}`.
///
/// `id` is the client's own `id` as JSON text, already known to be well-formed; it is echoed first. Claims are copied
/// as they stand in the token. No line break is written, and none can be inside: JSON text between tokens is the
/// issuer's, so line breaks in it are replaced by spaces.
pub fn write_token_answer(out: &mut Vec<u8>, id: Option<&str>, answer: &Result<Verdict, Error>) {
    open(out, id);
    match answer {
        Ok(Verdict::Accepted(accepted)) => write_accepted(out, accepted),
        Ok(Verdict::Rejected(rejection)) => write_rejection(out, rejection),
        Err(error) => write_error(out, *error),
    }
    out.push(b'}');
}

/// Appends the answer about a raw signature, in the same form as [`write_token_answer`].
pub fn write_signature_answer(out: &mut Vec<u8>, id: Option<&str>, answer: &Result<SignatureVerdict, Error>) {
    open(out, id);
    match answer {
        Ok(SignatureVerdict::Accepted) => out.extend_from_slice(br#""verdict":"accepted""#),
        Ok(SignatureVerdict::Rejected(rejection)) => write_rejection(out, rejection),
        Err(error) => write_error(out, *error),
    }
    out.push(b'}');
}

fn open(out: &mut Vec<u8>, id: Option<&str>) {
    out.push(b'{');
    if let Some(id) = id {
        out.extend_from_slice(br#""id":"#);
        write_raw(out, id.as_bytes());
        out.push(b',');
    }
}

fn write_accepted(out: &mut Vec<u8>, accepted: &Accepted) {
    out.extend_from_slice(br#""verdict":"accepted","issuer_name":"#);
    write_string(out, &accepted.issuer_name);
    out.extend_from_slice(br#","algorithm":"#);
    write_string(out, accepted.algorithm.name());
    out.extend_from_slice(br#","key_id":"#);
    write_optional(out, accepted.key_id.as_deref());
    out.extend_from_slice(br#","issuer":"#);
    write_optional(out, accepted.issuer.as_deref());
    out.extend_from_slice(br#","subject":"#);
    write_optional(out, accepted.subject.as_deref());
    out.extend_from_slice(br#","expires_at":"#);
    match accepted.expires_at {
        Some(date) => write_date(out, date),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(br#","claims":"#);
    write_raw(out, &accepted.payload);
}

fn write_rejection(out: &mut Vec<u8>, rejection: &Rejection) {
    out.extend_from_slice(br#""verdict":"rejected","reason":"#);
    write_string(out, reason_code(rejection.reason));
    out.extend_from_slice(br#","detail":"#);
    write_string(out, &rejection.detail);
    let Some(place) = rejection.place else { return };
    if let Some(segment) = place.segment {
        out.extend_from_slice(br#","segment":"#);
        write_string(out, segment.name());
    }
    if let Some(position) = place.position {
        out.extend_from_slice(format!(r#","position":{position}"#).as_bytes());
    }
}

fn write_error(out: &mut Vec<u8>, error: Error) {
    out.extend_from_slice(br#""verdict":"error","error":"#);
    write_string(out, error_code(error));
    out.extend_from_slice(br#","detail":"#);
    write_string(out, error_row(error).title);
}

fn write_optional(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        Some(text) => write_string(out, text),
        None => out.extend_from_slice(b"null"),
    }
}

/// A JSON string, escaped.
fn write_string(out: &mut Vec<u8>, text: &str) {
    // Writing a `str` into a `Vec` has no failure: strings always serialise and a `Vec` always takes bytes.
    let _ = serde_json::to_writer(out, text);
}

/// Well-formed JSON text as it stands. Raw line breaks can only be white space between tokens (inside strings they are
/// escaped), so a space means the same and keeps one answer on one line.
fn write_raw(out: &mut Vec<u8>, json: &[u8]) {
    let start = out.len();
    out.extend_from_slice(json);
    for byte in &mut out[start..] {
        if matches!(*byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

/// Whole seconds, with the fraction only if there is one.
fn write_date(out: &mut Vec<u8>, date: NumericDate) {
    if date.nanos == 0 {
        out.extend_from_slice(date.seconds.to_string().as_bytes());
        return;
    }
    // `seconds` is rounded down, so a negative date counts its fraction upwards from it.
    let total = date.as_nanos();
    let sign = if total < 0 { "-" } else { "" };
    let (whole, fraction) = (total.unsigned_abs() / 1_000_000_000, total.unsigned_abs() % 1_000_000_000);
    let text = format!("{sign}{whole}.{fraction:09}");
    out.extend_from_slice(text.trim_end_matches('0').as_bytes());
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::*;
    use crate::jose::{Algorithm, Segment};
    use crate::verify::{Place, Reason};

    fn text(answer: Result<Verdict, Error>, id: Option<&str>) -> String {
        let mut out = Vec::new();
        write_token_answer(&mut out, id, &answer);
        String::from_utf8(out).unwrap()
    }

    fn accepted(payload: &'static str, expires_at: Option<NumericDate>) -> Result<Verdict, Error> {
        Ok(Verdict::Accepted(Box::new(Accepted {
            algorithm: Algorithm::EdDsa,
            key_id: Some(Arc::from("k\"1")),
            issuer_name: Arc::from("main"),
            issuer: Some("https://i".to_owned()),
            subject: None,
            expires_at,
            payload: Bytes::from_static(payload.as_bytes()),
        })))
    }

    #[test]
    fn an_accepted_answer_is_one_line_of_json_with_raw_claims() {
        let date = NumericDate { seconds: 1_700_000_000, nanos: 0 };
        assert_eq!(
            text(accepted("{\"a\":\n1}", Some(date)), Some("7")),
            r#"{"id":7,"verdict":"accepted","issuer_name":"main","algorithm":"EdDSA","key_id":"k\"1","issuer":"https://i","subject":null,"expires_at":1700000000,"claims":{"a": 1}}"#
        );
    }

    #[test]
    fn fractions_of_a_date_are_exact() {
        for (seconds, nanos, want) in
            [(5, 500_000_000, "5.5"), (-2, 500_000_000, "-1.5"), (-1, 999_999_999, "-0.000000001")]
        {
            let answer = text(accepted("{}", Some(NumericDate { seconds, nanos })), None);
            assert!(answer.contains(&format!("\"expires_at\":{want},")), "{answer}");
        }
    }

    #[test]
    fn rejections_and_errors_never_look_like_acceptance() {
        let rejection = Rejection {
            reason: Reason::Base64Invalid,
            place: Some(Place { segment: Some(Segment::Payload), position: Some(12) }),
            detail: "d".to_owned(),
        };
        assert_eq!(
            text(Ok(Verdict::Rejected(rejection)), None),
            r#"{"verdict":"rejected","reason":"base64_invalid","detail":"d","segment":"payload","position":12}"#
        );
        assert_eq!(
            text(Err(Error::Overloaded), Some("\"x\"")),
            r#"{"id":"x","verdict":"error","error":"overloaded","detail":"Overloaded, try again shortly"}"#
        );
    }
}
