//! The path of a token, without threads: what the library, the command line and the shards share.

use std::sync::Arc;
use std::time::Instant;

use super::{Error, SignatureRequest, SignatureVerdict, TokenRequest, Verdict};
use crate::engine::Context;
use crate::jose::Limits;
use crate::keys::IssuerKeys;
use crate::policy::Policy;

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
#[derive(Debug)]
pub struct Verifier {
    _private: (),
}

impl Verifier {
    /// A verifier for these issuers.
    ///
    /// # Errors
    /// If two issuers have the same `iss` or the same name; the text names them.
    pub fn new(issuers: Vec<IssuerEntry>, options: VerifierOptions) -> Result<Self, String> {
        todo!()
    }

    /// The issuers, in configured order.
    #[must_use]
    pub fn issuers(&self) -> &[IssuerEntry] {
        todo!()
    }

    /// Verifies one token on this thread. `wall` is the monotonic time for key ages and deadlines.
    ///
    /// # Errors
    /// If the question cannot be answered.
    pub fn verify(&self, context: &mut Context, request: &TokenRequest, wall: Instant) -> Result<Verdict, Error> {
        todo!()
    }

    /// Verifies many tokens on this thread, in full lane groups; `answers` gets one answer a token, in order.
    pub fn verify_batch(
        &self,
        context: &mut Context,
        requests: &[TokenRequest],
        wall: Instant,
        answers: &mut Vec<Result<Verdict, Error>>,
    ) {
        todo!()
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
        todo!()
    }
}
