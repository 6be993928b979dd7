//! Layer 0: the signature checks themselves. Owns CPU proofs, schemes, the registry of kernels, their self-test and
//! prepared keys. Knows nothing of JSON, JWT, threads or time, and uses nothing else in the crate.
//!
//! A *scheme* is one exact cryptographic check. A *kernel* is one scheme on one instruction set (its *backend*). All
//! kernels of a scheme give the same answer for every input, hostile ones included; `portable` is the oracle.
//!
//! To add a kernel: write the folder, export its entry in the family's `ENTRIES` (best first, portable last), and add
//! the family to [`REGISTRY`] if it is new. Selection, forcing by name, the start-up self-test, the differential tests,
//! benchmark rows and metric labels walk the registry.

pub mod cpu;
mod ecdsa;
pub mod ecdsa_p256;
pub mod ecdsa_p384;
pub mod ecdsa_p521;
pub mod ecdsa_secp256k1;
pub mod ed25519;
pub mod hmac;
mod key;
mod known_answers;
mod registry;
pub mod rsa;
mod scheme;
mod self_test;
mod sha512;
mod tier;
mod vector;
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
pub mod x86_tsc;

pub use key::{KeyError, PreparedKey};
pub use registry::{Entry, KernelTable, REGISTRY, SelectError, Selection, available, entries};
pub use scheme::Scheme;
pub use self_test::{KatFailure, self_test};
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
pub use sha512::avx512_x8::Sha512Lanes;
pub use tier::Tier;

use std::any::Any;

/// How many jobs one lane group carries: two interleaved groups of eight 64-bit lanes, or sixteen 32-bit lanes.
pub const GROUP_WIDTH: usize = 16;

/// The longest signature any scheme has, in bytes: RSA with an 8192-bit modulus.
pub const SIGNATURE_MAX: usize = 1024;

/// One signature check as a kernel sees it. Everything is borrowed; the scheme is the kernel's.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The key. A key of another family than the kernel's scheme is never accepted (and never panics).
    pub key: &'a PreparedKey,
    /// The signed bytes: the signing input of a JWS, or the raw message.
    pub message: &'a [u8],
    /// The signature or MAC in its JWA form: R || S, r || s of fixed length, big-endian RSA integer, whole tag.
    pub signature: &'a [u8],
}

/// One bit a lane; bit `i` belongs to lane `i`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct LaneMask(u16);

impl LaneMask {
    /// No lane.
    pub const NONE: Self = Self(0);

    /// A mask from its bits, lane 0 in the lowest.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// The first `count` lanes. `count` is at most [`GROUP_WIDTH`].
    #[must_use]
    pub const fn first(count: usize) -> Self {
        assert!(count <= GROUP_WIDTH);
        if count == GROUP_WIDTH { Self(u16::MAX) } else { Self((1 << count) - 1) }
    }

    /// The bits, lane 0 in the lowest.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether lane `lane` is set. False for lanes that do not exist.
    #[must_use]
    pub const fn contains(self, lane: usize) -> bool {
        lane < GROUP_WIDTH && self.0 >> lane & 1 == 1
    }

    /// How many lanes are set.
    #[must_use]
    pub const fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The same mask with lane `lane` (below [`GROUP_WIDTH`]) set if `value`.
    #[must_use]
    pub const fn with(self, lane: usize, value: bool) -> Self {
        assert!(lane < GROUP_WIDTH);
        if value { Self(self.0 | 1 << lane) } else { Self(self.0 & !(1 << lane)) }
    }
}

impl std::ops::BitAnd for LaneMask {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl std::fmt::Debug for LaneMask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LaneMask({:#018b})", self.0)
    }
}

/// Working memory of one kernel on one thread. Made by [`Kernel::scratch`], kept in the engine's context.
#[derive(Default)]
pub struct Scratch(Option<Box<dyn Any + Send>>);

impl Scratch {
    /// Scratch that holds `value`.
    #[must_use]
    pub fn new<T: Any + Send>(value: T) -> Self {
        Self(Some(Box::new(value)))
    }

    /// No working memory: what portable kernels need.
    #[must_use]
    pub const fn none() -> Self {
        Self(None)
    }

    /// The value inside, if it is a `T`.
    pub fn get_mut<T: Any>(&mut self) -> Option<&mut T> {
        self.0.as_mut()?.downcast_mut()
    }
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Scratch(..)" } else { "Scratch(none)" })
    }
}

/// One scheme on one instruction set.
///
/// Every lane computes its own exact equation: bit `i` of the answer depends on `jobs[i]` alone, never on the other
/// jobs, on their number or on the lane.
pub trait Kernel: Send + Sync + std::fmt::Debug {
    /// How many lanes run side by side: 1 for portable kernels, up to [`GROUP_WIDTH`].
    fn lanes(&self) -> usize;

    /// Working memory for one thread. The engine makes it once, at start.
    fn scratch(&self) -> Scratch {
        Scratch::none()
    }

    /// Answers one lane group of 0 to [`GROUP_WIDTH`] jobs; bits from `jobs.len()` on are zero.
    ///
    /// `scratch` comes from this kernel's [`Kernel::scratch`]. Does not allocate on the caller's behalf per job where
    /// the backend can avoid it, and never panics on what a job holds.
    ///
    /// # Panics
    /// If `jobs` holds more than [`GROUP_WIDTH`] jobs, which is a fault of the caller.
    fn run(&self, scratch: &mut Scratch, jobs: &[Job<'_>]) -> LaneMask;

    /// Answers any number of jobs as lane groups of [`GROUP_WIDTH`] (the last may be shorter): `masks[k]` becomes what
    /// [`Kernel::run`] says of the `k`-th group. Backends share work between the groups of a long run where that pays;
    /// the answers are the same.
    ///
    /// # Panics
    /// If `masks` has fewer entries than there are groups, which is a fault of the caller.
    fn run_many(&self, scratch: &mut Scratch, jobs: &[Job<'_>], masks: &mut [LaneMask]) {
        assert_masks(jobs, masks);
        for (group, mask) in jobs.chunks(GROUP_WIDTH).zip(masks) {
            *mask = self.run(scratch, group);
        }
    }
}

/// Panics if there are fewer masks than lane groups: no job may go unanswered.
pub(crate) fn assert_masks(jobs: &[Job<'_>], masks: &[LaneMask]) {
    assert!(masks.len() >= jobs.len().div_ceil(GROUP_WIDTH), "{} masks for {} jobs", masks.len(), jobs.len());
}

/// Runs `check` over the jobs one by one: the body of every kernel of width one.
pub(crate) fn run_each(jobs: &[Job<'_>], mut check: impl FnMut(&Job<'_>) -> bool) -> LaneMask {
    assert!(jobs.len() <= GROUP_WIDTH, "a lane group holds {GROUP_WIDTH} jobs, not {}", jobs.len());
    jobs.iter().enumerate().fold(LaneMask::NONE, |mask, (lane, job)| mask.with(lane, check(job)))
}
