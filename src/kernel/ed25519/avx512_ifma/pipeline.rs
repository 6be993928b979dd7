//! The inner loop: sums of table rows for two groups of eight lanes, scheduled by hand.
//!
//! An addition is seven products. A product is 50 multiply-adds, for which the CPU has two pipes, and some 30 cheap
//! instructions that fold and carry and wait for each other. Out-of-order execution looks only some sixty vector
//! instructions ahead, so a tail at the end of its product leaves the multipliers idle. Here the tail of each product is
//! cut into five pieces that stand between the rows of the *next* product, and the unpacking of the next table rows
//! into pieces between later ones. [`pin`] keeps the compiler from undoing that order.
//!
//! The tail of a product and the head of the next never depend on each other: the products of an addition are in an order
//! that makes it so, and the last tail of one group runs inside the first product of the other group.

use super::constants::HALF;
use super::field::{
    BIAS, BIAS_LOOSE, FOLD, Fe, LIMB_MASK, LIMBS, NO_BIAS, RADIX, Wide, fold, negate_limb, unpack_limb,
};
use super::point::{Affine, NEUTRAL_ROW, Point, odd_lanes};
use crate::kernel::cpu::HaveAvx512;
use crate::kernel::vector::{LANES, Mask8, Row, U64x8, keep_in_memory, pin, prefetch_row};

/// Groups of lanes that take turns.
pub(super) const GROUPS: usize = 2;

/// How many steps ahead table rows are asked for.
const AHEAD: usize = 3;

/// Steps whose rows are remembered: those asked for, the next and the current one, rounded up to a power of two.
const FOUND: usize = 4;

/// Codes of table rows (see [`super::layout`]) for one step, `[group][lane]`.
pub(super) type Step = [[u64; LANES]; GROUPS];

/// Tables of the lanes, `[group][lane]`.
pub(super) type Tables<'a> = [[&'a [Row]; LANES]; GROUPS];

/// Rows of the lanes, `[group][lane]`.
type Found<'a> = [[&'a Row; LANES]; GROUPS];

/// Columns of a product: five of the weights of limbs, then five that weigh 2^255 more.
type Columns = [U64x8; 2 * LIMBS];

/// `A` to `H` of the paper that [`super::point`] names, on their way from one product to another.
struct Work {
    b: Wide,
    e: Fe,
    f: Fe,
    g: Fe,
    h: Fe,
    /// `Y` of the sum.
    y: Wide,
}

impl Work {
    #[inline(always)]
    fn new(have: HaveAvx512) -> Self {
        let zero = Fe::splat(have, &[0; LIMBS]);
        let bias = zero.widen_biased();
        Self { b: bias, e: zero, f: zero, g: zero, h: zero, y: bias }
    }
}

