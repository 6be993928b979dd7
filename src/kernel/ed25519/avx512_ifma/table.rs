//! Prepared tables: every digit's multiples of a point, so that verification needs no doublings.
//!
//! Tables are built in lanes, eight digit positions side by side, in well under a microsecond a row.

use super::batch_inverse::invert_all;
use super::constants::{BASE_POINT, D2, ONE};
use super::encoding::decode;
use super::field::Fe;
use super::layout::Layout;
use super::point::{NEUTRAL_ROW, Point};
use super::rows::Rows;
use crate::kernel::cpu::HaveAvx512;
use crate::kernel::vector::{LANES, Row, U64x8};

/// Multiples computed between two inversions.
const CHUNK: usize = 64;

/// The multiples of one point, laid out as its [`Layout`] says.
pub(in crate::kernel::ed25519) struct Table {
    layout: &'static Layout,
    rows: Rows,
}

impl Table {
    /// The table of the base point.
    pub(super) fn of_base_point(have: HaveAvx512, layout: &'static Layout) -> Self {
        let point = AffinePoint::decode(have, &BASE_POINT);
        Self::build(have, &point, layout)
    }

    /// The table of `point`.
    pub(super) fn build(have: HaveAvx512, point: &AffinePoint, layout: &'static Layout) -> Self {
        #[expect(unsafe_code, reason = "entry into code compiled for more than the build's baseline")]
        // SAFETY: `have` exists only where detection found every feature that `rows` enables.
        let rows = unsafe { rows(have, point, layout) };
        Self { layout, rows }
    }

    /// Which digits the rows belong to.
    pub(super) fn layout(&self) -> &'static Layout {
        self.layout
    }

    /// The rows.
    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Memory of a table of that layout.
    pub(super) fn bytes(layout: &Layout) -> usize {
        Rows::bytes(layout.rows)
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table({} digits, {} rows)", self.layout.digits(), self.rows.len())
    }
}

/// An affine point, canonical coordinates as little-endian words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::kernel::ed25519) struct AffinePoint {
    pub(super) x: [u64; 4],
    pub(super) y: [u64; 4],
}

impl AffinePoint {
    /// The neutral element.
    pub(super) const NEUTRAL: Self = Self { x: [0; 4], y: [1, 0, 0, 0] };

    /// From the encoding of a point that is known to be on the curve.
    pub(super) fn decode(have: HaveAvx512, encoded: &[u8; 32]) -> Self {
        let (words, _) = encoded.as_chunks::<8>();
        let words = std::array::from_fn(|i| U64x8::splat(have, u64::from_le_bytes(words[i])));
        #[expect(unsafe_code, reason = "entry into code compiled for more than the build's baseline")]
        // SAFETY: `have` exists only where detection found every feature that `decode` enables.
        let decoded = unsafe { decode(have, words) };
        debug_assert_eq!(decoded.on_curve, u8::MAX);
        let first = |fe: &Fe| fe.pack().map(|word| word.to_array()[0]);
        Self { x: first(&decoded.x), y: first(&decoded.y) }
    }

