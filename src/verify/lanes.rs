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

/// One question for a kernel: is `signature` over `message` good for any of `candidates`? Never empty.
#[derive(Clone, Debug)]
pub(super) struct Check {
    pub(super) scheme: Scheme,
    pub(super) message: Bytes,
    pub(super) signature: Bytes,
    pub(super) candidates: ArrayVec<Candidate, GROUP_WIDTH>,
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
        let mut fitting = ArrayVec::new();
        for candidate in candidates {
            if candidate.prepared.signature_len(scheme) != Some(signature.len()) {
                continue;
            }
            // Key sets hand out at most a group; should that ever change, the rest is not tried and cannot verify.
            if fitting.try_push(candidate).is_err() {
                break;
            }
        }
        (!fitting.is_empty()).then_some(Self { scheme, message, signature, candidates: fitting })
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
            if group.jobs.len() + check.candidates.len() > GROUP_WIDTH {
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
        for (place, candidate) in check.candidates.iter().enumerate() {
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