/// The sum of the rows that `steps` selects, in every lane, and of `start` if there is one: the first `base_steps` rows
/// are from `base`, the others from each lane's own table. There must be at least one step.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512ifma")]
pub(super) fn sum_rows(
    have: HaveAvx512,
    start: Option<&[Point; GROUPS]>,
    steps: &[Step],
    base: &[Row],
    base_steps: usize,
    tables: &Tables<'_>,
) -> [Point; GROUPS] {
    let last = steps.len() - 1;
    let base = [[base; LANES]; GROUPS];
    let mut found: [Found<'_>; FOUND] = [[[&NEUTRAL_ROW; LANES]; GROUPS]; FOUND];
    macro_rules! finder {
        ($i:expr) => {{
            // Behind the last step it finds the last again.
            let i = $i.min(last);
            let tables = if i < base_steps { &base } else { tables };
            Finder { have, tables, step: &steps[i], found: &mut found[$i % FOUND] }
        }};
    }
    for i in 0..=AHEAD {
        let mut finder = finder!(i);
        for lane in 0..LANES {
            finder.find(lane);
        }
    }

    let gather = |i: usize, group: usize| Affine::gather(have, &found[i][group], &steps[i.min(last)][group]);
    let mut points = match start {
        Some(points) => *points,
        // The rows of step 0 are the first sums.
        None => [Point::from_row(have, &gather(0, 0)), Point::from_row(have, &gather(0, 1))],
    };
    let first = usize::from(start.is_none());
    let mut rows = [gather(first, 0), gather(first, 1)];
    let mut work = [Work::new(have), Work::new(have)];
    let mut x: Columns = [U64x8::zero(have); 2 * LIMBS];
    // In memory, and aligned: without an aligned object on the stack the compiler does not align what it spills.
    keep_in_memory(&mut points);
    keep_in_memory(&mut rows);
    keep_in_memory(&mut work);

    // The first product finishes the sum of the second group, as in every step: S and D from Y and X.
    let half = Fe::splat(have, &HALF);
    work[1].y = half.mul_biased(&points[1].sum.add(&points[1].difference), &BIAS);
    x[..LIMBS].copy_from_slice(&half.mul(&points[1].sum.sub(&points[1].difference)).0);
    for i in first..=last {
        let next = found[(i + 1) % FOUND];
        let mut finder = finder!(i + AHEAD);
        x = add(have, &mut points, &x, &mut work, &mut rows, &next, &steps[(i + 1).min(last)], &mut finder);
    }
    if first <= last {
        finish(&mut points[1], &work[1].y, &x);
    }
    points
}

/// Finds the rows of a step in its tables and asks the memory for them.
struct Finder<'f, 'a> {
    have: HaveAvx512,
    tables: &'f Tables<'a>,
    step: &'f Step,
    found: &'f mut Found<'a>,
}

impl Finder<'_, '_> {
    /// The row of one lane of each group. A step's lanes are found one after the other all over another step: asked for
    /// all at once they would keep the buffers for cache misses full and loads waiting.
    #[inline(always)]
    fn find(&mut self, lane: usize) {
        for group in 0..GROUPS {
            // The layout that made the steps is the one the table was built by, so the index is in range.
            let row = &self.tables[group][lane][(self.step[group][lane] >> 1) as usize];
            prefetch_row(self.have, row);
            self.found[group][lane] = row;
        }
    }
}

#[inline(always)]
fn pin_five(values: &mut [U64x8]) {
    if let [a, b, c, d, e] = values {
        pin(a, b, c, d, e);
    }
}

/// The columns of `$a · $b + $bias`. Between the rows of multiply-adds stand the ten pieces of `$other`.
macro_rules! product {
    ($a:expr, $b:expr, $bias:expr, $other:ident ($($argument:expr),* $(,)?) $(,)?) => {{
        let (a, b, bias): (&Fe, &Fe, &[u64; LIMBS]) = ($a, $b, $bias);
        a.debug_check_tight();
        let (a, b) = (&a.0, &b.0);
        let zero = a[0].same(0);
        let start = |limb: usize| zero.same(bias[limb] / 2);
        // As in `Fe::mul_wide`: sums of high halves weigh twice the limb above them.
        let mut h = [start(1), start(2), start(3), start(4), zero, zero, zero, zero, zero];
        product!(@high h a b 0, $other::<0>($($argument),*));
        product!(@high h a b 1, $other::<1>($($argument),*));
        product!(@high h a b 2, $other::<2>($($argument),*));
        product!(@high h a b 3, $other::<3>($($argument),*));
        product!(@high h a b 4, $other::<4>($($argument),*));
        let [h0, h1, h2, h3, h4, h5, h6, h7, h8] = h;
        let mut c = [
            zero.same(bias[0]),
            h0.add(h0),
            h1.add(h1),
            h2.add(h2),
            h3.add(h3),
            h4.add(h4),
            h5.add(h5),
            h6.add(h6),
            h7.add(h7),
            h8.add(h8),
        ];
        product!(@low c a b 4, $other::<5>($($argument),*));
        product!(@low c a b 3, $other::<6>($($argument),*));
        product!(@low c a b 2, $other::<7>($($argument),*));
        product!(@low c a b 1, $other::<8>($($argument),*));
        product!(@low c a b 0, $other::<9>($($argument),*));
        c
    }};
    (@high $h:ident $a:ident $b:ident $i:literal, $piece:expr) => {
        $h[$i] = $h[$i].madd_hi($a[$i], $b[0]);
        $h[$i + 1] = $h[$i + 1].madd_hi($a[$i], $b[1]);
        $h[$i + 2] = $h[$i + 2].madd_hi($a[$i], $b[2]);
        $h[$i + 3] = $h[$i + 3].madd_hi($a[$i], $b[3]);
        $h[$i + 4] = $h[$i + 4].madd_hi($a[$i], $b[4]);
        pin_five(&mut $h[$i..$i + 5]);
        $piece;
    };
    (@low $c:ident $a:ident $b:ident $i:literal, $piece:expr) => {
        $c[$i + 4] = $c[$i + 4].madd_lo($a[$i], $b[4]);
        $c[$i + 3] = $c[$i + 3].madd_lo($a[$i], $b[3]);
        $c[$i + 2] = $c[$i + 2].madd_lo($a[$i], $b[2]);
        $c[$i + 1] = $c[$i + 1].madd_lo($a[$i], $b[1]);
        $c[$i] = $c[$i].madd_lo($a[$i], $b[0]);
        pin_five(&mut $c[$i..$i + 5]);
        $piece;
    };
}

/// Folds the columns (even pieces) and gathers number `SIDE` of the next rows (odd pieces).
#[inline(always)]
fn fold_and_gather<const I: usize, const SIDE: usize>(
    columns: &Columns,
    out: &mut Wide,
    gather: &mut Gather<'_>,
    to: &mut Fe,
) {
    match I {
        0 => wide_piece::<0>(columns, out),
        2 => wide_piece::<1>(columns, out),
        4 => wide_piece::<2>(columns, out),
        6 => wide_piece::<3>(columns, out),
        8 => wide_piece::<4>(columns, out),
        _ => gather.piece::<I, SIDE>(to),
    }
}

macro_rules! with_side {
    ($($(#[$doc:meta])* $name:ident = $side:ident),*) => {$(
        $(#[$doc])*
        #[inline(always)]
        fn $name<const I: usize>(columns: &Columns, out: &mut Wide, gather: &mut Gather<'_>, to: &mut Fe) {
            fold_and_gather::<I, $side>(columns, out, gather, to);
        }
    )*};
}

with_side! {
    /// With `y + x` of the next rows.
    fold_and_gather_plus = PLUS,
    /// With `y - x` of the next rows.
    fold_and_gather_minus = MINUS,
    /// With `d x y` of the next rows.
    fold_and_gather_dxy = DXY
}

/// Folds column `I`.
#[inline(always)]
fn wide_piece<const I: usize>(columns: &Columns, out: &mut Wide) {
    out.0[I] = fold(columns[I], columns[I + LIMBS]);
}

/// Folds and carries: a limb can be carried when it and the one below are folded.
#[inline(always)]
fn carry_product<const I: usize>(columns: &mut Columns, out: &mut Fe) {
    let c = columns;
    match I {
        0 => c[0] = fold(c[0], c[5]),
        1 => c[4] = fold(c[4], c[9]),
        2 => c[1] = fold(c[1], c[6]),
        3 => out.0[0] = carry_limb::<0>(c[0], c[4]),
        4 => c[2] = fold(c[2], c[7]),
        5 => out.0[1] = carry_limb::<1>(c[1], c[0]),
        6 => c[3] = fold(c[3], c[8]),
        7 => out.0[2] = carry_limb::<2>(c[2], c[1]),
        8 => out.0[3] = carry_limb::<3>(c[3], c[2]),
        _ => out.0[4] = carry_limb::<4>(c[4], c[3]),
    }
}

/// `difference = wide - product` and `sum = wide + product`, both carried.
#[inline(always)]
fn carry_both<const I: usize>(wide: &Wide, columns: &mut Columns, difference: &mut Fe, sum: &mut Fe) {
    // The folded product goes into the difference, which takes its lower column, and the sum, which takes the upper.
    let c = columns;
    macro_rules! fold_both {
        ($i:literal) => {{
            let product = fold(c[$i], c[$i + LIMBS]);
            c[$i] = wide.0[$i].sub(product);
            c[$i + LIMBS] = wide.0[$i].add(product);
        }};
    }
    macro_rules! carry_both {
        ($i:literal from $below:literal) => {{
            difference.0[$i] = carry_limb::<$i>(c[$i], c[$below]);
            sum.0[$i] = carry_limb::<$i>(c[$i + LIMBS], c[$below + LIMBS]);
        }};
    }
    match I {
        0 => fold_both!(0),
        1 => fold_both!(4),
        2 => fold_both!(1),
        3 => carry_both!(0 from 4),
        4 => fold_both!(2),
        5 => carry_both!(1 from 0),
        6 => fold_both!(3),
        7 => carry_both!(2 from 1),
        8 => carry_both!(3 from 2),
        _ => carry_both!(4 from 3),
    }
}

/// Limb `I` of a carry: its own low bits plus what overflows from `below` (for limb 0 that is the top limb).
#[inline(always)]
fn carry_limb<const I: usize>(own: U64x8, below: U64x8) -> U64x8 {
    let low = own.and(own.same(LIMB_MASK));
    if I == 0 { low.madd_lo(below.shr::<RADIX>(), own.same(FOLD)) } else { low.add(below.shr::<RADIX>()) }
}

/// Eight rows on their way from tables into lanes.
struct Gather<'a> {
    have: HaveAvx512,
    rows: &'a [&'a Row; LANES],
    codes: &'a [u64; LANES],
    negative: Mask8,
    pairs: [U64x8; 4],
    words: [U64x8; 4],
}

/// Numbers of a row.
const PLUS: usize = 0;
const MINUS: usize = 1;
const DXY: usize = 2;

impl<'a> Gather<'a> {
    #[inline(always)]
    fn new(have: HaveAvx512, rows: &'a [&'a Row; LANES], codes: &'a [u64; LANES]) -> Self {
        let zero = U64x8::zero(have);
        Self { have, rows, codes, negative: odd_lanes(have, codes), pairs: [zero; 4], words: [zero; 4] }
    }

    /// Number `SIDE` of the row of a lane; an odd code exchanges the first two.
    #[inline(always)]
    fn number<const SIDE: usize>(&self, lane: usize) -> &'a [u64; 4] {
        let row = self.rows[lane];
        if SIDE == DXY { &row.third } else { &row.sides[(self.codes[lane] & 1) as usize ^ SIDE] }
    }

    #[inline(always)]
    fn limb<const I: usize, const SIDE: usize>(&self, to: &mut Fe) {
        let limb = unpack_limb::<I>(&self.words);
        to.0[I] = if SIDE == DXY { negate_limb::<I>(limb, self.negative) } else { limb };
    }

    /// As [`Affine::gather`], one number of the rows, in the odd pieces.
    #[inline(always)]
    fn piece<const I: usize, const SIDE: usize>(&mut self, to: &mut Fe) {
        let have = self.have;
        macro_rules! pairs {
            ($($lane:literal)*) => {
                U64x8::transpose_4_pairs(have, [$(self.number::<SIDE>($lane)),*])
            };
        }
        match I {
            1 => [self.pairs[0], self.pairs[1]] = pairs!(0 1 2 3),
            3 => [self.pairs[2], self.pairs[3]] = pairs!(4 5 6 7),
            5 => {
                self.words = U64x8::transpose_4_finish(self.pairs);
                self.limb::<0, SIDE>(to);
            }
            7 => {
                self.limb::<1, SIDE>(to);
                self.limb::<2, SIDE>(to);
            }
            _ => {
                self.limb::<3, SIDE>(to);
                self.limb::<4, SIDE>(to);
            }
        }
    }
}

