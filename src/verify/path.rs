//! The path of a token, written once. [`Verifier::begin`] takes it from text to a [`Check`] for a kernel, and
//! [`Verifier::finish`] from the kernel's answer to a verdict; who runs the kernel in between (a context on this
//! thread, or a shard's engine) is not known here.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use super::lanes::{Candidate, Check};
use super::step::{Step, Stop};
use super::{Accepted, Error, IssuerEntry, Reason, Rejection, SignatureKey, SignatureRequest, TokenRequest, Verifier};
use super::{SignatureVerdict, Verdict, refusal};
use crate::jose::{Algorithm, Claims, Header, Segment, base64url, claims, compact, header};
use crate::keys::{CurrentKeys, IssuerKeys, KeySet, NoKey, VerifyingKey};
use crate::policy::Violation;

/// What the payload has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload {
    /// A claims set that satisfies the policy: a JWT.
    Claims,
    /// Any bytes: a bare JWS, of which only header and signature are checked.
    Any,
}

/// How far a token came: what is known of it even if it is rejected.
#[derive(Clone, Default)]
pub(super) struct Progress<'v> {
    pub(super) issuer: Option<&'v IssuerEntry>,
    pub(super) header: Option<Header>,
    /// The decoded header and payload, once both are known to be base64url.
    pub(super) decoded: Option<(Bytes, Bytes)>,
    /// How many keys are tried, once known.
    pub(super) candidates: usize,
}

impl Progress<'_> {
    pub(super) fn algorithm(&self) -> Option<Algorithm> {
        self.header.as_ref().map(|header| header.algorithm)
    }
}

/// A token between `begin` and `finish`.
#[derive(Clone)]
pub(super) struct Pending<'v> {
    pub(super) check: Check,
    issuer: &'v IssuerEntry,
    algorithm: Algorithm,
    payload: Bytes,
}

/// The three decoded segments and what is signed; all share at most two allocations.
struct Decoded {
    header: Bytes,
    payload: Bytes,
    signature: Bytes,
    signing_input: Bytes,
}

