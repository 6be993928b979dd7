//! Arithmetic mod `p = 2^255 - 19`, eight elements side by side.
//!
//! An element is five limbs of radix 2^51; limb `i` weighs `2^(51 i)`. The multiplier takes the low 52 bits of each
//! operand and silently drops the rest, so every operand must have limbs below 2^52. The forms and their bounds:
//!
//! | form | bound of a limb | made by | used for |
//! | --- | --- | --- | --- |
//! | [`Fe`] | 2^51 + 2^17 | [`Wide::carry`], constants | operand of a product |
//! | [`Fe`], loose | 2^52 - 1 | [`Fe::negate_lanes`] | one operand of [`Fe::mul_loose`] |
//! | [`Wide`], product | 2^59 | [`Fe::mul`], [`Fe::square`] | sums |
//! | [`Wide`], loose product | 2^60 - 2^10 | [`Fe::mul_loose`] | sums |
//! | [`Wide`], any sum | 2^63 | [`Wide::add`], [`Wide::sub`] | [`Wide::carry`] |
//!
//! Why products stay below: with limbs at most `2^51 + 2^17` a low half is below 2^52 and a high half at most
//! `2^50 + 2^18`; column `k` collects its low halves, twice the high halves of column `k - 1`, and 19 times the same of
//! column `k + 5`. Column 0 is the largest: `1 + 19 (4 + 5/2) = 124.5` times 2^52, a little below 2^59. With one loose
//! operand high halves are at most `2^51 + 2^17` and column 0 is `1 + 19 (4 + 5) = 172` times 2^52. Debug builds check
//! the bounds at every call, the tests at their maxima.
//!
//! Additions and subtractions happen on [`Wide`] sums, before the carry that every product needs anyway, so they cost
//! one instruction a limb. A difference stays positive because the minuend was started from a large multiple of `p`
//! ([`BIAS`], [`BIAS_LOOSE`]), which costs nothing.

use crate::kernel::cpu::HaveAvx512;
use crate::kernel::vector::{Mask8, U64x8};

/// Limbs of an element.
pub(super) const LIMBS: usize = 5;
/// Bits of a limb.
pub(super) const RADIX: u32 = 51;
/// The low 51 bits.
pub(super) const LIMB_MASK: u64 = (1 << RADIX) - 1;
/// `2^255 mod p`.
pub(super) const FOLD: u64 = 19;

/// Highest limb of an operand of a product.
const TIGHT_MAX: u64 = (1 << 51) + (1 << 17);
/// Highest limb the multiplier takes.
const LOOSE_MAX: u64 = (1 << 52) - 1;

/// A multiple of `p`, limb by limb: `2^SHIFT p`.
const fn multiple_of_p<const SHIFT: u32>() -> [u64; LIMBS] {
    let top = LIMB_MASK << SHIFT;
    [(LIMB_MASK - (FOLD - 1)) << SHIFT, top, top, top, top]
}

/// `2^8 p`: every limb is at least any limb of a product ([`PRODUCT_MAX`]) and below 2^59.
pub(super) const BIAS: [u64; LIMBS] = multiple_of_p::<8>();
/// `2^9 p`: the same for loose products ([`LOOSE_PRODUCT_MAX`]).
pub(super) const BIAS_LOOSE: [u64; LIMBS] = multiple_of_p::<9>();
/// `0`.
pub(super) const NO_BIAS: [u64; LIMBS] = [0; LIMBS];
/// `2 p`: every limb is at least any limb of a canonical element.
const TWICE_P: [u64; LIMBS] = multiple_of_p::<1>();

/// Highest limb of a product of two tight elements.
#[cfg(debug_assertions)]
const PRODUCT_MAX: u64 = 125 << 52;
/// Highest limb of a product with one loose operand.
#[cfg(debug_assertions)]
const LOOSE_PRODUCT_MAX: u64 = 173 << 52;
/// Highest limb [`Wide::carry`] takes: its carry of at most 12 bits, times 19, leaves the limb tight.
#[cfg(debug_assertions)]
const CARRY_MAX: u64 = (1 << 63) - 1;