/// One step: each point plus its row, all but the last tail, whose columns it returns, while the rows of the next step
/// take the place of these. Finishes the second group's sum of the step before from the columns `x`.
#[expect(
    clippy::too_many_arguments,
    reason = "the working set of one step, held in registers: a struct would go through memory"
)]
#[inline(always)]
fn add(
    have: HaveAvx512,
    points: &mut [Point; GROUPS],
    x: &Columns,
    work: &mut [Work; GROUPS],
    rows: &mut [Affine; GROUPS],
    next: &Found<'_>,
    codes: &Step,
    finder: &mut Finder<'_, '_>,
) -> Columns {
    let [p, q] = points;
    let [u, v] = work;
    let [row_p, row_q] = rows;
    let mut gather_p = Gather::new(have, &next[0], &codes[0]);
    let mut gather_q = Gather::new(have, &next[1], &codes[1]);
    row_p.dxy.debug_check_loose();
    row_q.dxy.debug_check_loose();

    let mut x = *x;
    let b = product!(&p.sum, &row_p.plus, &BIAS, carry_both(&v.y, &mut x, &mut q.difference, &mut q.sum));
    finder.find(0);
    let mut a = product!(
        &p.difference,
        &row_p.minus,
        &NO_BIAS,
        fold_and_gather_plus(&b, &mut u.b, &mut gather_p, &mut row_p.plus),
    );
    finder.find(1);
    let mut c = product!(&p.t, &row_p.dxy, &NO_BIAS, carry_both(&u.b, &mut a, &mut u.e, &mut u.h));
    finder.find(2);
    let b = product!(&q.sum, &row_q.plus, &BIAS, carry_both(&p.z, &mut c, &mut u.f, &mut u.g));
    finder.find(3);
    let mut a = product!(
        &q.difference,
        &row_q.minus,
        &NO_BIAS,
        fold_and_gather_plus(&b, &mut v.b, &mut gather_q, &mut row_q.plus),
    );
    finder.find(4);
    let mut c = product!(&q.t, &row_q.dxy, &NO_BIAS, carry_both(&v.b, &mut a, &mut v.e, &mut v.h));
    finder.find(5);
    let mut t = product!(&u.e, &u.h, &NO_BIAS, carry_both(&q.z, &mut c, &mut v.f, &mut v.g));
    finder.find(6);
    let z = product!(&u.f, &u.g, &BIAS_LOOSE, carry_product(&mut t, &mut p.t));
    finder.find(7);
    let y = product!(&u.g, &u.h, &BIAS, fold_and_gather_minus(&z, &mut p.z, &mut gather_p, &mut row_p.minus),);
    let mut x = product!(&u.e, &u.f, &NO_BIAS, fold_and_gather_dxy(&y, &mut u.y, &mut gather_p, &mut row_p.dxy),);
    let mut t = product!(&v.e, &v.h, &NO_BIAS, carry_both(&u.y, &mut x, &mut p.difference, &mut p.sum));
    let z = product!(&v.f, &v.g, &BIAS_LOOSE, carry_product(&mut t, &mut q.t));
    let y = product!(&v.g, &v.h, &BIAS, fold_and_gather_minus(&z, &mut q.z, &mut gather_q, &mut row_q.minus),);
    product!(&v.e, &v.f, &NO_BIAS, fold_and_gather_dxy(&y, &mut v.y, &mut gather_q, &mut row_q.dxy))
}

