//! The path of a token on a shard: the same steps, with the kernel run by the engine and unknown key ids parked.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use super::{Error, Reason, SignatureRequest, SignatureVerdict, TokenRequest, Verdict, Verifier};
use crate::engine::Shard;
use crate::jose::Algorithm;

/// What metrics learn of one answered check.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// Configured name of the issuer, once selected; empty before.
    pub issuer_name: &'a str,
    /// Algorithm, once known.
    pub algorithm: Option<Algorithm>,
    /// `Ok(None)` accepted, `Ok(Some(reason))` rejected, `Err` not answered.
    pub outcome: Result<Option<Reason>, Error>,
    /// From submission to answer.
    pub elapsed: Duration,
    /// Whether it was a raw signature.
    pub raw: bool,
}

/// Receives observations on the shard's thread.
pub trait Observe {
    /// One check was answered.
    fn observe(&self, observation: &Observation<'_>);
}

/// Verifies on one shard. Cheap to clone, bound to its thread.
#[derive(Clone)]
pub struct ShardVerifier {
    _private: Rc<()>,
}

impl ShardVerifier {
    /// `verifier` is loaded once a check, so that a reload takes effect between checks. `unknown_key_wait` bounds how
    /// long a token with a new `kid` waits for a refetch; zero means not at all. `parked_max` bounds how many wait.
    #[must_use]
    pub fn new(
        verifier: Arc<ArcSwap<Verifier>>,
        shard: Shard,
        observe: Rc<dyn Observe>,
        unknown_key_wait: Duration,
        parked_max: usize,
    ) -> Self {
        todo!()
    }

    /// Verifies one token.
    ///
    /// # Errors
    /// If the question cannot be answered.
    pub async fn verify(&self, request: TokenRequest) -> Result<Verdict, Error> {
        todo!()
    }

    /// Verifies one raw signature.
    ///
    /// # Errors
    /// If the question cannot be answered.
    pub async fn verify_signature(&self, request: SignatureRequest) -> Result<SignatureVerdict, Error> {
        todo!()
    }
}