/// Eight field elements, ready to be multiplied. Limbs at most `2^51 + 2^17` unless a function says otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fe(pub(super) [U64x8; LIMBS]);

/// Eight sums of products that have not been carried.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wide(pub(super) [U64x8; LIMBS]);

/// Panics in debug builds if a lane of a limb is above `max`.
#[inline(always)]
fn debug_check(limbs: &[U64x8; LIMBS], max: u64) {
    if cfg!(debug_assertions) {
        let bound = limbs[0].same(max);
        for limb in limbs {
            assert!(limb.at_most(bound) == Mask8::MAX, "a limb of {limb:x?} is above its bound {max:#x}");
        }
    }
}

impl Fe {
    /// The same element in every lane. `limbs` must be tight.
    #[inline(always)]
    pub(super) fn splat(have: HaveAvx512, limbs: &[u64; LIMBS]) -> Self {
        let [a, b, c, d, e] = *limbs;
        let splat = |limb| U64x8::splat(have, limb);
        let fe = Self([splat(a), splat(b), splat(c), splat(d), splat(e)]);
        debug_check(&fe.0, TIGHT_MAX);
        fe
    }

    /// From four 64-bit words a lane, little-endian; bit 255 is ignored. Values from `p` to `2^255 - 1` are taken as
    /// they are. Limbs below 2^51.
    #[inline(always)]
    pub(super) fn unpack(words: [U64x8; 4]) -> Self {
        Self([
            unpack_limb::<0>(&words),
            unpack_limb::<1>(&words),
            unpack_limb::<2>(&words),
            unpack_limb::<3>(&words),
            unpack_limb::<4>(&words),
        ])
    }

    /// The product, uncarried: limbs below 2^59 plus `bias`, one of the constants above.
    #[inline(always)]
    pub(super) fn mul_biased(&self, other: &Self, bias: &[u64; LIMBS]) -> Wide {
        debug_check(&self.0, TIGHT_MAX);
        debug_check(&other.0, TIGHT_MAX);
        let wide = multiply(&self.0, &other.0, bias);
        #[cfg(debug_assertions)]
        debug_check(&wide.0, PRODUCT_MAX + bias[1]);
        wide
    }

    /// The product, uncarried: limbs below 2^59.
    #[inline(always)]
    pub(super) fn mul_wide(&self, other: &Self) -> Wide {
        self.mul_biased(other, &NO_BIAS)
    }

    /// The product with an `other` whose limbs may reach 2^52 - 1: limbs below `173 · 2^52`.
    #[inline(always)]
    pub(super) fn mul_loose(&self, other: &Self) -> Wide {
        debug_check(&self.0, TIGHT_MAX);
        debug_check(&other.0, LOOSE_MAX);
        let wide = multiply(&self.0, &other.0, &NO_BIAS);
        #[cfg(debug_assertions)]
        debug_check(&wide.0, LOOSE_PRODUCT_MAX);
        wide
    }

    /// The product, carried.
    #[inline(always)]
    #[must_use]
    pub(super) fn mul(&self, other: &Self) -> Self {
        self.mul_wide(other).carry()
    }

    /// The square, uncarried, limbs below 2^59 plus `bias`: 30 multiply-adds instead of 50.
    #[inline(always)]
    pub(super) fn square_biased(&self, bias: &[u64; LIMBS]) -> Wide {
        debug_check(&self.0, TIGHT_MAX);
        let wide = square(&self.0, bias);
        #[cfg(debug_assertions)]
        debug_check(&wide.0, PRODUCT_MAX + bias[1]);
        wide
    }

    /// The square, carried.
    #[inline(always)]
    #[must_use]
    pub(super) fn square(&self) -> Self {
        self.square_biased(&NO_BIAS).carry()
    }

