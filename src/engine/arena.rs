//! The slots of one shard: allocated once, reused for ever. Owns where a job lives and who may read its outcome; knows
//! nothing of order, kernels or threads.
//!
//! A slot goes `Free -> Waiting -> Settled -> Free`. If the ticket is dropped first it goes `Waiting -> Abandoned ->
//! Free`: the job still runs, nobody reads its answer. Every return to `Free` raises the slot's generation, and a ticket
//! names the generation it was given, so that it can never read the outcome of a later job.

use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Instant;

use bytes::Bytes;

use super::{Outcome, Submission};
use crate::kernel::{Job, PreparedKey, SIGNATURE_MAX, Scheme};

/// Position of a slot in its arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct SlotIndex(u32);

impl SlotIndex {
    /// The slot at `position`, which is below 2^32 because an arena is.
    pub(super) fn new(position: usize) -> Self {
        Self(u32::try_from(position).expect("an arena has fewer than 2^32 slots"))
    }

    /// As an index.
    pub(super) const fn get(self) -> usize {
        self.0 as usize
    }
}

/// One use of one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotId {
    pub(super) index: SlotIndex,
    generation: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlotState {
    Free,
    Waiting,
    Abandoned,
    Settled(Outcome),
}

/// What the kernel reads besides the signature. Dropped when the job settles.
pub(super) struct Load {
    pub(super) key: Arc<PreparedKey>,
    pub(super) message: Bytes,
}

/// Everything but the signature fits two cache lines; the signature of most schemes adds one.
#[repr(C, align(64))]
struct Slot {
    load: Option<Load>,
    waker: Option<Waker>,
    deadline: Option<Instant>,
    generation: u32,
    signature_len: u16,
    scheme: Scheme,
    state: SlotState,
    signature: [u8; SIGNATURE_MAX],
}

/// What a slot let go of. Dropping or waking may run foreign code, so it happens after the shard's state is released.
#[derive(Default)]
pub(super) struct Released {
    load: Option<Load>,
    waker: Option<Waker>,
}

impl Released {
    /// Wakes the waiting task, unless `previous` was the same one.
    pub(super) fn wake(self, previous: &mut Option<Waker>) {
        drop(self.load);
        if let Some(waker) = self.waker
            && !previous.as_ref().is_some_and(|last| last.will_wake(&waker))
        {
            waker.wake_by_ref();
            *previous = Some(waker);
        }
    }
}

/// All slots of a shard.
pub(super) struct Arena {
    slots: Box<[Slot]>,
    /// Last freed is first taken, so that few slots stay warm.
    free: Vec<SlotIndex>,
}

impl Arena {
    pub(super) fn new(slots: usize) -> Self {
        let free = (0..slots).rev().map(SlotIndex::new).collect();
        let slots = (0..slots).map(|_| Slot {
            load: None,
            waker: None,
            deadline: None,
            generation: 0,
            signature_len: 0,
            scheme: Scheme::Ed25519,
            state: SlotState::Free,
            signature: [0; SIGNATURE_MAX],
        });
        Self { slots: slots.collect(), free }
    }

    /// Bytes allocated for an arena of `slots`.
    pub(super) const fn memory_bytes(slots: usize) -> usize {
        slots * (size_of::<Slot>() + size_of::<SlotIndex>())
    }

    pub(super) fn slots_free(&self) -> usize {
        self.free.len()
    }

    pub(super) fn slots_in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Takes a free slot. The signature fits: the caller has compared it with [`SIGNATURE_MAX`].
    pub(super) fn claim(&mut self, submission: &Submission<'_>) -> Option<SlotId> {
        let index = self.free.pop()?;
        let slot = &mut self.slots[index.get()];
        debug_assert_eq!(slot.state, SlotState::Free);
        let length = submission.signature.len();
        slot.load = Some(Load { key: Arc::clone(submission.key), message: submission.message.clone() });
        slot.signature[..length].copy_from_slice(submission.signature);
        slot.signature_len = length as u16;
        slot.deadline = submission.deadline;
        slot.scheme = submission.scheme;
        slot.state = SlotState::Waiting;
        Some(SlotId { index, generation: slot.generation })
    }

    /// Whether the job's deadline has passed at `now`.
    pub(super) fn expired(&self, index: SlotIndex, now: Instant) -> bool {
        self.slots[index.get()].deadline.is_some_and(|deadline| deadline <= now)
    }

