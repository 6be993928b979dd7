//! How much of a key's arithmetic is done ahead of use.

/// Size of a key's table of prepared multiples. More memory, fewer additions a signature.
///
/// A kernel in lanes verifies with any tier, and the answer never depends on it. Keys of families without such tables
/// have no tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// No table: the key is read as it is, and every signature costs doublings.
    Bare,
    /// What a key gets when it is loaded: some 60 KiB, ready in a fraction of a millisecond.
    Small,
    /// Some 230 KiB: for many keys in turn.
    Medium,
    /// Some 2 MiB: for a key with steady traffic.
    Large,
    /// Some 4 MiB: for the few keys that carry most of the traffic.
    Full,
}

impl Tier {
    /// Every tier, smallest first.
    pub const ALL: [Self; 5] = [Self::Bare, Self::Small, Self::Medium, Self::Large, Self::Full];

    /// Stable lower-case name, as in metrics and `verilane cpu`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
            Self::Full => "full",
        }
    }
}

impl std::fmt::Display for Tier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