    /// The square of the square and so on, `count` times; `count` is at least 1.
    #[inline(always)]
    #[must_use]
    pub(super) fn square_times(&self, count: u32) -> Self {
        let mut result = self.square();
        for _ in 1..count {
            result = result.square();
        }
        result
    }

    /// Panics in debug builds if the element is not tight.
    #[inline(always)]
    pub(super) fn debug_check_tight(&self) {
        debug_check(&self.0, TIGHT_MAX);
    }

    /// Panics in debug builds if the element is not even loose.
    #[inline(always)]
    pub(super) fn debug_check_loose(&self) {
        debug_check(&self.0, LOOSE_MAX);
    }

    /// The element as a sum to subtract a loose product from: limbs plus [`BIAS_LOOSE`].
    #[inline(always)]
    pub(super) fn widen_biased(&self) -> Wide {
        let same = |i: usize| self.0[i].add(self.0[i].same(BIAS_LOOSE[i]));
        Wide([same(0), same(1), same(2), same(3), same(4)])
    }

    /// The element as a sum to add to. Limbs as they are.
    #[inline(always)]
    pub(super) fn widen(&self) -> Wide {
        Wide(self.0)
    }

    /// In the lanes of `mask` the negative, in the others the element itself. The element must have limbs below 2^51;
    /// the result is loose (limbs up to 2^52 - 1).
    #[inline(always)]
    #[must_use]
    pub(super) fn negate_lanes(&self, mask: Mask8) -> Self {
        debug_check(&self.0, LIMB_MASK);
        let a = &self.0;
        Self([
            negate_limb::<0>(a[0], mask),
            negate_limb::<1>(a[1], mask),
            negate_limb::<2>(a[2], mask),
            negate_limb::<3>(a[3], mask),
            negate_limb::<4>(a[4], mask),
        ])
    }

    /// The sum, carried.
    #[inline(always)]
    #[must_use]
    pub(super) fn add(&self, other: &Self) -> Self {
        self.widen().add(&other.widen()).carry()
    }

    /// The difference, carried.
    #[inline(always)]
    #[must_use]
    pub(super) fn sub(&self, other: &Self) -> Self {
        let [a, b, c, d, e] = BIAS;
        let same = |limb| self.0[0].same(limb);
        let bias = Wide([same(a), same(b), same(c), same(d), same(e)]);
        bias.add(&self.widen()).sub(&other.widen()).carry()
    }

    /// Lanes where both are the same element mod `p`.
    #[inline(always)]
    pub(super) fn equal(&self, other: &Self) -> Mask8 {
        let (a, b) = (self.pack(), other.pack());
        a[0].equal(b[0]) & a[1].equal(b[1]) & a[2].equal(b[2]) & a[3].equal(b[3])
    }

    /// Lanes of `other` where `mask` is set.
    #[inline(always)]
    #[must_use]
    pub(super) fn blend(&self, mask: Mask8, other: &Self) -> Self {
        let (a, b) = (&self.0, &other.0);
        Self([
            a[0].blend(mask, b[0]),
            a[1].blend(mask, b[1]),
            a[2].blend(mask, b[2]),
            a[3].blend(mask, b[3]),
            a[4].blend(mask, b[4]),
        ])
    }

    /// Every limb through `lanes`, a permutation of lanes.
    #[inline(always)]
    #[must_use]
    pub(super) fn permute(&self, lanes: impl Fn(U64x8) -> U64x8) -> Self {
        let [a, b, c, d, e] = self.0;
        Self([lanes(a), lanes(b), lanes(c), lanes(d), lanes(e)])
    }

