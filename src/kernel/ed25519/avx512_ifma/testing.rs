//! What the tests of this folder share: big integers, reproducible random numbers, the proof.

use num_bigint::BigUint;

use super::field::{Fe, LIMBS};
use crate::kernel::cpu::HaveAvx512;
use crate::kernel::vector::{LANES, U64x8};

/// The proof, or a note that the test had nothing to test.
pub(super) fn have() -> Option<HaveAvx512> {
    let have = HaveAvx512::detect();
    if have.is_none() {
        eprintln!("skipped: this CPU lacks {}", HaveAvx512::NEEDS);
    }
    have
}

/// `p`.
pub(super) fn p() -> BigUint {
    (BigUint::from(1u8) << 255u32) - 19u8
}

/// `L`.
pub(super) fn order() -> BigUint {
    (BigUint::from(1u8) << 252u32) + BigUint::parse_bytes(b"27742317777372353535851937790883648493", 10).unwrap()
}

/// A number from little-endian words.
pub(super) fn from_words(words: &[u64]) -> BigUint {
    words.iter().rev().fold(BigUint::ZERO, |number, word| (number << 64u32) + *word)
}

/// Little-endian words of a number that fits.
pub(super) fn to_words<const N: usize>(number: &BigUint) -> [u64; N] {
    let digits = number.to_u64_digits();
    assert!(digits.len() <= N);
    std::array::from_fn(|i| digits.get(i).copied().unwrap_or(0))
}

/// Words of eight numbers as registers.
pub(super) fn load<const N: usize>(have: HaveAvx512, numbers: &[[u64; N]; LANES]) -> [U64x8; N] {
    std::array::from_fn(|i| U64x8::load(have, &std::array::from_fn(|lane| numbers[lane][i])))
}

/// The numbers of eight lanes of limbs of radix 2^51, whatever the size of the limbs.
pub(super) fn values(limbs: &[U64x8; LIMBS]) -> [BigUint; LANES] {
    let limbs = limbs.map(U64x8::to_array);
    std::array::from_fn(|lane| limbs.iter().rev().fold(BigUint::ZERO, |number, limb| (number << 51u32) + limb[lane]))
}

/// Eight elements from limbs.
pub(super) fn element(have: HaveAvx512, limbs: &[[u64; LIMBS]; LANES]) -> Fe {
    Fe(load(have, limbs))
}

/// SplitMix64: small, fast, reproducible from the seed, which a failing test shows.
#[derive(Clone, Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Below `bound`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Often an edge of `0..=max`, else anything in it.
    pub(super) fn limb(&mut self, max: u64) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => max,
            2 => max.saturating_sub(self.next() % 32),
            3 => (1 << 51) - 1 - self.next() % 32,
            4 => self.next() % 32,
            _ => self.next() % (max + 1),
        }
        .min(max)
    }

    /// A 256-bit number with structure: long runs of equal bits, digits at their extremes, or anything.
    pub(super) fn scalar(&mut self) -> [u64; 4] {
        let pattern = [0, u64::MAX, 0x8080_8080_8080_8080, 0x7f7f_7f7f_7f7f_7f7f, 0x8000_0000_0000_0000, 1];
        std::array::from_fn(|_| if self.below(2) == 0 { pattern[self.below(pattern.len())] } else { self.next() })
    }
}
