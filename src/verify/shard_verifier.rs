//! The path of a token on a shard: the same steps, with the kernel run by the engine and unknown key ids parked.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use arrayvec::ArrayVec;

use super::lanes::{Candidate, Check};
use super::path::{self, Payload, Pending, Progress};
use super::step::Stop;
use super::{Error, Reason, Rejection, SignatureRequest, SignatureVerdict, TokenRequest, Verdict, Verifier};
use crate::engine::{Outcome, Overloaded, Shard, Submission};
use crate::jose::Algorithm;
use crate::kernel::GROUP_WIDTH;

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
///
/// Every answered check is observed exactly once, also when it never reached a kernel. Dropping a future that has not
/// answered harms nothing: its jobs run to their end unread, and nothing is observed.
#[derive(Clone)]
pub struct ShardVerifier {
    inner: Rc<Inner>,
    shard: Shard,
    #[cfg(feature = "fetch")]
    room: Option<Rc<Room>>,
}

/// Slots that the checks of one handle may take together.
#[cfg(feature = "fetch")]
struct Room {
    slots: tokio::sync::Semaphore,
    max: u32,
}

/// A part of the room, held while a check is in flight. Nothing for a handle without bound.
#[cfg(feature = "fetch")]
type Place<'a> = Option<tokio::sync::SemaphorePermit<'a>>;
#[cfg(not(feature = "fetch"))]
type Place<'a> = std::marker::PhantomData<&'a ()>;

struct Inner {
    verifier: Arc<ArcSwap<Verifier>>,
    /// The snapshot last seen, counted on this thread alone: shards do not meet at its reference count for each check.
    snapshot: RefCell<Rc<Snapshot>>,
    observe: Rc<dyn Observe>,
    parking: Parking,
}

/// A verifier with a reference count of this thread's own.
struct Snapshot(Arc<Verifier>);

/// Tokens that wait for a refetch of their issuer's keys.
#[cfg_attr(not(feature = "fetch"), allow(dead_code, reason = "waiting needs the timers of feature fetch"))]
struct Parking {
    wait: Duration,
    parked: Cell<usize>,
    parked_max: usize,
}

impl std::fmt::Debug for ShardVerifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShardVerifier").field("parked", &self.inner.parking.parked.get()).finish_non_exhaustive()
    }
}

impl ShardVerifier {
    /// `verifier` is loaded once a check, so that a reload takes effect between checks. `unknown_key_wait` bounds how
    /// long a token with a new `kid` waits for a refetch; zero means not at all. `parked_max` bounds how many wait.
    /// Waiting needs a tokio runtime and feature `fetch`, without which no source can refetch.
    #[must_use]
    pub fn new(
        verifier: Arc<ArcSwap<Verifier>>,
        shard: Shard,
        observe: Rc<dyn Observe>,
        unknown_key_wait: Duration,
        parked_max: usize,
    ) -> Self {
        let parking = Parking { wait: unknown_key_wait, parked: Cell::new(0), parked_max };
        let snapshot = RefCell::new(Rc::new(Snapshot(verifier.load_full())));
        Self {
            inner: Rc::new(Inner { verifier, snapshot, observe, parking }),
            shard,
            #[cfg(feature = "fetch")]
            room: None,
        }
    }

    /// The same verifier for the checks of bulk requests: single checks pass them in the engine's queue, and they are
    /// the first to be told that the shard is overloaded.
    #[must_use]
    pub fn for_bulk(&self) -> Self {
        Self { shard: self.shard.for_bulk(), ..self.clone() }
    }

    /// The same verifier with a bound of its own: its checks, and those of its clones, take at most `slots_max` of the
    /// engine's slots together, at least one; the others wait, first come, first served. A token that is tried with
    /// several keys takes as many slots. Waiting needs feature `fetch`, as for keys.
    #[cfg(feature = "fetch")]
    #[must_use]
    pub fn holding_back(mut self, slots_max: usize) -> Self {
        // A bound above the largest arena is none.
        let max = u32::try_from(slots_max.max(1)).unwrap_or(u32::MAX).min(u32::from(u16::MAX) + 1);
        self.room = Some(Rc::new(Room { slots: tokio::sync::Semaphore::new(max as usize), max }));
        self
    }

    /// How many tokens wait for a refetch now.
    #[must_use]
    pub fn parked(&self) -> usize {
        self.inner.parking.parked.get()
    }