/// The last tail.
#[inline(always)]
fn finish(point: &mut Point, y: &Wide, x: &Columns) {
    let mut x = *x;
    let Point { difference, sum, .. } = point;
    carry_both::<0>(y, &mut x, difference, sum);
    carry_both::<1>(y, &mut x, difference, sum);
    carry_both::<2>(y, &mut x, difference, sum);
    carry_both::<3>(y, &mut x, difference, sum);
    carry_both::<4>(y, &mut x, difference, sum);
    carry_both::<5>(y, &mut x, difference, sum);
    carry_both::<6>(y, &mut x, difference, sum);
    carry_both::<7>(y, &mut x, difference, sum);
    carry_both::<8>(y, &mut x, difference, sum);
    carry_both::<9>(y, &mut x, difference, sum);
}

#[cfg(test)]
mod tests {
    use curve25519_dalek::Scalar as DalekScalar;
    use curve25519_dalek::edwards::EdwardsPoint;

    use super::*;
    use crate::kernel::ed25519::avx512_ifma::encoding::encode;
    use crate::kernel::ed25519::avx512_ifma::layout::Layout;
    use crate::kernel::ed25519::avx512_ifma::scalar::Scalar;
    use crate::kernel::ed25519::avx512_ifma::table::{AffinePoint, Table};
    use crate::kernel::ed25519::avx512_ifma::testing::{Random, from_words, have, load, order, to_words};

