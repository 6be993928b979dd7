//! Points of the curve `-x^2 + y^2 = 1 + d x^2 y^2`, eight side by side, and their addition.
//!
//! A point is `(S, D, T, Z)` with `S = Y + X`, `D = Y - X`, `T = X Y / Z` in the extended coordinates of Hisil, Wong,
//! Carter and Dawson ("Twisted Edwards curves revisited", 2008, section 3.1): their formulas read `X` and `Y` only
//! through `S` and `D`, and sums of uncarried products give both for the price of one. The formulas are complete here
//! (-1 is a square and `d` is not), so they hold for all points, equal, opposite, neutral or of small order, and `Z` is
//! never zero.
//!
//! A table row is an affine point as `((y + x) / 2, (y - x) / 2, d x y)`. Halving all three halves what they are
//! multiplied into, so that `2 Z` becomes `Z` and one addition goes away.

use super::constants::{D2, HALF, INVERSE_D2, ONE};
use super::field::{BIAS, BIAS_LOOSE, Fe, LIMBS, NO_BIAS, Wide};
use crate::kernel::cpu::HaveAvx512;
use crate::kernel::vector::{LANES, Mask8, Row, U64x8};

/// Eight points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// `Y + X`.
    pub(super) sum: Fe,
    /// `Y - X`.
    pub(super) difference: Fe,
    /// `X Y / Z`.
    pub(super) t: Fe,
    /// `Z`, limbs of a product plus [`BIAS_LOOSE`].
    pub(super) z: Wide,
}

/// Eight affine points from table rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Affine {
    /// `(y + x) / 2`, limbs below 2^51.
    pub(super) plus: Fe,
    /// `(y - x) / 2`, limbs below 2^51.
    pub(super) minus: Fe,
    /// `d x y`, loose.
    pub(super) dxy: Fe,
}

/// Eight points as second operand of many additions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cached {
    sum: Fe,
    difference: Fe,
    /// `2 d T`.
    t2d: Fe,
    /// `2 Z`.
    z2: Fe,
}

impl Affine {
    /// Lane `i` from `rows[i]`, negated if `codes[i]` is odd.
    #[inline(always)]
    pub(super) fn gather(have: HaveAvx512, rows: &[&Row; LANES], codes: &[u64; LANES]) -> Self {
        let side = |i: usize, side: usize| &rows[i].sides[((codes[i] & 1) as usize) ^ side];
        macro_rules! lanes {
            ($f:expr) => {
                Fe::unpack(U64x8::transpose_4(have, [$f(0), $f(1), $f(2), $f(3), $f(4), $f(5), $f(6), $f(7)]))
            };
        }
        let dxy = lanes!((|i: usize| &rows[i].third)).negate_lanes(odd_lanes(have, codes));
        Self { plus: lanes!((|i: usize| side(i, 0))), minus: lanes!((|i: usize| side(i, 1))), dxy }
    }
}

/// Lanes with an odd code: bit 0 as a sign bit.
#[inline(always)]
pub(super) fn odd_lanes(have: HaveAvx512, codes: &[u64; LANES]) -> Mask8 {
    U64x8::load(have, codes).shl::<63>().negative()
}

impl Point {
    /// The neutral element in every lane.
    #[inline(always)]
    pub(super) fn neutral(have: HaveAvx512) -> Self {
        let one = Fe::splat(have, &ONE);
        Self { sum: one, difference: one, t: Fe::splat(have, &[0; LIMBS]), z: one.widen_biased() }
    }

    /// From affine coordinates.
    #[inline(always)]
    pub(super) fn from_affine(have: HaveAvx512, x: &Fe, y: &Fe) -> Self {
        let one = Fe::splat(have, &ONE);
        Self { sum: y.add(x), difference: y.sub(x), t: x.mul(y), z: one.widen_biased() }
    }

    /// `Z`, ready to be multiplied.
    #[inline(always)]
    pub(super) fn carried_z(&self) -> Fe {
        self.z.carry()
    }

    /// `self + other`: 7 products.
    #[inline(always)]
    #[must_use]
    pub(super) fn add_affine(&self, other: &Affine) -> Self {
        let b = self.sum.mul_biased(&other.plus, &BIAS);
        let a = self.difference.mul_wide(&other.minus);
        let c = self.t.mul_loose(&other.dxy);
        finish_addition(&a, &b, &c, &self.z)
    }

    /// `self + other`: 8 products.
    #[inline(always)]
    #[must_use]
    pub(super) fn add_cached(&self, other: &Cached) -> Self {
        let b = self.sum.mul_biased(&other.sum, &BIAS);
        let a = self.difference.mul_wide(&other.difference);
        let c = self.t.mul_wide(&other.t2d);
        let z = self.carried_z().mul_biased(&other.z2, &BIAS);
        finish_addition(&a, &b, &c, &z)
    }

