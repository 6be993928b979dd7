//! Scalars mod the group order `L = 2^252 + c`, eight side by side: reduction of a hash, the test `S < L`, and the
//! signed digits that select table rows.
//!
//! Limbs are of radix 2^52. Columns of sums are signed 64-bit numbers of at most 2^57 in absolute value and are
//! carried with arithmetic shifts.
#![expect(clippy::needless_range_loop, reason = "one index names the same limb or lane group in several arrays")]

use super::layout::Layout;
use crate::kernel::cpu::HaveAvx512;
use crate::kernel::vector::{LANES, Mask8, U64x8};

/// The low 52 bits.
const MASK: u64 = (1 << 52) - 1;
/// `L`, limbs of 52 bits. RFC 8032 section 5.1.
const ORDER: [u64; 5] = [0x0002_631a_5cf5_d3ed, 0x000d_ea2f_79cd_6581, 0x0000_0000_0014_def9, 0, 1 << 44];
/// `c = L - 2^252`.
const C: [u64; 3] = [ORDER[0], ORDER[1], ORDER[2]];
/// `2^8 c = -2^260 mod L`.
const C_256: [u64; 3] = [C[0] << 8 & MASK, (C[1] << 8 | C[0] >> 44) & MASK, C[2] << 8 | C[1] >> 44];
/// `2^133 L`, above `2^8 c · 2^252`.
const ORDER_133: [u64; 8] = shifted_order(133);
/// `2^7 L`, above `2^8 c · 2^126`.
const ORDER_7: [u64; 8] = shifted_order(7);

/// `2^shift L` in limbs of 52 bits.
const fn shifted_order(shift: usize) -> [u64; 8] {
    let (whole, part) = (shift / 52, shift % 52);
    let mut limbs = [0; 8];
    let mut i = 0;
    while i < 5 {
        let limb = (ORDER[i] as u128) << part;
        if i + whole < 8 {
            limbs[i + whole] += limb as u64 & MASK;
        }
        if i + whole + 1 < 8 {
            limbs[i + whole + 1] += (limb >> 52) as u64;
        }
        i += 1;
    }
    limbs
}

/// Eight scalars of at most 260 bits, limbs below 2^52.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scalar([U64x8; 5]);

impl Scalar {
    /// From 256-bit numbers, little-endian words; and the lanes where the number is below `L`.
    #[inline(always)]
    pub(super) fn from_words(words: [U64x8; 4]) -> (Self, Mask8) {
        let [w0, w1, w2, w3] = words;
        let mask = w0.same(MASK);
        let limbs = [
            w0.and(mask),
            w0.shr_double::<52>(w1).and(mask),
            w1.shr_double::<40>(w2).and(mask),
            w2.shr_double::<28>(w3).and(mask),
            w3.shr::<16>(),
        ];
        // Subtracting L borrows out of the top exactly for numbers below L.
        let mut borrow = limbs[0].sub(w0.same(ORDER[0])).sar::<52>();
        for i in 1..5 {
            borrow = limbs[i].sub(w0.same(ORDER[i])).add(borrow).sar::<52>();
        }
        (Self(limbs), borrow.negative())
    }

    /// Zero in the lanes outside `mask`.
    #[inline(always)]
    #[must_use]
    pub(super) fn keep_lanes(&self, mask: Mask8) -> Self {
        let zero = self.0[0].same(0);
        let [a, b, c, d, e] = self.0;
        let keep = |limb: U64x8| zero.blend(mask, limb);
        Self([keep(a), keep(b), keep(c), keep(d), keep(e)])
    }

    /// A hash of 512 bits, little-endian words, reduced to `0..L`.
    ///
    /// The bits from 260 on are replaced by a multiple of `-2^8 c`, twice; then the bits from 252 on by one of `-c`.
    #[inline(always)]
    pub(super) fn reduce(words: [U64x8; 8]) -> Self {
        let w = words;
        let mask = w[0].same(MASK);
        let zero = w[0].same(0);
        // The upper limbs are only multiplied: what is above their 52 bits does not count.
        let low = [
            w[0].and(mask),
            w[0].shr_double::<52>(w[1]).and(mask),
            w[1].shr_double::<40>(w[2]).and(mask),
            w[2].shr_double::<28>(w[3]).and(mask),
            w[3].shr_double::<16>(w[4]).and(mask),
        ];
        let high = [
            w[4].shr::<4>(),
            w[4].shr_double::<56>(w[5]),
            w[5].shr_double::<44>(w[6]),
            w[6].shr_double::<32>(w[7]),
            w[7].shr::<20>(),
        ];

        // 0 < low + 2^133 L - 2^8 c high < 2^386: eight limbs.
        let product = times_c256(&high, zero);
        let mut y = [zero; 8];
        for i in 0..8 {
            y[i] = zero.same(ORDER_133[i]).sub(product[i]);
            if i < 5 {
                y[i] = y[i].add(low[i]);
            }
        }
        carry(&mut y, mask);

        // 0 < low + 2^7 L - 2^8 c high < 2^261: limb 5 is 0 or 1.
        let product = times_c256(&[y[5], y[6], y[7]], zero);
        let mut z = [zero; 6];
        for i in 0..6 {
            z[i] = zero.same(ORDER_7[i]).sub(product[i]);
            if i < 5 {
                z[i] = z[i].add(y[i]);
            }
        }
        carry(&mut z, mask);

        // -2^134 < (z mod 2^252) - c (z / 2^252) < 2^252.
        let quotient = z[4].shr::<44>().add(z[5].shl::<8>());
        let c = C.map(|limb| zero.same(limb));
        let mut r = [
            z[0].sub(zero.madd_lo(quotient, c[0])),
            z[1].sub(zero.madd_hi(quotient, c[0]).madd_lo(quotient, c[1])),
            z[2].sub(zero.madd_hi(quotient, c[1]).madd_lo(quotient, c[2])),
            z[3].sub(zero.madd_hi(quotient, c[2])),
            z[4].and(zero.same((1 << 44) - 1)),
        ];
        carry(&mut r, mask);
        let negative = r[4].negative();
        for i in 0..5 {
            r[i] = r[i].blend(negative, r[i].add(zero.same(ORDER[i])));
        }
        carry(&mut r, mask);
        Self(r)
    }