    /// The encodings of sums, eight lanes a group.
    fn encodings(have: HaveAvx512, points: &[Point; GROUPS]) -> [[[u8; 32]; LANES]; GROUPS] {
        points.map(|point| {
            let z2 = point.z.add(&point.z).carry();
            let mut w = [z2];
            #[expect(unsafe_code, reason = "entry into code compiled for more than the build's baseline")]
            // SAFETY: `have` exists only where detection found every feature.
            unsafe {
                super::super::batch_inverse::invert_all(have, &mut w, &mut [z2])
            };
            let words = encode(&point.sum, &point.difference, &w[0]).map(U64x8::to_array);
            std::array::from_fn(|lane| {
                let bytes: Vec<u8> = words.iter().flat_map(|word| word[lane].to_le_bytes()).collect();
                bytes.try_into().unwrap()
            })
        })
    }

    #[test]
    fn sums_of_structured_scalars_are_exact_in_every_lane() {
        let Some(have) = have() else { return };
        static BASE: Layout = Layout::new(36);
        static KEY: Layout = Layout::new(42);
        let base = Table::of_base_point(have, &BASE);
        let torsion = curve25519_dalek::constants::EIGHT_TORSION;
        // Keys of prime order, of mixed order, of small order (which never load, but the formulas take them), and B
        // itself and its opposite, where sums meet equal and opposite points.
        let generator = EdwardsPoint::mul_base(&DalekScalar::ONE);
        let mut keys = vec![generator, -generator, torsion[0], torsion[1], torsion[4], torsion[2] + generator];
        let mut random = Random(21);
        keys.extend((0..3).map(|i| EdwardsPoint::mul_base(&DalekScalar::from(random.next())) + torsion[i]));
        let tables: Vec<Table> = keys
            .iter()
            .map(|key| Table::build(have, &AffinePoint::decode(have, key.compress().as_bytes()), &KEY))
            .collect();

        for seed in 0..24 {
            let mut random = Random(seed);
            let mut scalar = || {
                let edges = [order() - 1u8, 0u8.into(), 1u8.into(), num_bigint::BigUint::from(1u8) << 252u32];
                if random.below(4) == 0 {
                    edges[random.below(4)].clone()
                } else {
                    from_words(&random.scalar()) % order()
                }
            };
            let mut steps = vec![[[0; LANES]; GROUPS]; BASE.digits() + KEY.digits()];
            let (mut s, mut h) = ([[[0; 4]; LANES]; GROUPS], [[[0; 4]; LANES]; GROUPS]);
            for group in 0..GROUPS {
                s[group] = std::array::from_fn(|_| to_words(&scalar()));
                h[group] = std::array::from_fn(|_| to_words(&scalar()));
                let (base_steps, key_steps) = steps.split_at_mut(BASE.digits());
                Scalar::from_words(load(have, &s[group])).0.digits(have, &BASE, Mask8::MAX, group, base_steps);
                Scalar::from_words(load(have, &h[group])).0.digits(have, &KEY, Mask8::MAX, group, key_steps);
            }
            let key = |group: usize, lane: usize| (seed as usize + 5 * group + lane) % keys.len();
            let lane_tables: Tables<'_> =
                std::array::from_fn(|group| std::array::from_fn(|lane| tables[key(group, lane)].rows()));
            #[expect(unsafe_code, reason = "entry into code compiled for more than the build's baseline")]
            // SAFETY: `have` exists only where detection found every feature.
            let points = unsafe { sum_rows(have, None, &steps, base.rows(), BASE.digits(), &lane_tables) };
            let encoded = encodings(have, &points);
            for group in 0..GROUPS {
                for lane in 0..LANES {
                    let dalek = |words: &[u64; 4]| {
                        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                        DalekScalar::from_canonical_bytes(bytes.try_into().unwrap()).unwrap()
                    };
                    let (s, h, key) = (dalek(&s[group][lane]), dalek(&h[group][lane]), keys[key(group, lane)]);
                    let want = EdwardsPoint::mul_base(&s) + h * key;
                    assert_eq!(encoded[group][lane], want.compress().0, "seed {seed}, group {group}, lane {lane}");
                }
            }
        }
    }

    #[test]
    fn any_number_of_steps_adds_up() {
        let Some(have) = have() else { return };
        static BASE: Layout = Layout::new(63);
        let base = Table::of_base_point(have, &BASE);
        let tables: Tables<'_> = [[base.rows(); LANES]; GROUPS];
        for count in 1..12 {
            // Rows of the lowest digit: lane l adds l or -l in each step.
            let step = std::array::from_fn(|group| std::array::from_fn(|lane| 2 * lane as u64 + group as u64));
            let steps = vec![step; count];
            #[expect(unsafe_code, reason = "entry into code compiled for more than the build's baseline")]
            // SAFETY: `have` exists only where detection found every feature.
            let points = unsafe { sum_rows(have, None, &steps, base.rows(), count / 2, &tables) };
            for (group, encoded) in encodings(have, &points).iter().enumerate() {
                for (lane, encoded) in encoded.iter().enumerate() {
                    let scalar = DalekScalar::from((lane * count) as u64);
                    let scalar = if group == 1 { -scalar } else { scalar };
                    assert_eq!(*encoded, EdwardsPoint::mul_base(&scalar).compress().0, "{count} steps, lane {lane}");
                }
            }
        }
    }
}