    /// Verifies one token.
    ///
    /// # Errors
    /// If the question cannot be answered.
    pub async fn verify(&self, request: TokenRequest) -> Result<Verdict, Error> {
        let place = self.place(1).await;
        let start = Instant::now();
        let snapshot = self.snapshot();
        let verifier = &*snapshot.0;
        let mut progress = Progress::default();
        let answer = self.token(verifier, &request, start, &mut progress, place).await;
        let outcome = match &answer {
            Ok(Verdict::Accepted(_)) => Ok(None),
            Ok(Verdict::Rejected(rejection)) => Ok(Some(rejection.reason)),
            Err(error) => Err(*error),
        };
        self.report(&progress, outcome, start, false);
        answer
    }

    /// Verifies one raw signature.
    ///
    /// # Errors
    /// If the question cannot be answered.
    pub async fn verify_signature(&self, request: SignatureRequest) -> Result<SignatureVerdict, Error> {
        let place = self.place(1).await;
        let start = Instant::now();
        let snapshot = self.snapshot();
        let verifier = &*snapshot.0;
        let mut progress = Progress::default();
        let answer = match verifier.begin_signature(&request, start, &mut progress) {
            Ok(check) => self.run(&check, request.deadline, place).await.map(path::finish_signature),
            Err(stop) => path::signature_verdict(stop),
        };
        let outcome = match &answer {
            Ok(SignatureVerdict::Accepted) => Ok(None),
            Ok(SignatureVerdict::Rejected(rejection)) => Ok(Some(rejection.reason)),
            Err(error) => Err(*error),
        };
        self.report(&progress, outcome, start, true);
        answer
    }

    /// Answers a raw signature that is rejected before it could be asked: a key given by value that cannot be used, an
    /// algorithm of no known name. Observed like every other answer.
    #[must_use]
    pub fn reject_signature(&self, rejection: Rejection) -> SignatureVerdict {
        self.report(&Progress::default(), Ok(Some(rejection.reason)), Instant::now(), true);
        SignatureVerdict::Rejected(rejection)
    }

