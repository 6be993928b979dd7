//! The verifier without threads: issuers and options as one immutable snapshot, and the synchronous path that the
//! library and the command line use.

use std::sync::Arc;
use std::time::Instant;

use hashbrown::HashMap;

use super::lanes::{self, Check};
use super::path::{Payload, Pending, Progress, finish_signature, signature_verdict, verdict};
use super::{Error, SignatureRequest, SignatureVerdict, TokenRequest, Verdict};
use crate::engine::Context;
use crate::jose::Limits;
use crate::keys::IssuerKeys;
use crate::policy::Policy;

/// Tokens of a batch that are between parsing and judging at one time: bounds the memory of a batch of any length,
/// and is enough to fill lane groups of a handful of schemes.
const WINDOW: usize = 256;

/// One issuer: its policy and its keys.
#[derive(Clone, Debug)]
pub struct IssuerEntry {
    /// Name in configuration, metrics and logs.
    pub name: Arc<str>,
    /// What its tokens must satisfy.
    pub policy: Policy,
    /// Its current keys.
    pub keys: Arc<IssuerKeys>,
}

/// Settings that are not an issuer's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifierOptions {
    /// Bounds on tokens.
    pub limits: Limits,
    /// Keys a token without `kid` is tried with, 1 to 16. Default 16.
    pub candidates_max: usize,
}

impl Default for VerifierOptions {
    fn default() -> Self {
        Self { limits: Limits::DEFAULT, candidates_max: 16 }
    }
}

/// Immutable snapshot of issuers and options. `Send + Sync`; shared as `Arc<Verifier>`.
///
/// The order of checks is fixed, and the first that fails names the reason: sizes and structure; base64url of all
/// three segments; the header; the issuer (the one the call names, else the only one, else the one that the token's own
/// `iss` selects); the policy on `alg` and `typ`; the key; the signature; the claims as strict JSON; the policy on
/// claims in the order of [`Violation`](crate::policy::Violation); the audience that the call asks for.
#[derive(Debug)]
pub struct Verifier {
    issuers: Vec<IssuerEntry>,
    /// `iss` value to position in `issuers`.
    by_issuer: HashMap<String, usize>,
    /// Configured name to position in `issuers`.
    by_name: HashMap<Arc<str>, usize>,
    options: VerifierOptions,
}

impl Verifier {
    /// A verifier for these issuers.
    ///
    /// # Errors
    /// If two issuers have the same `iss` or the same name, or the name of one is the `iss` of another (a call could
    /// not tell which it means); the text names them.
    pub fn new(issuers: Vec<IssuerEntry>, options: VerifierOptions) -> Result<Self, String> {
        let mut by_issuer = HashMap::with_capacity(issuers.len());
        let mut by_name = HashMap::with_capacity(issuers.len());
        for (index, entry) in issuers.iter().enumerate() {
            if by_name.insert(Arc::clone(&entry.name), index).is_some() {
                return Err(format!("two issuers have the name \"{}\"", entry.name));
            }
            let Some(issuer) = &entry.policy.issuer else { continue };
            if let Some(other) = by_issuer.insert(issuer.clone(), index) {
                let other = &issuers[other].name;
                return Err(format!("issuers \"{other}\" and \"{}\" both have the iss \"{issuer}\"", entry.name));
            }
        }
        for (name, index) in &by_name {
            if let Some(other) = by_issuer.get(&**name).filter(|other| *other != index) {
                let other = &issuers[*other].name;
                return Err(format!("the name of issuer \"{name}\" is the iss of issuer \"{other}\""));
            }
        }
        Ok(Self { issuers, by_issuer, by_name, options })
    }