    /// Writes, for each digit of `layout`, which row of a table it selects, into lanes `mask` of column `half` (0: lanes
    /// 0 to 7, 1: lanes 8 to 15) of `steps`. Rows are coded as [`Layout`] says. The scalar must be below `L`.
    #[inline(always)]
    pub(super) fn digits(
        &self,
        have: HaveAvx512,
        layout: &Layout,
        mask: Mask8,
        half: usize,
        steps: &mut [[[u64; LANES]; 2]],
    ) {
        let limb_mask = self.0[0].same(MASK);
        let mut biased = self.0;
        for i in 0..5 {
            biased[i] = biased[i].add(biased[i].same(layout.bias[i]));
        }
        carry(&mut biased, limb_mask);
        let [b0, b1, b2, b3, b4] = biased;
        // Below 2^253, so the fourth word holds the rest; a zero word stands behind it for the shifts.
        let words = [
            b0.or(b1.shl::<52>()),
            b1.shr::<12>().or(b2.shl::<40>()),
            b2.shr::<24>().or(b3.shl::<28>()),
            b3.shr::<36>().or(b4.shl::<16>()),
            b0.same(0),
        ];
        for (position, step) in layout.positions().iter().zip(steps) {
            let word = position.offset as usize / 64;
            let shift = b0.same(u64::from(position.offset % 64));
            let bits = words[word].shr_double_by(words[word + 1], shift).and(b0.same(position.mask));
            let digit = bits.sub(b0.same(position.middle));
            let row = digit.abs().add(b0.same(u64::from(position.first_row)));
            let coded = row.add(row).or(digit.shr::<63>());
            let lanes = &mut step[half];
            U64x8::load(have, lanes).blend(mask, coded).store(lanes);
        }
    }
}

/// Columns of `2^8 c · high`, for up to five limbs of `high`: column `k` weighs `2^(52 k)`.
#[inline(always)]
fn times_c256<const N: usize>(high: &[U64x8; N], zero: U64x8) -> [U64x8; 8] {
    let mut columns = [zero; 8];
    for (j, limb) in C_256.into_iter().enumerate() {
        let limb = zero.same(limb);
        for i in 0..N {
            columns[i + j] = columns[i + j].madd_lo(high[i], limb);
            columns[i + j + 1] = columns[i + j + 1].madd_hi(high[i], limb);
        }
    }
    columns
}