impl Verifier {
    /// Everything up to the kernel: form, header, issuer, policy on the header, keys, length of the signature.
    pub(super) fn begin<'v>(
        &'v self,
        request: &TokenRequest,
        wall: Instant,
        payload: Payload,
        progress: &mut Progress<'v>,
    ) -> Result<Pending<'v>, Stop> {
        let limits = &self.options().limits;
        let decoded = decode(&request.token, limits)?;
        progress.decoded = Some((decoded.header.clone(), decoded.payload.clone()));

        let header =
            header::parse(&decoded.header, limits).map_err(|found| refusal::malformed(Step::Header, &found))?;
        let header = progress.header.insert(header);

        let issuer = self.select_issuer(request.issuer.as_deref(), payload, &decoded.payload)?;
        progress.issuer = Some(issuer);

        issuer.policy.judge_header(header).map_err(|violation| refusal::violation(&violation))?;

        let set = usable_set(&issuer.keys, wall)?;
        let candidates = self.candidates(&set, header.algorithm, header.key_id.as_deref())?;
        progress.candidates = candidates.len();
        let scheme = header.algorithm.scheme();
        let check = Check::new(scheme, decoded.signing_input, decoded.signature, candidates)
            .ok_or_else(|| Stop::rejected(Step::Signature, Rejection::signature_invalid()))?;
        if too_late(request.deadline, wall) {
            return Err(Stop::failed(Step::Signature, Error::DeadlineExceeded));
        }
        Ok(Pending { check, issuer, algorithm: header.algorithm, payload: decoded.payload })
    }

    /// Everything after the kernel. `verified` is the candidate whose signature is good, if one is.
    pub(super) fn finish(
        &self,
        pending: Pending<'_>,
        verified: Option<usize>,
        request: &TokenRequest,
        payload: Payload,
    ) -> Result<Box<Accepted>, Stop> {
        let signer = verified
            .and_then(|place| pending.check.into_candidate(place))
            .ok_or_else(|| Stop::rejected(Step::Signature, Rejection::signature_invalid()))?;
        let mut accepted = Box::new(Accepted {
            algorithm: pending.algorithm,
            key_id: signer.key_id,
            issuer_name: Arc::clone(&pending.issuer.name),
            issuer: None,
            subject: None,
            expires_at: None,
            payload: pending.payload,
        });
        if payload == Payload::Any {
            return Ok(accepted);
        }
        let claims = claims::parse(&accepted.payload, &self.options().limits)
            .map_err(|found| refusal::malformed(Step::Claims, &found))?;
        pending.issuer.policy.judge_claims(&claims, request.now).map_err(|violation| refusal::violation(&violation))?;
        judge_requested_audience(&claims, request.audience.as_deref())?;
        let issuer = claims.issuer.map(|issuer| issuer.into_owned());
        let subject = claims.subject.map(|subject| subject.into_owned());
        let expires_at = claims.expires_at;
        accepted.issuer = issuer;
        accepted.subject = subject;
        accepted.expires_at = expires_at;
        Ok(accepted)
    }

    /// Everything up to the kernel for a raw signature.
    pub(super) fn begin_signature<'v>(
        &'v self,
        request: &SignatureRequest,
        wall: Instant,
        progress: &mut Progress<'v>,
    ) -> Result<Check, Stop> {
        let algorithm = request.algorithm;
        progress.header = Some(Header { algorithm, key_id: None, typ: None });
        let (scheme, message, signature) = (algorithm.scheme(), request.message.clone(), request.signature.clone());
        let check = match &request.key {
            SignatureKey::Value(prepared) => {
                if !prepared.supports(scheme) {
                    return Err(key_stop(NoKey::AlgorithmMismatch));
                }
                let candidate = Candidate { prepared: Arc::clone(prepared), key_id: None };
                Check::new(scheme, message, signature, [candidate])
            }
            SignatureKey::Id { issuer, key_id } => {
                let issuer = match issuer {
                    Some(name) => self.named_issuer(name)?,
                    None => self.only_issuer().ok_or_else(|| {
                        let detail = "Several issuers are configured; the call must name one.";
                        Stop::rejected(Step::IssuerSelection, Rejection::new(Reason::IssuerMissing, detail))
                    })?,
                };
                progress.issuer = Some(issuer);
                progress.header = Some(Header { algorithm, key_id: Some(key_id.clone()), typ: None });
                if !issuer.policy.allows(algorithm) {
                    return Err(refusal::violation(&Violation::AlgorithmNotAllowed));
                }
                let set = usable_set(&issuer.keys, wall)?;
                Check::new(scheme, message, signature, self.candidates(&set, algorithm, Some(key_id))?)
            }
        };
        let check = check.ok_or_else(|| Stop::rejected(Step::Signature, Rejection::signature_invalid()))?;
        if too_late(request.deadline, wall) {
            return Err(Stop::failed(Step::Signature, Error::DeadlineExceeded));
        }
        Ok(check)
    }

    /// The issuer whose policy and keys apply: the one the caller names, else the only one, else the one that the
    /// token's own `iss` names. The last selects and never authorises: the policy judges `iss` again once the
    /// signature is good.
    fn select_issuer(&self, named: Option<&str>, form: Payload, payload: &[u8]) -> Result<&IssuerEntry, Stop> {
        if let Some(name) = named {
            return self.named_issuer(name);
        }
        if let Some(only) = self.only_issuer() {
            return Ok(only);
        }
        let missing =
            |detail: &str| Stop::rejected(Step::IssuerSelection, Rejection::new(Reason::IssuerMissing, detail));
        if form == Payload::Any {
            return Err(missing("Several issuers are configured; the call must name one."));
        }
        let claims = claims::parse(payload, &self.options().limits)
            .map_err(|found| refusal::malformed(Step::IssuerSelection, &found))?;
        let issuer = claims
            .issuer
            .ok_or_else(|| missing("The token has no \"iss\", and the call names none of the configured issuers."))?;
        self.issuer_of(&issuer).ok_or_else(|| {
            let detail = "The token's \"iss\" is none of the configured issuers.";
            Stop::rejected(Step::IssuerSelection, Rejection::new(Reason::IssuerUnknown, detail))
        })
    }

    fn named_issuer(&self, name: &str) -> Result<&IssuerEntry, Stop> {
        self.issuer_named(name).ok_or_else(|| {
            let detail = "The call names an issuer that is not configured.";
            Stop::rejected(Step::IssuerSelection, Rejection::new(Reason::IssuerUnknown, detail))
        })
    }

    /// The keys of a set that are tried.
    fn candidates<'s>(
        &self,
        set: &'s KeySet,
        algorithm: Algorithm,
        key_id: Option<&str>,
    ) -> Result<impl ExactSizeIterator<Item = Candidate> + use<'s>, Stop> {
        let found = set.candidates(algorithm, key_id, self.options().candidates_max).map_err(key_stop)?;
        let candidate =
            |key: &VerifyingKey| Candidate { prepared: Arc::clone(&key.prepared), key_id: key.key_id.clone() };
        Ok(found.keys.into_iter().map(candidate))
    }
}