    /// The opposite point.
    pub(super) fn negate(&self, have: HaveAvx512) -> Self {
        let zero = Fe::splat(have, &[0; 5]);
        let x = zero.sub(&Fe::unpack(self.x.map(|word| U64x8::splat(have, word))));
        Self { x: x.pack().map(|word| word.to_array()[0]), y: self.y }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512ifma")]
fn rows(have: HaveAvx512, point: &AffinePoint, layout: &Layout) -> Rows {
    let splat = |words: [u64; 4]| Fe::unpack(words.map(|word| U64x8::splat(have, word)));
    let mut power = Point::from_affine(have, &splat(point.x), &splat(point.y));
    let mut rows = Rows::zeroed(layout.rows);
    for position in layout.positions() {
        rows[position.first_row as usize] = NEUTRAL_ROW;
    }
    let mut bits = 0;
    for positions in layout.positions().chunks(LANES) {
        // Lane i: 2^offset times the point, for the i-th position of this chunk.
        let mut bases = Point::neutral(have);
        for (lane, position) in positions.iter().enumerate() {
            while bits < position.offset {
                power = double(&power);
                bits += 1;
            }
            bases = bases.blend(1 << lane, &power);
        }
        let step = bases.cached(have);
        let highest = positions.iter().map(|position| position.highest).max().unwrap_or(0);
        let mut multiple = bases;
        let mut first = 1;
        while first <= highest {
            let count = CHUNK.min((highest - first + 1) as usize);
            let mut points = [Point::neutral(have); CHUNK];
            let mut w = [Fe::splat(have, &ONE); CHUNK];
            let mut products = w;
            for (point, w) in points[..count].iter_mut().zip(&mut w) {
                *point = multiple;
                let z = multiple.carried_z();
                *w = z.add(&z);
                multiple = multiple.add_cached(&step);
            }
            invert_all(have, &mut w[..count], &mut products);
            for (j, (point, w)) in points[..count].iter().zip(&w).enumerate() {
                let words = affine_row(have, point, w);
                let j = first + j as u32;
                for (lane, position) in positions.iter().enumerate() {
                    if j <= position.highest {
                        let word = |side: usize| std::array::from_fn(|i| words[side][i][lane]);
                        rows[(position.first_row + j) as usize] = Row { sides: [word(0), word(1)], third: word(2) };
                    }
                }
            }
            first += count as u32;
        }
    }
    rows
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512ifma")]
fn double(point: &Point) -> Point {
    point.double()
}

/// The rows of eight points, `w = 1 / 2 Z`: word `i` of number `side` of lane `lane` at `[side][i][lane]`.
#[inline(always)]
pub(super) fn affine_row(have: HaveAvx512, point: &Point, w: &Fe) -> [[[u64; LANES]; 4]; 3] {
    // (y + x) / 2 = S / 2Z and d x y = 2 d T / 2Z.
    let plus = point.sum.mul(w);
    let minus = point.difference.mul(w);
    let dxy = point.t.mul(w).mul(&Fe::splat(have, &D2));
    let mut words = [[[0; LANES]; 4]; 3];
    for (fe, words) in [plus, minus, dxy].iter().zip(&mut words) {
        let [a, b, c, d] = fe.pack();
        a.store(&mut words[0]);
        b.store(&mut words[1]);
        c.store(&mut words[2]);
        d.store(&mut words[3]);
    }
    words
}

#[cfg(test)]
mod tests {
    use curve25519_dalek::Scalar;
    use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
    use num_bigint::BigUint;

    use super::*;
    use crate::kernel::ed25519::avx512_ifma::testing::{Random, from_words, have, p, to_words};

    /// The point of a row, by its definition; checks the third number on the way.
    fn point(row: &Row) -> EdwardsPoint {
        let [plus, minus] = row.sides.map(|words| from_words(&words));
        let (x, y) = ((&plus + p() - &minus) % p(), (&plus + &minus) % p());
        let d = p() - BigUint::from(121_665u32) * BigUint::from(121_666u32).modpow(&(p() - 2u8), &p()) % p();
        assert_eq!(from_words(&row.third), d * &x * &y % p());
        let mut words: [u64; 4] = to_words(&y);
        words[3] |= u64::from(x.bit(0)) << 63;
        let encoded: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        CompressedEdwardsY(encoded.try_into().unwrap()).decompress().unwrap()
    }

    #[test]
    fn rows_are_the_multiples_of_the_point() {
        let Some(have) = have() else { return };
        let torsion = curve25519_dalek::constants::EIGHT_TORSION[3];
        let mut random = Random(11);
        for digits in [63, 36, 28] {
            let layout: &'static Layout = Box::leak(Box::new(Layout::new(digits)));
            // A point of prime order, and one with a part of order 8, as keys may have.
            let prime = EdwardsPoint::mul_base(&Scalar::from(random.next()));
            for dalek in [prime, prime + torsion] {
                let affine = AffinePoint::decode(have, dalek.compress().as_bytes());
                let table = Table::build(have, &affine, layout);
                assert_eq!(point(&table.rows()[0]), EdwardsPoint::default());
                for (i, position) in layout.positions().iter().enumerate() {
                    let mut base = dalek;
                    (0..position.offset).for_each(|_| base += base);
                    let highest = position.highest;
                    for j in [0, 1, 2, 3, random.below(highest as usize) as u32, highest - 1, highest] {
                        let want = base * Scalar::from(j);
                        assert_eq!(point(&table.rows()[(position.first_row + j) as usize]), want, "{j} at {i}");
                    }
                }
            }
        }
    }

    #[test]
    fn negation_gives_the_opposite_point() {
        let Some(have) = have() else { return };
        let dalek = EdwardsPoint::mul_base(&Scalar::from(7u8));
        let affine = AffinePoint::decode(have, dalek.compress().as_bytes());
        assert_eq!(affine.negate(have), AffinePoint::decode(have, (-dalek).compress().as_bytes()));
    }
}
