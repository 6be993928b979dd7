//! Which jobs run next. Pure: no clock, no kernel, no thread; only slot positions, schemes and the order of arrival.
//!
//! Every scheme has two queues, first in, first out: single checks and bulk. All queues are threaded through one array
//! with an entry a slot, so that memory does not grow with the number of schemes. Among the schemes that may run, the
//! one whose first job is oldest goes first, so no scheme starves another. Inside a scheme single checks take the lanes
//! first and bulk fills the rest, but while both wait every fourth lane is bulk's, so that neither starves the other.

use super::arena::SlotIndex;
use crate::kernel::{GROUP_WIDTH, Scheme};

/// Whose job it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Somebody waits for this one answer.
    Single,
    /// One of very many; passed by single checks.
    Bulk,
}

/// While both classes wait, one lane in this many is for bulk.
const BULK_LANE_EVERY: u32 = 4;

/// Which groups may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Eligible {
    /// Only groups with a job in every lane.
    Full,
    /// Any group whose first job arrived before this point (see [`Schedule::arrivals`]).
    ArrivedBefore(u64),
}

#[derive(Clone, Copy, Debug, Default)]
struct Link {
    /// When the job arrived: jobs are numbered.
    arrival: u64,
    /// The next slot of the same scheme; meaningless for the last.
    next: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    first: u32,
    last: u32,
    length: u32,
}

/// The two queues of one scheme.
#[derive(Clone, Copy, Debug, Default)]
struct Queues {
    single: Queue,
    bulk: Queue,
    /// Single checks taken in a row while bulk waited.
    passed: u32,
}

impl Queues {
    const fn length(&self) -> usize {
        self.single.length as usize + self.bulk.length as usize
    }
}

/// The waiting jobs of one shard.
#[derive(Debug)]
pub(super) struct Schedule {
    links: Box<[Link]>,
    queues: [Queues; Scheme::COUNT],
    arrivals: u64,
    waiting: usize,
}