    /// As second operand of [`Point::add_cached`].
    #[inline(always)]
    pub(super) fn cached(&self, have: HaveAvx512) -> Cached {
        let z = self.carried_z();
        Cached { sum: self.sum, difference: self.difference, t2d: self.t.mul(&Fe::splat(have, &D2)), z2: z.add(&z) }
    }

    /// Table rows as points.
    #[inline(always)]
    pub(super) fn from_row(have: HaveAvx512, row: &Affine) -> Self {
        let t = Fe::splat(have, &INVERSE_D2).mul_loose(&row.dxy).carry();
        Self { sum: row.plus, difference: row.minus, t, z: Fe::splat(have, &HALF).widen_biased() }
    }

    /// `2 self`: 3 squares and 5 products.
    #[inline(always)]
    #[must_use]
    pub(super) fn double(&self) -> Self {
        let [e, f, g, h] = self.start_doubling();
        close(&e, &f, &g, &h)
    }

    /// `2 self` with a `T` that means nothing: 3 squares and 4 products. Doublings do not read `T`, additions do.
    #[inline(always)]
    #[must_use]
    pub(super) fn double_without_t(&self) -> Self {
        let [e, f, g, h] = self.start_doubling();
        Self { t: self.t, ..close(&e, &f, &g, &h) }
    }

    /// `E`, `F`, `G`, `H` of the doubling of the paper above, all doubled: `S^2 - D^2 = 4 X Y`,
    /// `S^2 + D^2 = 2 (X^2 + Y^2)`, `S D = Y^2 - X^2`.
    #[inline(always)]
    fn start_doubling(&self) -> [Fe; 4] {
        let ss = self.sum.square_biased(&BIAS);
        let dd = self.difference.square_biased(&NO_BIAS);
        let sd = self.sum.mul_wide(&self.difference);
        let zz = self.carried_z().square_biased(&BIAS);
        let e = ss.sub(&dd).carry();
        let h = ss.add(&dd).carry();
        let g = sd.add(&sd);
        // 4 Z^2 - 2 S D: four biases cover twice the product.
        let zz2 = zz.add(&zz);
        let f = zz2.add(&zz2).sub(&g).carry();
        [e, f, g.carry(), h]
    }

    /// Every coordinate through `lanes`, a permutation of lanes.
    #[inline(always)]
    #[must_use]
    pub(super) fn permute(&self, lanes: impl Fn(U64x8) -> U64x8 + Copy) -> Self {
        let [a, b, c, d, e] = self.z.0;
        Self {
            sum: self.sum.permute(lanes),
            difference: self.difference.permute(lanes),
            t: self.t.permute(lanes),
            z: Wide([lanes(a), lanes(b), lanes(c), lanes(d), lanes(e)]),
        }
    }

    /// Lanes of `other` where `mask` is set.
    #[inline(always)]
    #[must_use]
    pub(super) fn blend(&self, mask: Mask8, other: &Self) -> Self {
        let z = |i: usize| self.z.0[i].blend(mask, other.z.0[i]);
        Self {
            sum: self.sum.blend(mask, &other.sum),
            difference: self.difference.blend(mask, &other.difference),
            t: self.t.blend(mask, &other.t),
            z: Wide([z(0), z(1), z(2), z(3), z(4)]),
        }
    }
}

/// The second half of an addition, from `A`, `B`, `C` and `D` of the paper, `B` and `D` biased.
#[inline(always)]
fn finish_addition(a: &Wide, b: &Wide, c: &Wide, d: &Wide) -> Point {
    let e = b.sub(a).carry();
    let h = b.add(a).carry();
    let f = d.sub(c).carry();
    let g = d.add(c).carry();
    close(&e, &f, &g, &h)
}

/// `X = E F`, `Y = G H`, `T = E H`, `Z = F G`.
#[inline(always)]
fn close(e: &Fe, f: &Fe, g: &Fe, h: &Fe) -> Point {
    let y = g.mul_biased(h, &BIAS);
    let x = e.mul_wide(f);
    Point { sum: y.add(&x).carry(), difference: y.sub(&x).carry(), t: e.mul(h), z: f.mul_biased(g, &BIAS_LOOSE) }
}

/// The row of the neutral element.
pub(super) static NEUTRAL_ROW: Row = {
    let half = pack(HALF);
    Row { sides: [half, half], third: [0; 4] }
};

/// Limbs below 2^51 as words.
const fn pack(l: [u64; LIMBS]) -> [u64; 4] {
    [l[0] | l[1] << 51, l[1] >> 13 | l[2] << 38, l[2] >> 26 | l[3] << 25, l[3] >> 39 | l[4] << 12]
}
