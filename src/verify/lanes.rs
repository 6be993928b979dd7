//! Signature checks on their way through a context: lane groups of one scheme, formed from many questions. The
//! synchronous counterpart of the engine's groups.

use std::sync::Arc;

use arrayvec::ArrayVec;
use bytes::Bytes;

use crate::engine::Context;
use crate::kernel::{GROUP_WIDTH, Job, PreparedKey, Scheme};

/// A key to try, and the name it goes by.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) prepared: Arc<PreparedKey>,
    pub(super) key_id: Option<Arc<str>>,
}

/// One question for a kernel: is `signature` over `message` good for any of the candidates? There is at least one, and
/// nearly always only one, which is why it stands apart.
#[derive(Clone)]
pub(super) struct Check {
    pub(super) scheme: Scheme,
    pub(super) message: Bytes,
    pub(super) signature: Bytes,
    first: Candidate,
    others: Vec<Candidate>,
}

impl Check {
    /// A check with those of `candidates` whose signatures have the length that came. `None` if that is none of them:
    /// then no kernel needs to run.
    pub(super) fn new(
        scheme: Scheme,
        message: Bytes,
        signature: Bytes,
        candidates: impl IntoIterator<Item = Candidate>,
    ) -> Option<Self> {
        let fits = |candidate: &Candidate| candidate.prepared.signature_len(scheme) == Some(signature.len());
        // Key sets hand out at most a group; should that ever change, the rest is not tried and cannot verify.
        let mut fitting = candidates.into_iter().filter(fits).take(GROUP_WIDTH);
        let Some(first) = fitting.next() else {
            // The caller is told no more than that the signature is not valid.
            tracing::debug!(%scheme, length = signature.len(), "no key makes signatures of this length");
            return None;
        };
        let others = fitting.collect();
        Some(Self { scheme, message, signature, first, others })
    }

    /// The first key to try.
    pub(super) fn first(&self) -> &Candidate {
        &self.first
    }

    /// The keys to try, at most a group.
    pub(super) fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The key at `place`, once the check is over.
    pub(super) fn into_candidate(mut self, place: usize) -> Option<Candidate> {
        match place.checked_sub(1) {
            None => Some(self.first),
            Some(other) => (other < self.others.len()).then(|| self.others.swap_remove(other)),
        }
    }

    /// How many keys are tried.
    pub(super) fn width(&self) -> usize {
        1 + self.others.len()
    }
}

/// Runs all checks in lane groups of one scheme each. `verified[i]` becomes the first candidate of `checks[i]` that is
/// good; it stays `None` for a bad signature or an absent check. Candidates of one check share one group.
pub(super) fn run(context: &mut Context, checks: &[Option<&Check>], verified: &mut Vec<Option<usize>>) {
    verified.clear();
    verified.resize(checks.len(), None);
    for scheme in Scheme::ALL {
        let mut group = Group::default();
        for (index, check) in checks.iter().enumerate() {
            let Some(check) = check.filter(|check| check.scheme == scheme) else { continue };
            if group.jobs.len() + check.width() > GROUP_WIDTH {
                group.run(context, scheme, verified);
            }
            group.push(index, check);
        }
        group.run(context, scheme, verified);
    }
}

/// Runs one check alone: the first candidate that is good.
pub(super) fn run_one(context: &mut Context, check: &Check) -> Option<usize> {
    let mut verified = [None];
    let mut group = Group::default();
    group.push(0, check);
    group.run(context, check.scheme, &mut verified);
    verified[0]
}

#[derive(Default)]
struct Group<'a> {
    jobs: ArrayVec<Job<'a>, GROUP_WIDTH>,
    /// For each job: the check and the candidate it belongs to.
    origins: ArrayVec<(usize, usize), GROUP_WIDTH>,
}

impl<'a> Group<'a> {
    fn push(&mut self, index: usize, check: &'a Check) {
        for (place, candidate) in check.candidates().enumerate() {
            self.jobs.push(Job { key: &candidate.prepared, message: &check.message, signature: &check.signature });
            self.origins.push((index, place));
        }
    }

    fn run(&mut self, context: &mut Context, scheme: Scheme, verified: &mut [Option<usize>]) {
        if self.jobs.is_empty() {
            return;
        }
        let good = context.run(scheme, &self.jobs);
        for (lane, (index, place)) in self.origins.iter().enumerate() {
            if good.contains(lane) {
                verified[*index].get_or_insert(*place);
            }
        }
        self.jobs.clear();
        self.origins.clear();
    }
}