/// Brings all limbs but the last into `0..2^52`; the last keeps the sign.
#[inline(always)]
fn carry<const N: usize>(limbs: &mut [U64x8; N], mask: U64x8) {
    for i in 0..N - 1 {
        limbs[i + 1] = limbs[i + 1].add(limbs[i].sar::<52>());
        limbs[i] = limbs[i].and(mask);
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;
    use crate::kernel::ed25519::avx512_ifma::testing::{Random, from_words, have, load, order, to_words};

    fn numbers(scalar: &Scalar) -> [BigUint; LANES] {
        let limbs = scalar.0.map(U64x8::to_array);
        std::array::from_fn(|lane| {
            limbs.iter().rev().fold(BigUint::ZERO, |number, limb| (number << 52u32) + limb[lane])
        })
    }

    #[test]
    fn constants_are_what_their_comments_say() {
        let number = |limbs: &[u64]| limbs.iter().rev().fold(BigUint::ZERO, |number, limb| (number << 52u32) + *limb);
        let c = order() - (BigUint::from(1u8) << 252u32);
        assert_eq!(number(&ORDER), order());
        assert_eq!(number(&C), c);
        assert_eq!(number(&C_256), &c << 8u32);
        assert_eq!(number(&ORDER_133), order() << 133u32);
        assert_eq!(number(&ORDER_7), order() << 7u32);
        // What keeps the two folds positive.
        assert!(number(&ORDER_133) > number(&C_256) << 252u32);
        assert!(number(&ORDER_7) > number(&C_256) << 126u32);
    }

    #[test]
    fn hashes_are_reduced_to_the_least_residue() {
        let Some(have) = have() else { return };
        let top = (BigUint::from(1u8) << 512u32) - 1u8;
        let mut cases = vec![BigUint::ZERO, top.clone()];
        // Around multiples of L: small, huge, and with few or all bits set.
        let multiples = [1u32, 2, 15, 16, 17, 255, 256].map(BigUint::from);
        let multiples = multiples.into_iter().chain((0..259u32).step_by(7).map(|bit| BigUint::from(1u8) << bit));
        for multiple in multiples.chain([&top / order(), (BigUint::from(1u8) << 259u32) - 1u8]) {
            let product = multiple * order();
            cases.extend([&product - 1u8, product.clone(), product + 1u8].into_iter().filter(|case| *case <= top));
        }
        cases.extend((0..512u32).map(|bit| BigUint::from(1u8) << bit));
        let mut random = Random(5);
        for _ in 0..3000 {
            let (low, high) = (random.scalar(), random.scalar());
            cases.push(from_words(&[low, high].concat()));
        }
        cases.resize(cases.len().next_multiple_of(LANES), BigUint::ZERO);
        for cases in cases.as_chunks::<LANES>().0 {
            let words: [[u64; 8]; LANES] = std::array::from_fn(|lane| to_words(&cases[lane]));
            for (got, case) in numbers(&Scalar::reduce(load(have, &words))).into_iter().zip(cases) {
                assert_eq!(got, case % order(), "{case:x}");
            }
        }
    }

    #[test]
    fn only_scalars_below_the_order_pass() {
        let Some(have) = have() else { return };
        let mut cases = vec![BigUint::ZERO, (BigUint::from(1u8) << 256u32) - 1u8, BigUint::from(1u8) << 252u32];
        cases.extend((1..=15u8).flat_map(|k| [order() * k - 1u8, order() * k, order() * k + 1u8]));
        let mut random = Random(6);
        cases.extend((0..2000).map(|_| from_words(&random.scalar())));
        cases.resize(cases.len().next_multiple_of(LANES), BigUint::ZERO);
        for cases in cases.as_chunks::<LANES>().0 {
            let words: [[u64; 4]; LANES] = std::array::from_fn(|lane| to_words(&cases[lane]));
            let (scalar, below) = Scalar::from_words(load(have, &words));
            for (lane, (got, case)) in numbers(&scalar).iter().zip(cases).enumerate() {
                assert_eq!(got, case);
                assert_eq!(below >> lane & 1 == 1, *case < order(), "{case:x}");
            }
            let kept = numbers(&scalar.keep_lanes(below));
            assert!(
                kept.iter().zip(cases).all(|(kept, case)| *kept == BigUint::ZERO || kept == case && *case < order())
            );
        }
    }

    #[test]
    fn digits_add_up_to_the_scalar_and_stay_in_their_rows() {
        let Some(have) = have() else { return };
        let mut cases = vec![BigUint::ZERO, BigUint::from(1u8), order() - 1u8, BigUint::from(1u8) << 252u32];
        cases.push((BigUint::from(1u8) << 252u32) - 1u8);
        let mut random = Random(7);
        cases.extend((0..499).map(|_| from_words(&random.scalar()) % order()));
        for digits in [14, 18, 20, 21, 25, 28, 32, 36, 42, 63] {
            let layout = Layout::new(digits);
            for (round, cases) in cases.as_chunks::<LANES>().0.iter().enumerate() {
                let words: [[u64; 4]; LANES] = std::array::from_fn(|lane| to_words(&cases[lane]));
                let (scalar, _) = Scalar::from_words(load(have, &words));
                let untouched = 12345;
                let mut steps = [[[untouched; LANES]; 2]; 63];
                let mask = if round % 2 == 0 { Mask8::MAX } else { 0b0101_1010 };
                scalar.digits(have, &layout, mask, 1, &mut steps);
                for lane in 0..LANES {
                    let codes = steps.map(|step| step[1][lane]);
                    assert!(steps.iter().all(|step| step[0][lane] == untouched));
                    if mask >> lane & 1 == 0 {
                        assert!(codes.iter().all(|code| *code == untouched));
                        continue;
                    }
                    assert!(codes[digits..].iter().all(|code| *code == untouched));
                    let (mut plus, mut minus) = (BigUint::ZERO, BigUint::ZERO);
                    for (position, code) in layout.positions().iter().zip(codes) {
                        let value = code / 2 - u64::from(position.first_row);
                        assert!(value <= u64::from(position.highest), "{digits} digits, {:x}", cases[lane]);
                        *if code % 2 == 0 { &mut plus } else { &mut minus } += BigUint::from(value) << position.offset;
                    }
                    assert_eq!(plus - minus, cases[lane], "{digits} digits");
                }
            }
        }
    }
}