impl Schedule {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            links: vec![Link::default(); slots].into_boxed_slice(),
            queues: [Queues::default(); Scheme::COUNT],
            arrivals: 0,
            waiting: 0,
        }
    }

    /// Bytes allocated for a schedule of `slots`.
    pub(super) const fn memory_bytes(slots: usize) -> usize {
        slots * size_of::<Link>()
    }

    /// Jobs waiting.
    pub(super) const fn waiting(&self) -> usize {
        self.waiting
    }

    /// Jobs of `scheme` waiting.
    pub(super) const fn waiting_of(&self, scheme: Scheme) -> usize {
        self.queues[scheme.index()].length()
    }

    /// How many jobs ever arrived. Compared over time it tells whether new ones came.
    pub(super) const fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// Appends the job in `slot`, which is not waiting yet.
    pub(super) fn push(&mut self, scheme: Scheme, class: Class, slot: SlotIndex) {
        let position = slot.get();
        let queues = &mut self.queues[scheme.index()];
        let queue = match class {
            Class::Single => &mut queues.single,
            Class::Bulk => &mut queues.bulk,
        };
        self.links[position] = Link { arrival: self.arrivals, next: 0 };
        if queue.length == 0 {
            queue.first = position as u32;
        } else {
            self.links[queue.last as usize].next = position as u32;
        }
        queue.last = position as u32;
        queue.length += 1;
        self.arrivals += 1;
        self.waiting += 1;
    }

    /// The scheme to run next, if any may.
    pub(super) fn choose(&self, eligible: Eligible) -> Option<Scheme> {
        if self.waiting == 0 {
            return None;
        }
        let candidates = Scheme::ALL.into_iter().filter_map(|scheme| {
            let queues = &self.queues[scheme.index()];
            let oldest = self.oldest(queues.single).into_iter().chain(self.oldest(queues.bulk)).min()?;
            let may = match eligible {
                Eligible::Full => queues.length() >= GROUP_WIDTH,
                Eligible::ArrivedBefore(horizon) => oldest < horizon,
            };
            may.then_some((oldest, scheme))
        });
        candidates.min_by_key(|(oldest, _)| *oldest).map(|(_, scheme)| scheme)
    }

    fn oldest(&self, queue: Queue) -> Option<u64> {
        (queue.length > 0).then(|| self.links[queue.first as usize].arrival)
    }

    /// Takes the next job of `scheme`.
    pub(super) fn pop(&mut self, scheme: Scheme) -> Option<SlotIndex> {
        let queues = &mut self.queues[scheme.index()];
        let bulk_is_due = queues.bulk.length > 0 && queues.passed + 1 >= BULK_LANE_EVERY;
        let queue = if queues.single.length > 0 && !bulk_is_due {
            queues.passed = if queues.bulk.length > 0 { queues.passed + 1 } else { 0 };
            &mut queues.single
        } else {
            queues.passed = 0;
            &mut queues.bulk
        };
        if queue.length == 0 {
            return None;
        }
        let position = queue.first;
        queue.length -= 1;
        queue.first = self.links[position as usize].next;
        self.waiting -= 1;
        Some(SlotIndex::new(position as usize))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    const A: Scheme = Scheme::Ed25519;
    const B: Scheme = Scheme::RsaPkcs1Sha256;

    /// Name; jobs by scheme in order of arrival; which scheme is chosen among full groups, and among all.
    type Case = (&'static str, Vec<(Scheme, usize)>, Option<Scheme>, Option<Scheme>);

    #[test]
    fn the_oldest_eligible_scheme_is_chosen() {
        let full = GROUP_WIDTH;
        let cases: [Case; 6] = [
            ("nothing waits", vec![], None, None),
            ("one job is not full", vec![(A, 1)], None, Some(A)),
            ("a full group", vec![(A, full)], Some(A), Some(A)),
            ("an older part group does not stop a full one", vec![(B, 1), (A, full)], Some(A), Some(B)),
            ("the older of two full groups", vec![(B, full), (A, full)], Some(B), Some(B)),
            ("one short of full", vec![(A, full - 1), (B, full - 1)], None, Some(A)),
        ];
        for (name, arrivals, when_full, when_any) in cases {
            let mut schedule = Schedule::new(64);
            let mut slot = 0;
            for (scheme, count) in arrivals {
                for _ in 0..count {
                    schedule.push(scheme, Class::Single, SlotIndex::new(slot));
                    slot += 1;
                }
            }
            assert_eq!(schedule.choose(Eligible::Full), when_full, "{name}: full");
            let now = schedule.arrivals();
            assert_eq!(schedule.choose(Eligible::ArrivedBefore(now)), when_any, "{name}: any");
            assert_eq!(schedule.choose(Eligible::ArrivedBefore(0)), None, "{name}: nothing arrived before the first");
        }
    }

    /// Which class each popped job has, when so many of both wait.
    #[test]
    fn single_checks_pass_bulk_and_leave_it_every_fourth_lane() {
        let cases = [
            ("only single", 5, 0, "sssss"),
            ("only bulk", 0, 5, "bbbbb"),
            ("one single check passes a long bulk", 1, 6, "sbbbbbb"),
            ("a flood of single checks leaves bulk its share", 9, 6, "sssbsssbsssbbbb"),
        ];
        for (name, singles, bulk, expected) in cases {
            let mut schedule = Schedule::new(64);
            (0..bulk).for_each(|slot| schedule.push(A, Class::Bulk, SlotIndex::new(slot)));
            (bulk..bulk + singles).for_each(|slot| schedule.push(A, Class::Single, SlotIndex::new(slot)));
            let order = std::iter::from_fn(|| schedule.pop(A));
            let order: String = order.map(|slot| if slot.get() < bulk { 'b' } else { 's' }).collect();
            assert_eq!(order, expected, "{name}");
        }
    }

    proptest! {
        /// Against a plain list: same order inside a scheme and class, same choice, same counts.
        #[test]
        fn agrees_with_a_plain_list(steps in prop::collection::vec((0_usize..4, 0_usize..3, any::<bool>()), 0..400)) {
            let schemes = [A, B, Scheme::HmacSha256];
            let mut schedule = Schedule::new(48);
            let mut free: VecDeque<usize> = (0..48).collect();
            let mut model: Vec<(u64, Scheme, Class, usize)> = Vec::new();
            for (step, scheme, bulk) in steps {
                let scheme = schemes[scheme];
                if step > 0 {
                    let Some(slot) = free.pop_front() else { continue };
                    let class = if bulk { Class::Bulk } else { Class::Single };
                    model.push((schedule.arrivals(), scheme, class, slot));
                    schedule.push(scheme, class, SlotIndex::new(slot));
                } else {
                    let popped = schedule.pop(scheme).map(SlotIndex::get);
                    let heads = [Class::Single, Class::Bulk]
                        .map(|class| model.iter().position(|(_, s, c, _)| *s == scheme && *c == class));
                    let at = heads.into_iter().flatten().find(|at| Some(model[*at].3) == popped);
                    prop_assert_eq!(at.is_some(), heads != [None, None], "popped {:?}", popped);
                    if let Some(at) = at {
                        free.push_back(model.remove(at).3);
                    }
                }
                prop_assert_eq!(schedule.waiting(), model.len());
                let horizon = schedule.arrivals() / 2;
                let count = |s: Scheme| model.iter().filter(|(_, t, _, _)| *t == s).count();
                let any = model.iter().find(|(arrival, ..)| *arrival < horizon).map(|(_, s, ..)| *s);
                prop_assert_eq!(schedule.choose(Eligible::ArrivedBefore(horizon)), any);
                let full = model.iter().find(|(_, s, ..)| count(*s) >= GROUP_WIDTH).map(|(_, s, ..)| *s);
                prop_assert_eq!(schedule.choose(Eligible::Full), full);
                for s in schemes {
                    prop_assert_eq!(schedule.waiting_of(s), count(s));
                }
            }
        }
    }
}