    /// The job in a slot that has not settled and whose load is here.
    pub(super) fn job(&self, index: SlotIndex) -> Job<'_> {
        let slot = &self.slots[index.get()];
        let load = slot.load.as_ref().expect("a job that has not settled keeps its load");
        Job { key: &load.key, message: &load.message, signature: &slot.signature[..usize::from(slot.signature_len)] }
    }

    /// Moves the load of a waiting job out, for a shard that will run it elsewhere, with the signature beside it.
    pub(super) fn lend(&mut self, index: SlotIndex) -> (Load, &[u8]) {
        let slot = &mut self.slots[index.get()];
        let load = slot.load.take().expect("a job that has not settled keeps its load");
        (load, &slot.signature[..usize::from(slot.signature_len)])
    }

    /// The load of a job that was lent and came back.
    pub(super) fn restore(&mut self, index: SlotIndex, load: Load) {
        let old = self.slots[index.get()].load.replace(load);
        debug_assert!(old.is_none(), "the load was lent");
    }

    /// Writes the outcome of a waiting job. `true` in the answer: somebody may still read it.
    pub(super) fn settle(&mut self, index: SlotIndex, outcome: Outcome) -> (Released, bool) {
        let slot = &mut self.slots[index.get()];
        let released = Released { load: slot.load.take(), waker: slot.waker.take() };
        match slot.state {
            SlotState::Waiting => {
                slot.state = SlotState::Settled(outcome);
                (released, true)
            }
            SlotState::Abandoned => {
                self.release(index);
                (released, false)
            }
            SlotState::Free | SlotState::Settled(_) => unreachable!("only a job in flight settles"),
        }
    }

    /// Reads and frees, or remembers whom to wake. The waker that is no longer needed comes back to be dropped later.
    pub(super) fn poll(&mut self, id: SlotId, waker: &Waker) -> (Poll<Outcome>, Released) {
        let slot = &mut self.slots[id.index.get()];
        assert_eq!(slot.generation, id.generation, "a ticket outlived its slot");
        match slot.state {
            SlotState::Settled(outcome) => {
                self.release(id.index);
                (Poll::Ready(outcome), Released::default())
            }
            SlotState::Waiting => {
                let known = slot.waker.as_ref().is_some_and(|known| known.will_wake(waker));
                let old = if known { None } else { slot.waker.replace(waker.clone()) };
                (Poll::Pending, Released { load: None, waker: old })
            }
            SlotState::Free | SlotState::Abandoned => {
                unreachable!("a ticket holds its slot until it is read or dropped")
            }
        }
    }

    /// Reads and frees if settled.
    pub(super) fn try_take(&mut self, id: SlotId) -> Option<Outcome> {
        let slot = &mut self.slots[id.index.get()];
        assert_eq!(slot.generation, id.generation, "a ticket outlived its slot");
        let SlotState::Settled(outcome) = slot.state else { return None };
        self.release(id.index);
        Some(outcome)
    }

    /// The ticket is dropped. `true` in the answer: the job had not settled.
    pub(super) fn abandon(&mut self, id: SlotId) -> (Released, bool) {
        let slot = &mut self.slots[id.index.get()];
        assert_eq!(slot.generation, id.generation, "a ticket outlived its slot");
        let released = Released { load: None, waker: slot.waker.take() };
        match slot.state {
            SlotState::Waiting => {
                slot.state = SlotState::Abandoned;
                (released, true)
            }
            SlotState::Settled(_) => {
                self.release(id.index);
                (released, false)
            }
            SlotState::Free | SlotState::Abandoned => unreachable!("a ticket is dropped once"),
        }
    }

    fn release(&mut self, index: SlotIndex) {
        let slot = &mut self.slots[index.get()];
        slot.state = SlotState::Free;
        slot.generation = slot.generation.wrapping_add(1);
        // The free list was allocated for every slot, so this never grows it.
        self.free.push(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_aligned_to_cache_lines_and_their_head_fits_two() {
        assert_eq!(align_of::<Slot>(), 64);
        assert!(std::mem::offset_of!(Slot, signature) <= 128, "{}", std::mem::offset_of!(Slot, signature));
        assert!(size_of::<Slot>() <= 128 + SIGNATURE_MAX + 64);
    }
}