    async fn token<'v>(
        &self,
        verifier: &'v Verifier,
        request: &TokenRequest,
        start: Instant,
        progress: &mut Progress<'v>,
        place: Place<'_>,
    ) -> Result<Verdict, Error> {
        let pending = match self.begin(verifier, request, start, progress).await {
            Ok(pending) => pending,
            Err(stop) => return path::verdict(stop),
        };
        let verified = self.run(&pending.check, request.deadline, place).await?;
        let finished = verifier.finish(pending, verified, request, Payload::Claims);
        finished.map_or_else(path::verdict, |accepted| Ok(Verdict::Accepted(accepted)))
    }

    /// Begins a token; if its `kid` is unknown and the issuer's source is fetching, waits and begins it once more.
    async fn begin<'v>(
        &self,
        verifier: &'v Verifier,
        request: &TokenRequest,
        start: Instant,
        progress: &mut Progress<'v>,
    ) -> Result<Pending<'v>, Stop> {
        let begun = verifier.begin(request, start, Payload::Claims, progress);
        #[cfg(feature = "fetch")]
        if let Err(stop) = &begun
            && stop.answer.as_ref().is_ok_and(|rejection| rejection.reason == Reason::UnknownKeyId)
            && self.wait_for_key(request.deadline, start, progress).await
        {
            return verifier.begin(request, Instant::now(), Payload::Claims, progress);
        }
        begun
    }

    /// Waits for the refetch that an unknown `kid` causes. False if there is none, or no room to wait.
    #[cfg(feature = "fetch")]
    async fn wait_for_key(&self, deadline: Option<Instant>, start: Instant, progress: &Progress<'_>) -> bool {
        let parking = &self.inner.parking;
        let left = deadline.map_or(parking.wait, |deadline| deadline.saturating_duration_since(start));
        let wait = parking.wait.min(left);
        let (Some(issuer), Some(header)) = (progress.issuer, &progress.header) else { return false };
        let Some(key_id) = header.key_id.as_deref() else { return false };
        // The source learns of the key id even if nobody may wait: a later token with it finds the key.
        let Some(refetch) = issuer.keys.unknown_key_id(key_id, start) else { return false };
        if wait.is_zero() || parking.parked.get() >= parking.parked_max {
            return false;
        }
        let _place = parking.enter();
        // Fetched or timed out, the set is looked at once more: another task may have published it meanwhile.
        let _ = tokio::time::timeout(wait, refetch.finished()).await;
        true
    }

    /// The engine's answer: the first candidate whose signature is good, if one is.
    async fn run<'a>(
        &'a self,
        check: &Check,
        deadline: Option<Instant>,
        place: Place<'a>,
    ) -> Result<Option<usize>, Error> {
        let _place = self.widen(place, check.width()).await;
        let mut verified = None;
        let mut too_late = false;
        let mut settle = |place: usize, outcome: Outcome| match outcome {
            Outcome::Good => verified = verified.or(Some(place)),
            Outcome::Bad => {}
            Outcome::DeadlineExceeded => too_late = true,
        };
        if check.width() == 1 {
            let ticket =
                self.shard.submit(&submission(check, check.first(), deadline)).map_err(|Overloaded| self.refused())?;
            settle(0, ticket.await);
        } else {
            let submissions: ArrayVec<_, GROUP_WIDTH> =
                check.candidates().map(|candidate| submission(check, candidate, deadline)).collect();
            let mut tickets = Vec::with_capacity(submissions.len());
            self.shard.submit_all(&submissions, &mut tickets).map_err(|Overloaded| self.refused())?;
            drop(submissions);
            for (place, ticket) in tickets.into_iter().enumerate() {
                settle(place, ticket.await);
            }
        }
        // One good candidate answers the question; without one, a candidate that was not tried leaves it open.
        if verified.is_none() && too_late { Err(Error::DeadlineExceeded) } else { Ok(verified) }
    }

    /// Waits for room for `slots` jobs, if this handle has a bound.
    #[cfg(feature = "fetch")]
    async fn place(&self, slots: usize) -> Place<'_> {
        let room = self.room.as_ref()?;
        let slots = u32::try_from(slots).unwrap_or(u32::MAX).min(room.max);
        // The semaphore is never closed; were it, the engine's own bound would still hold.
        room.slots.acquire_many(slots).await.ok()
    }

    /// A place for `slots` jobs in exchange for that of one. Given back first: nobody waits for room while holding some.
    #[cfg(feature = "fetch")]
    async fn widen<'a>(&'a self, place: Place<'a>, slots: usize) -> Place<'a> {
        if slots == 1 || place.is_none() {
            return place;
        }
        drop(place);
        self.place(slots).await
    }

    #[cfg(not(feature = "fetch"))]
    async fn place(&self, _: usize) -> Place<'_> {
        Place::default()
    }

    #[cfg(not(feature = "fetch"))]
    async fn widen<'a>(&'a self, place: Place<'a>, _: usize) -> Place<'a> {
        place
    }

    /// Why the engine took no job.
    fn refused(&self) -> Error {
        if self.shard.is_closed() { Error::ShuttingDown } else { Error::Overloaded }
    }

    /// The snapshot of issuers to judge by, from now to the end of the check.
    fn snapshot(&self) -> Rc<Snapshot> {
        let current = self.inner.verifier.load();
        let mut seen = self.inner.snapshot.borrow_mut();
        if !Arc::ptr_eq(&current, &seen.0) {
            *seen = Rc::new(Snapshot(Arc::clone(&current)));
        }
        Rc::clone(&seen)
    }

    fn report(&self, progress: &Progress<'_>, outcome: Result<Option<Reason>, Error>, start: Instant, raw: bool) {
        let issuer_name = progress.issuer.map_or("", |issuer| &issuer.name);
        let algorithm = progress.algorithm();
        // Names of ours only: nothing here is the caller's text.
        match outcome {
            Ok(None) => {}
            Ok(Some(reason)) => tracing::debug!(issuer = issuer_name, ?algorithm, ?reason, raw, "rejected"),
            Err(error) => tracing::debug!(issuer = issuer_name, ?algorithm, %error, raw, "not answered"),
        }
        self.inner.observe.observe(&Observation { issuer_name, algorithm, outcome, elapsed: start.elapsed(), raw });
    }
}

fn submission<'a>(check: &'a Check, candidate: &'a Candidate, deadline: Option<Instant>) -> Submission<'a> {
    Submission {
        scheme: check.scheme,
        key: &candidate.prepared,
        message: check.message.clone(),
        signature: &check.signature,
        deadline,
    }
}

#[cfg(feature = "fetch")]
impl Parking {
    fn enter(&self) -> Parked<'_> {
        self.parked.set(self.parked.get() + 1);
        Parked(self)
    }
}

/// A place among the waiting; given back however the wait ends.
#[cfg(feature = "fetch")]
struct Parked<'a>(&'a Parking);

#[cfg(feature = "fetch")]
impl Drop for Parked<'_> {
    fn drop(&mut self) {
        self.0.parked.set(self.0.parked.get() - 1);
    }
}
