//! A verdict with its steps, for an operator who asks why. Derived from the same path as every other answer; it only
//! reads what that path left behind. An explanation shows the token's content and must not go to logs or to clients.

use std::time::Instant;

use bytes::Bytes;

use super::lanes;
use super::path::{Payload, Progress};
use super::step::{Step, Stop};
use super::{Error, TokenRequest, Verdict, Verifier, path};
use crate::engine::Context;
use crate::jose::{Audience, Claims, NumericDate, claims};
use crate::policy::Policy;

/// A verdict, and how it came about.
#[derive(Clone)]
pub struct Explanation {
    /// The answer, the same that [`Verifier::verify`] gives.
    pub verdict: Result<Verdict, Error>,
    /// Every step in the order of checks.
    pub steps: Vec<ExplainStep>,
    /// The decoded header as text, if it is UTF-8.
    pub header: Option<String>,
    /// The decoded payload as text, if it is UTF-8. Unverified unless the verdict is accepted.
    pub claims: Option<String>,
}

impl std::fmt::Debug for Explanation {
    /// An explanation quotes the token, so only what it concludes is shown.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Explanation")
            .field("verdict", &self.verdict)
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}

/// One step of an explanation.
#[derive(Clone, PartialEq, Eq)]
pub struct ExplainStep {
    /// Which: a few lower-case words.
    pub name: &'static str,
    /// How it ended.
    pub status: StepStatus,
    /// One line for a person. May quote the token and the policy.
    pub detail: String,
}

impl std::fmt::Debug for ExplainStep {
    /// Without the detail, which may quote the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExplainStep").field("name", &self.name).field("status", &self.status).finish_non_exhaustive()
    }
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepStatus {
    /// Taken and passed, or nothing is asked for at this step.
    Passed,
    /// The check ended here.
    Failed,
    /// An earlier step ended the check.
    NotReached,
}

impl Verifier {
    /// Verifies one token as [`Verifier::verify`] does and tells every step.
    #[must_use]
    pub fn explain(&self, context: &mut Context, request: &TokenRequest, wall: Instant) -> Explanation {
        let mut progress = Progress::default();
        let mut signer = None;
        let answer = self.begin(request, wall, Payload::Claims, &mut progress).and_then(|pending| {
            let verified = lanes::run_one(context, &pending.check);
            signer = verified.and_then(|place| pending.check.candidates().nth(place)).map(|key| key.key_id.clone());
            self.finish(pending, verified, request, Payload::Claims)
        });
        let failed = answer.as_ref().err().cloned();
        let facts = Facts { request, progress: &progress, signer: signer.as_ref().map(|key_id| key_id.as_deref()) };
        let (header, payload) = progress.decoded.clone().unzip();
        let parsed = payload.as_ref().and_then(|payload| claims::parse(payload, &self.options().limits).ok());
        let steps = Step::ALL.into_iter().map(|step| explain_step(step, failed.as_ref(), &facts, parsed.as_ref()));
        let steps = steps.collect();
        Explanation {
            verdict: answer.map_or_else(path::verdict, |accepted| Ok(Verdict::Accepted(accepted))),
            steps,
            header: header.and_then(text),
            claims: payload.and_then(text),
        }
    }
}

fn text(bytes: Bytes) -> Option<String> {
    String::from_utf8(bytes.to_vec()).ok()
}

/// What the path left behind.
struct Facts<'a> {
    request: &'a TokenRequest,
    progress: &'a Progress<'a>,
    /// The key id of the key that verified the signature, if one did.
    signer: Option<Option<&'a str>>,
}

fn explain_step(step: Step, failed: Option<&Stop>, facts: &Facts<'_>, claims: Option<&Claims<'_>>) -> ExplainStep {
    let (status, detail) = match failed {
        Some(stop) if stop.step == step => (StepStatus::Failed, failure(stop, facts, claims)),
        Some(stop) if stop.step < step => (StepStatus::NotReached, String::new()),
        _ => (StepStatus::Passed, facts.passed(step, claims)),
    };
    ExplainStep { name: step.name(), status, detail }
}

fn failure(stop: &Stop, facts: &Facts<'_>, claims: Option<&Claims<'_>>) -> String {
    let rejection = match &stop.answer {
        Ok(rejection) => rejection,
        Err(error) => return error.to_string(),
    };
    let mut detail = rejection.detail.clone();
    let place = rejection.place.map(|place| (place.segment, place.position));
    match place {
        Some((Some(segment), Some(position))) => detail += &format!(" ({}, position {position})", segment.name()),
        Some((Some(segment), None)) => detail += &format!(" ({})", segment.name()),
        Some((None, Some(position))) => detail += &format!(" (position {position})"),
        Some((None, None)) | None => {}
    }
    let context = facts.passed(stop.step, claims);
    // A step before the claims has nothing to compare; from there on the compared values say what is wrong.
    if stop.step > Step::Claims && !context.is_empty() {
        detail += " ";
        detail += &context;
    }
    detail
}