    /// The canonical element, below `p`, as four 64-bit words a lane.
    #[inline(always)]
    pub(super) fn pack(&self) -> [U64x8; 4] {
        debug_check(&self.0, LOOSE_MAX);
        let [mut l0, mut l1, mut l2, mut l3, mut l4] = self.0;
        let mask = l0.same(LIMB_MASK);
        let nineteen = l0.same(FOLD);
        // Two sweeps bring any value below 2^256 below 2^255 (the second carries out at most once, and then limb 0 is
        // far from full).
        for _ in 0..2 {
            l1 = l1.add(l0.shr::<51>());
            l2 = l2.add(l1.shr::<51>());
            l3 = l3.add(l2.shr::<51>());
            l4 = l4.add(l3.shr::<51>());
            l0 = l0.and(mask).madd_lo(l4.shr::<51>(), nineteen);
            (l1, l2, l3, l4) = (l1.and(mask), l2.and(mask), l3.and(mask), l4.and(mask));
        }
        // The value is at least p exactly if adding 19 carries out of bit 255.
        let carry = l0.add(nineteen).shr::<51>();
        let carry = l1.add(carry).shr::<51>();
        let carry = l2.add(carry).shr::<51>();
        let carry = l3.add(carry).shr::<51>();
        let carry = l4.add(carry).shr::<51>();
        l0 = l0.madd_lo(carry, nineteen);
        l1 = l1.add(l0.shr::<51>());
        l2 = l2.add(l1.shr::<51>());
        l3 = l3.add(l2.shr::<51>());
        l4 = l4.add(l3.shr::<51>()).and(mask);
        (l0, l1, l2, l3) = (l0.and(mask), l1.and(mask), l2.and(mask), l3.and(mask));
        [
            l0.or(l1.shl::<51>()),
            l1.shr::<13>().or(l2.shl::<38>()),
            l2.shr::<26>().or(l3.shl::<25>()),
            l3.shr::<39>().or(l4.shl::<12>()),
        ]
    }

    /// `self^((p - 5) / 8) = self^(2^252 - 3)`, the chain behind square roots: 251 squarings, 11 products.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512ifma")]
    #[must_use]
    pub(super) fn power_p58(&self) -> Self {
        let x1 = *self;
        let x2 = x1.square();
        let x9 = x2.square_times(2).mul(&x1);
        let x11 = x9.mul(&x2);
        let ones_5 = x11.square().mul(&x9);
        let ones_10 = ones_5.square_times(5).mul(&ones_5);
        let ones_20 = ones_10.square_times(10).mul(&ones_10);
        let ones_40 = ones_20.square_times(20).mul(&ones_20);
        let ones_50 = ones_40.square_times(10).mul(&ones_10);
        let ones_100 = ones_50.square_times(50).mul(&ones_50);
        let ones_200 = ones_100.square_times(100).mul(&ones_100);
        let ones_250 = ones_200.square_times(50).mul(&ones_50);
        ones_250.square_times(2).mul(&x1)
    }
}

impl Wide {
    /// Sum.
    #[inline(always)]
    #[must_use]
    pub(super) fn add(&self, other: &Self) -> Self {
        let (a, b) = (&self.0, &other.0);
        Self([a[0].add(b[0]), a[1].add(b[1]), a[2].add(b[2]), a[3].add(b[3]), a[4].add(b[4])])
    }

    /// Difference; every limb of `self` must be at least the limb of `other`.
    #[inline(always)]
    #[must_use]
    pub(super) fn sub(&self, other: &Self) -> Self {
        if cfg!(debug_assertions) {
            for (a, b) in self.0.iter().zip(&other.0) {
                assert!(b.at_most(*a) == Mask8::MAX, "{a:?} - {b:?}");
            }
        }
        let (a, b) = (&self.0, &other.0);
        Self([a[0].sub(b[0]), a[1].sub(b[1]), a[2].sub(b[2]), a[3].sub(b[3]), a[4].sub(b[4])])
    }