/// The issuer's keys as one snapshot, if they are of use now.
fn usable_set(keys: &IssuerKeys, wall: Instant) -> Result<CurrentKeys, Stop> {
    keys.load(wall).ok_or_else(|| Stop::failed(Step::Key, Error::KeysUnavailable))
}

/// A stop as the token's verdict.
pub(super) fn verdict(stop: Stop) -> Result<Verdict, Error> {
    stop.answer.map(Verdict::Rejected)
}

/// A stop as a raw signature's verdict.
pub(super) fn signature_verdict(stop: Stop) -> Result<SignatureVerdict, Error> {
    stop.answer.map(SignatureVerdict::Rejected)
}

/// The kernel's answer as a raw signature's verdict.
pub(super) fn finish_signature(verified: Option<usize>) -> SignatureVerdict {
    match verified {
        Some(_) => SignatureVerdict::Accepted,
        None => SignatureVerdict::Rejected(Rejection::signature_invalid()),
    }
}

fn key_stop(no_key: NoKey) -> Stop {
    Stop::rejected(Step::Key, refusal::no_key(no_key))
}

fn too_late(deadline: Option<Instant>, wall: Instant) -> bool {
    deadline.is_some_and(|deadline| deadline <= wall)
}

/// Splits and decodes all three segments, before anything in them is looked at.
fn decode(token: &Bytes, limits: &crate::jose::Limits) -> Result<Decoded, Stop> {
    let compact = compact::split(token, limits).map_err(|found| refusal::malformed(Step::Structure, &found))?;
    let capacity = [compact.header, compact.payload, compact.signature]
        .iter()
        .map(|segment| base64url::decoded_len(segment.len()))
        .sum();
    let mut bytes = Vec::with_capacity(capacity);
    let mut decode_next = |segment: Segment| {
        compact.decode_into(segment, &mut bytes).map_err(|found| refusal::malformed(Step::Encoding, &found))?;
        Ok(bytes.len())
    };
    let header_end = decode_next(Segment::Header)?;
    let payload_end = decode_next(Segment::Payload)?;
    decode_next(Segment::Signature)?;
    let bytes = Bytes::from(bytes);
    Ok(Decoded {
        header: bytes.slice(..header_end),
        payload: bytes.slice(header_end..payload_end),
        signature: bytes.slice(payload_end..),
        signing_input: token.slice_ref(compact.signing_input),
    })
}

/// The audience of this one call, besides the policy's.
fn judge_requested_audience(claims: &Claims<'_>, requested: Option<&str>) -> Result<(), Stop> {
    let Some(requested) = requested else { return Ok(()) };
    let (reason, detail) = match &claims.audience {
        // An empty string names no audience, not even an empty one.
        Some(audience) if !requested.is_empty() && audience.contains(requested) => return Ok(()),
        Some(_) => (Reason::AudienceMismatch, "The token's \"aud\" does not hold the audience that the call asks for."),
        None => (Reason::AudienceMissing, "The token has no \"aud\", and the call asks for an audience."),
    };
    Err(Stop::rejected(Step::RequestedAudience, Rejection::new(reason, detail)))
}