impl Facts<'_> {
    /// What a step saw: the values it compared.
    fn passed(&self, step: Step, claims: Option<&Claims<'_>>) -> String {
        let header = self.progress.header.as_ref();
        let Some(policy) = self.progress.issuer.map(|issuer| &issuer.policy) else {
            return match step {
                Step::Structure => format!("{} bytes, three segments", self.request.token.len()),
                Step::Encoding => "all segments are strict base64url".to_owned(),
                Step::Header => self.header(),
                _ => String::new(),
            };
        };
        match step {
            Step::Structure => format!("{} bytes, three segments", self.request.token.len()),
            Step::Encoding => "all segments are strict base64url".to_owned(),
            Step::Header => self.header(),
            Step::IssuerSelection => {
                self.progress.issuer.map(|issuer| format!("{:?}", issuer.name)).unwrap_or_default()
            }
            Step::AllowedAlgorithm if policy.algorithms.is_empty() => {
                "every algorithm that the keys fit is allowed".to_owned()
            }
            Step::AllowedAlgorithm => format!("allowed: {}", names(policy.algorithms.iter().map(|name| name.name()))),
            Step::Type if policy.types.is_empty() => "any typ is allowed".to_owned(),
            Step::Type => format!("expected: {}", names(policy.types.iter().map(String::as_str))),
            Step::Key => match (header.and_then(|header| header.key_id.as_deref()), self.progress.candidates) {
                (Some(key_id), 1) => format!("kid {key_id:?}, one key fits"),
                (Some(key_id), count) => format!("kid {key_id:?}, {count} keys without names fit and are all tried"),
                (None, 1) => "no kid, one key fits".to_owned(),
                (None, count) => format!("no kid, {count} keys fit and are all tried"),
            },
            Step::Signature => match self.signer {
                Some(Some(key_id)) => format!("good, by the key with kid {key_id:?}"),
                Some(None) => "good, by a key without kid".to_owned(),
                None => String::new(),
            },
            Step::Claims => {
                claims.map(|claims| format!("strict JSON, {} members", claims.members.len())).unwrap_or_default()
            }
            _ => claims.map(|claims| self.judged(step, policy, claims)).unwrap_or_default(),
        }
    }

    fn header(&self) -> String {
        let Some(header) = &self.progress.header else { return String::new() };
        let mut detail = format!("alg {}", header.algorithm);
        if let Some(key_id) = &header.key_id {
            detail += &format!(", kid {key_id:?}");
        }
        if let Some(typ) = &header.typ {
            detail += &format!(", typ {typ:?}");
        }
        detail
    }

    fn judged(&self, step: Step, policy: &Policy, claims: &Claims<'_>) -> String {
        let now = self.request.now;
        match step {
            Step::Issuer => match &policy.issuer {
                Some(expected) => format!("iss {}, expected {expected:?}", quoted(claims.issuer.as_deref())),
                None => "iss is not looked at".to_owned(),
            },
            Step::Expiry => match claims.expires_at {
                Some(date) => format!("exp {}, now {now}, leeway {} s", seconds(date), policy.leeway_s),
                None if policy.require_expiry => "exp is required".to_owned(),
                None => "no exp, and none is required".to_owned(),
            },
            Step::NotBefore => dated("nbf", claims.not_before, now, policy.leeway_s),
            Step::IssuedAt => dated("iat", claims.issued_at, now, policy.leeway_s),
            Step::Lifetime => match policy.max_lifetime_s {
                Some(longest) => format!("at most {longest} s"),
                None => "any lifetime is allowed".to_owned(),
            },
            Step::Audience if policy.audiences.is_empty() => "aud is not looked at".to_owned(),
            Step::Audience => {
                let expected = names(policy.audiences.iter().map(String::as_str));
                format!("aud {}, expected one of: {expected}", audience(claims))
            }
            Step::RequiredClaims if policy.required_claims.is_empty() => "none are required".to_owned(),
            Step::RequiredClaims => {
                format!("required: {}", names(policy.required_claims.iter().map(String::as_str)))
            }
            Step::RequestedAudience => match &self.request.audience {
                Some(requested) => format!("aud {}, requested {requested:?}", audience(claims)),
                None => "the call asks for none".to_owned(),
            },
            _ => String::new(),
        }
    }
}

fn dated(name: &str, date: Option<NumericDate>, now: i64, leeway_s: u64) -> String {
    match date {
        Some(date) => format!("{name} {}, now {now}, leeway {leeway_s} s", seconds(date)),
        None => format!("no {name}"),
    }
}

fn seconds(date: NumericDate) -> String {
    if date.nanos == 0 { date.seconds.to_string() } else { format!("{} and {} ns", date.seconds, date.nanos) }
}

fn quoted(value: Option<&str>) -> String {
    value.map_or_else(|| "absent".to_owned(), |value| format!("{value:?}"))
}

fn audience(claims: &Claims<'_>) -> String {
    match &claims.audience {
        None => "absent".to_owned(),
        Some(Audience::One(value)) => format!("{value:?}"),
        Some(Audience::Many(values)) => format!("[{}]", names(values.iter().map(AsRef::as_ref))),
    }
}

fn names<'a>(values: impl Iterator<Item = &'a str>) -> String {
    values.map(|value| format!("{value:?}")).collect::<Vec<_>>().join(", ")
}