    /// One parallel carry. Limbs below 2^63 in, at most `2^51 + 2^17` out.
    #[inline(always)]
    pub(super) fn carry(&self) -> Fe {
        #[cfg(debug_assertions)]
        debug_check(&self.0, CARRY_MAX);
        let x = &self.0;
        let mask = x[0].same(LIMB_MASK);
        let fe = Fe([
            x[0].and(mask).madd_lo(x[4].shr::<RADIX>(), x[0].same(FOLD)),
            x[1].and(mask).add(x[0].shr::<RADIX>()),
            x[2].and(mask).add(x[1].shr::<RADIX>()),
            x[3].and(mask).add(x[2].shr::<RADIX>()),
            x[4].and(mask).add(x[3].shr::<RADIX>()),
        ]);
        debug_check(&fe.0, TIGHT_MAX);
        fe
    }
}

/// Limb `I` of [`Fe::negate_lanes`]: `2p` has at least 2^52 - 38 there, so a limb below 2^51 stays positive.
#[inline(always)]
pub(super) fn negate_limb<const I: usize>(limb: U64x8, mask: Mask8) -> U64x8 {
    limb.mask_sub(mask, limb.same(TWICE_P[I]), limb)
}

/// Limb `I` of a number in four 64-bit words. Two shifts instead of one double shift: on some CPUs that one takes a
/// multiplier's place.
#[inline(always)]
pub(super) fn unpack_limb<const I: usize>(words: &[U64x8; 4]) -> U64x8 {
    let mask = words[0].same(LIMB_MASK);
    match I {
        0 => words[0].and(mask),
        1 => words[0].shr::<51>().ternary::<OR_THEN_AND>(words[1].shl::<13>(), mask),
        2 => words[1].shr::<38>().ternary::<OR_THEN_AND>(words[2].shl::<26>(), mask),
        3 => words[2].shr::<25>().ternary::<OR_THEN_AND>(words[3].shl::<39>(), mask),
        _ => words[3].shr::<12>().and(mask),
    }
}

/// Function of [`U64x8::ternary`]: `(a | b) & c`.
const OR_THEN_AND: i32 = 0b1010_1000;

/// `low + 19 high`.
#[inline(always)]
pub(super) fn fold(low: U64x8, high: U64x8) -> U64x8 {
    low.add(high).add(high.shl::<1>()).add(high.shl::<4>())
}

#[inline(always)]
fn multiply(a: &[U64x8; LIMBS], b: &[U64x8; LIMBS], bias: &[u64; LIMBS]) -> Wide {
    let zero = a[0].same(0);
    let start = |k: usize| if bias[k] == 0 { zero } else { zero.same(bias[k] / 2) };
    // High halves: `h[k]` sums those of limb pairs with `i + j = k` and weighs twice limb `k + 1`.
    let mut h = [start(1), start(2), start(3), start(4), zero, zero, zero, zero, zero];
    for i in 0..LIMBS {
        for j in 0..LIMBS {
            h[i + j] = h[i + j].madd_hi(a[i], b[j]);
        }
    }
    // Low halves on top of the doubled high halves.
    let first = if bias[0] == 0 { zero } else { zero.same(bias[0]) };
    let mut c = [
        first,
        h[0].add(h[0]),
        h[1].add(h[1]),
        h[2].add(h[2]),
        h[3].add(h[3]),
        h[4].add(h[4]),
        h[5].add(h[5]),
        h[6].add(h[6]),
        h[7].add(h[7]),
        h[8].add(h[8]),
    ];
    for i in (0..LIMBS).rev() {
        for j in (0..LIMBS).rev() {
            c[i + j] = c[i + j].madd_lo(a[i], b[j]);
        }
    }
    Wide([fold(c[0], c[5]), fold(c[1], c[6]), fold(c[2], c[7]), fold(c[3], c[8]), fold(c[4], c[9])])
}