    /// The issuers, in configured order.
    #[must_use]
    pub fn issuers(&self) -> &[IssuerEntry] {
        &self.issuers
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &VerifierOptions {
        &self.options
    }

    /// Verifies one token on this thread. `wall` is the monotonic time for key ages and deadlines.
    ///
    /// # Errors
    /// If the question cannot be answered.
    pub fn verify(&self, context: &mut Context, request: &TokenRequest, wall: Instant) -> Result<Verdict, Error> {
        self.verify_one(context, request, wall, Payload::Claims)
    }

    /// Verifies header and signature of one JWS on this thread; the payload may be anything and is not judged, so
    /// that the accepted answer has no claims and says nothing of time, issuer or audience. For tools and tests: this
    /// is not a check of a token.
    ///
    /// # Errors
    /// If the question cannot be answered.
    #[doc(hidden)]
    pub fn verify_jws(&self, context: &mut Context, request: &TokenRequest, wall: Instant) -> Result<Verdict, Error> {
        self.verify_one(context, request, wall, Payload::Any)
    }

    fn verify_one(
        &self,
        context: &mut Context,
        request: &TokenRequest,
        wall: Instant,
        payload: Payload,
    ) -> Result<Verdict, Error> {
        let answer = self.begin(request, wall, payload, &mut Progress::default()).and_then(|pending| {
            let verified = lanes::run_one(context, &pending.check);
            self.finish(pending, verified, request, payload)
        });
        answer.map_or_else(verdict, |accepted| Ok(Verdict::Accepted(accepted)))
    }

    /// Verifies many tokens on this thread, in full lane groups; `answers` gets one answer a token, in order.
    pub fn verify_batch(
        &self,
        context: &mut Context,
        requests: &[TokenRequest],
        wall: Instant,
        answers: &mut Vec<Result<Verdict, Error>>,
    ) {
        self.verify_many(context, requests, wall, Payload::Claims, answers);
    }

    /// [`Verifier::verify_jws`] for many.
    #[doc(hidden)]
    pub fn verify_jws_batch(
        &self,
        context: &mut Context,
        requests: &[TokenRequest],
        wall: Instant,
        answers: &mut Vec<Result<Verdict, Error>>,
    ) {
        self.verify_many(context, requests, wall, Payload::Any, answers);
    }

    fn verify_many(
        &self,
        context: &mut Context,
        requests: &[TokenRequest],
        wall: Instant,
        payload: Payload,
        answers: &mut Vec<Result<Verdict, Error>>,
    ) {
        answers.reserve(requests.len());
        let mut verified = Vec::new();
        for window in requests.chunks(WINDOW) {
            let pending: Vec<Result<Pending<'_>, _>> =
                window.iter().map(|request| self.begin(request, wall, payload, &mut Progress::default())).collect();
            let checks: Vec<_> = pending.iter().map(|begun| begun.as_ref().ok().map(|begun| &begun.check)).collect();
            lanes::run(context, &checks, &mut verified);
            for ((begun, request), verified) in pending.into_iter().zip(window).zip(&verified) {
                let answer = begun.and_then(|pending| self.finish(pending, *verified, request, payload));
                answers.push(answer.map_or_else(verdict, |accepted| Ok(Verdict::Accepted(accepted))));
            }
        }
    }

    /// Verifies one raw signature on this thread.
    ///
    /// # Errors
    /// If the question cannot be answered.
    pub fn verify_signature(
        &self,
        context: &mut Context,
        request: &SignatureRequest,
        wall: Instant,
    ) -> Result<SignatureVerdict, Error> {
        match self.begin_signature(request, wall, &mut Progress::default()) {
            Ok(check) => Ok(finish_signature(lanes::run_one(context, &check))),
            Err(stop) => signature_verdict(stop),
        }
    }

    /// Verifies many raw signatures on this thread, in full lane groups; `answers` gets one answer a request, in order.
    pub fn verify_signature_batch(
        &self,
        context: &mut Context,
        requests: &[SignatureRequest],
        wall: Instant,
        answers: &mut Vec<Result<SignatureVerdict, Error>>,
    ) {
        answers.reserve(requests.len());
        let mut verified = Vec::new();
        for window in requests.chunks(WINDOW) {
            let begun: Vec<Result<Check, _>> =
                window.iter().map(|request| self.begin_signature(request, wall, &mut Progress::default())).collect();
            let checks: Vec<_> = begun.iter().map(|begun| begun.as_ref().ok()).collect();
            lanes::run(context, &checks, &mut verified);
            for (begun, verified) in begun.into_iter().zip(&verified) {
                answers.push(begun.map_or_else(signature_verdict, |_| Ok(finish_signature(*verified))));
            }
        }
    }

    /// The issuer that a caller names: by `iss` value or by configured name.
    pub(super) fn issuer_named(&self, name: &str) -> Option<&IssuerEntry> {
        let index = self.by_issuer.get(name).or_else(|| self.by_name.get(name))?;
        self.issuers.get(*index)
    }

    /// The issuer with this `iss`; configured names do not count, they are not the token's to choose.
    pub(super) fn issuer_of(&self, issuer: &str) -> Option<&IssuerEntry> {
        self.issuers.get(*self.by_issuer.get(issuer)?)
    }

    /// The issuer, if there is only one.
    pub(super) fn only_issuer(&self) -> Option<&IssuerEntry> {
        match self.issuers.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }
}