#[inline(always)]
fn square(a: &[U64x8; LIMBS], bias: &[u64; LIMBS]) -> Wide {
    let zero = a[0].same(0);
    let double = |x: U64x8| x.add(x);
    // Each pair i < j counts twice: double the sum of pairs, then add the squares.
    let mut h = [zero; 2 * LIMBS - 1];
    for i in 0..LIMBS {
        for j in i + 1..LIMBS {
            h[i + j] = h[i + j].madd_hi(a[i], a[j]);
        }
    }
    for sum in &mut h[1..2 * LIMBS - 2] {
        *sum = double(*sum);
    }
    for i in 0..LIMBS {
        h[2 * i] = h[2 * i].madd_hi(a[i], a[i]);
    }
    // Low pairs start from the high halves one column below, which count twice as well.
    let mut c = [zero, h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7], h[8]];
    for i in 0..LIMBS {
        for j in i + 1..LIMBS {
            c[i + j] = c[i + j].madd_lo(a[i], a[j]);
        }
    }
    for sum in &mut c[1..] {
        *sum = double(*sum);
    }
    for i in 0..LIMBS {
        c[2 * i] = c[2 * i].madd_lo(a[i], a[i]);
    }
    let start = |k: usize| if bias[k] == 0 { c[k] } else { c[k].add(zero.same(bias[k])) };
    Wide([fold(start(0), c[5]), fold(start(1), c[6]), fold(start(2), c[7]), fold(start(3), c[8]), fold(start(4), c[9])])
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;
    use crate::kernel::ed25519::avx512_ifma::testing::{Random, element, from_words, have, load, p, to_words, values};
    use crate::kernel::vector::LANES;

    const ROUNDS: u64 = 400;

    fn limbs(random: &mut Random, max: u64) -> [[u64; LIMBS]; LANES] {
        std::array::from_fn(|_| std::array::from_fn(|_| random.limb(max)))
    }

    fn assert_limbs_at_most(limbs: &[U64x8; LIMBS], max: u64, seed: u64) {
        assert!(limbs.iter().all(|limb| limb.to_array().iter().all(|lane| *lane <= max)), "seed {seed}: {limbs:?}");
    }

    #[test]
    fn products_and_sums_are_right_up_to_the_bounds_of_their_limbs() {
        let Some(have) = have() else { return };
        let p = p();
        for seed in 0..ROUNDS {
            let mut random = Random(seed);
            let (a, b) = (limbs(&mut random, TIGHT_MAX), limbs(&mut random, TIGHT_MAX));
            // Round 0: all limbs at the bound.
            let (a, b) = if seed == 0 { ([[TIGHT_MAX; LIMBS]; LANES], [[TIGHT_MAX; LIMBS]; LANES]) } else { (a, b) };
            let (a, b) = (element(have, &a), element(have, &b));
            let loose =
                element(have, &if seed == 0 { [[LOOSE_MAX; LIMBS]; LANES] } else { limbs(&mut random, LOOSE_MAX) });
            let (na, nb, nl) = (values(&a.0), values(&b.0), values(&loose.0));
            let product = a.mul_wide(&b);
            let results = [
                (a.mul(&b), "mul"),
                (a.square(), "square"),
                (a.mul_loose(&loose).carry(), "mul_loose"),
                (a.add(&b), "add"),
                (a.sub(&b), "sub"),
                (a.mul_biased(&b, &BIAS).sub(&product).carry(), "x y - x y"),
                (a.mul_biased(&b, &BIAS_LOOSE).sub(&a.mul_loose(&loose)).carry(), "x y - x l"),
                (a.square_biased(&BIAS).add(&product).carry(), "x x + x y"),
            ];
            for (result, what) in results {
                assert_limbs_at_most(&result.0, TIGHT_MAX, seed);
                for (lane, got) in values(&result.0).iter().enumerate() {
                    let (x, y, l) = (&na[lane], &nb[lane], &nl[lane]);
                    let want = match what {
                        "mul" => x * y,
                        "square" => x * x,
                        "mul_loose" => x * l,
                        "add" => x + y,
                        "sub" => x + &p * 8u8 - y,
                        "x y - x y" => BigUint::ZERO,
                        "x y - x l" => x * y + x * (&p * 8u8 - l),
                        _ => x * x + x * y,
                    };
                    assert_eq!(got % &p, want % &p, "seed {seed}, lane {lane}: {what} of {x:x}, {y:x}, {l:x}");
                }
            }
        }
    }

    #[test]
    fn a_carry_takes_limbs_up_to_its_bound() {
        let Some(have) = have() else { return };
        for seed in 0..ROUNDS {
            let mut random = Random(seed);
            let wide = Wide(element(have, &limbs(&mut random, CARRY_MAX)).0);
            let fe = wide.carry();
            assert_limbs_at_most(&fe.0, TIGHT_MAX, seed);
            for (got, want) in values(&fe.0).iter().zip(values(&wide.0)) {
                assert_eq!(got % p(), want % p(), "seed {seed}");
            }
        }
    }

    #[test]
    fn negation_takes_the_lanes_of_its_mask() {
        let Some(have) = have() else { return };
        for seed in 0..ROUNDS {
            let mut random = Random(seed);
            let a = element(have, &limbs(&mut random, LIMB_MASK));
            let mask = random.next() as u8;
            let got = a.negate_lanes(mask);
            assert_limbs_at_most(&got.0, LOOSE_MAX, seed);
            for (lane, (got, a)) in values(&got.0).iter().zip(values(&a.0)).enumerate() {
                let want = if mask >> lane & 1 == 1 { p() * 2u8 - a } else { a };
                assert_eq!(got % p(), want % p(), "seed {seed}, lane {lane}");
            }
        }
    }

    #[test]
    fn packing_gives_the_canonical_words() {
        let Some(have) = have() else { return };
        let mut cases: Vec<[u64; LIMBS]> = vec![[LOOSE_MAX; LIMBS], [0; LIMBS], [LIMB_MASK; LIMBS]];
        // p - 1, p, p + 1 and so on, with all carries still to be done and without.
        for offset in 0..40 {
            let low = LIMB_MASK - 38 + offset;
            cases.push([low, LIMB_MASK, LIMB_MASK, LIMB_MASK, LIMB_MASK]);
            cases.push([low, 2 * LIMB_MASK, LIMB_MASK - 1, LIMB_MASK, LIMB_MASK]);
        }
        let mut random = Random(1);
        cases.extend((0..2000).map(|_| std::array::from_fn(|_| random.limb(LOOSE_MAX))));
        for cases in cases.as_chunks::<LANES>().0 {
            let fe = element(have, cases);
            let words = fe.pack().map(U64x8::to_array);
            for (lane, want) in values(&fe.0).iter().enumerate() {
                assert_eq!(words.map(|word| word[lane]), to_words(&(want % p())), "{:x?}", cases[lane]);
            }
        }
    }

    #[test]
    fn unpacking_keeps_all_bits_but_the_last() {
        let Some(have) = have() else { return };
        for seed in 0..ROUNDS {
            let mut random = Random(seed);
            let words: [[u64; 4]; LANES] = std::array::from_fn(|_| random.scalar());
            let fe = Fe::unpack(load(have, &words));
            assert_limbs_at_most(&fe.0, LIMB_MASK, seed);
            for (got, mut words) in values(&fe.0).into_iter().zip(words) {
                words[3] &= u64::MAX >> 1;
                assert_eq!(got, from_words(&words), "seed {seed}");
            }
        }
    }

    #[test]
    fn the_power_behind_square_roots_has_the_right_exponent() {
        let Some(have) = have() else { return };
        let mut random = Random(3);
        let fe = element(have, &limbs(&mut random, TIGHT_MAX));
        #[expect(unsafe_code, reason = "entry into code compiled for more than the build's baseline")]
        // SAFETY: `have` exists only where detection found every feature.
        let got = unsafe { fe.power_p58() };
        let exponent = (p() - 5u8) / 8u8;
        for (got, base) in values(&got.0).iter().zip(values(&fe.0)) {
            assert_eq!(got % p(), base.modpow(&exponent, &p()));
        }
    }
}
