//! Sums for keys without a table: the usual double-and-add with a few multiples of the point, sixteen keys side by side.
//!
//! Each lane computes `h` times its own point exactly, digit after digit from the top, four doublings a digit.

use super::batch_inverse::invert_all;
use super::encoding::decode;
use super::field::{Fe, LIMBS};
use super::layout::{Layout, WINDOW_BITS, WINDOW_ROWS};
use super::pipeline::{GROUPS, Step};
use super::point::{Affine, NEUTRAL_ROW, Point};
use super::table::{AffinePoint, affine_row};
use crate::kernel::cpu::HaveAvx512;
use crate::kernel::vector::{LANES, Row, U64x8};

/// The digits that these sums take.
pub(super) static WINDOW: Layout = Layout::WINDOW;

/// `0, 1, .., 8` times the point of each lane.
pub(super) type WindowRows = [[[Row; WINDOW_ROWS]; LANES]; GROUPS];

/// Rows before there are any.
pub(super) const NO_ROWS: WindowRows = [[[Row { sides: [[0; 4]; 2], third: [0; 4] }; WINDOW_ROWS]; LANES]; GROUPS];

/// The opposite points of eight encodings that are known to be points.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512ifma")]
pub(super) fn decode_opposite(have: HaveAvx512, encoded: &[&[u8; 32]; LANES]) -> [AffinePoint; LANES] {
    let words: [[u64; 4]; LANES] = encoded.map(|bytes| {
        let (words, _) = bytes.as_chunks::<8>();
        std::array::from_fn(|i| u64::from_le_bytes(words[i]))
    });
    let decoded = decode(have, U64x8::transpose_4(have, words.each_ref()));
    let x = Fe::splat(have, &[0; LIMBS]).sub(&decoded.x).pack().map(U64x8::to_array);
    let y = decoded.y.pack().map(U64x8::to_array);
    std::array::from_fn(|lane| AffinePoint { x: x.map(|word| word[lane]), y: y.map(|word| word[lane]) })
}

/// `h` times the point, in every lane of the first `groups` groups (1 or 2); other lanes get the neutral element. `steps`
/// are the digits of `h` in the layout [`WINDOW`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512ifma")]
pub(super) fn multiply(
    have: HaveAvx512,
    points: &[[AffinePoint; LANES]; GROUPS],
    groups: usize,
    steps: &[Step],
    rows: &mut WindowRows,
) -> [Point; GROUPS] {
    fill_rows(have, &points[..groups], rows);
    let mut sums = [Point::neutral(have); GROUPS];
    let Some((top, lower)) = steps[..WINDOW.digits()].split_last() else { return sums };
    for group in 0..groups {
        sums[group] = Point::from_row(have, &gather(have, &rows[group], &top[group]));
    }
    for step in lower.iter().rev() {
        // Only additions read T, so only the last doubling before one computes it.
        for _ in 1..WINDOW_BITS {
            for sum in &mut sums[..groups] {
                double_without_t(sum);
            }
        }
        for sum in &mut sums[..groups] {
            double(sum);
        }
        for group in 0..groups {
            add(&mut sums[group], &gather(have, &rows[group], &step[group]));
        }
    }
    sums
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512ifma")]
fn double(point: &mut Point) {
    *point = point.double();
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512ifma")]
fn double_without_t(point: &mut Point) {
    *point = point.double_without_t();
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512ifma")]
fn add(point: &mut Point, row: &Affine) {
    *point = point.add_affine(row);
}

/// The rows that a step selects.
#[inline(always)]
fn gather(have: HaveAvx512, rows: &[[Row; WINDOW_ROWS]; LANES], codes: &[u64; LANES]) -> Affine {
    // A digit is at most 8 in absolute value, which is the last row.
    let row = |lane: usize| &rows[lane][(codes[lane] >> 1) as usize];
    Affine::gather(have, &[row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)], codes)
}

/// The multiples of each lane's point.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512ifma")]
fn fill_rows(have: HaveAvx512, points: &[[AffinePoint; LANES]], rows: &mut WindowRows) {
    let zero = Fe::splat(have, &[0; LIMBS]);
    let mut multiples = [[Point::neutral(have); WINDOW_ROWS]; GROUPS];
    let mut w = [[zero; WINDOW_ROWS]; GROUPS];
    for (group, points) in points.iter().enumerate() {
        let x = Fe::unpack(U64x8::transpose_4(have, points.each_ref().map(|point| &point.x)));
        let y = Fe::unpack(U64x8::transpose_4(have, points.each_ref().map(|point| &point.y)));
        let point = Point::from_affine(have, &x, &y);
        let step = point.cached(have);
        multiples[group][1] = point;
        for j in 2..WINDOW_ROWS {
            multiples[group][j] = multiples[group][j - 1].add_cached(&step);
        }
        for (w, multiple) in w[group].iter_mut().zip(&multiples[group]) {
            let z = multiple.carried_z();
            *w = z.add(&z);
        }
    }
    let mut products = w;
    invert_all(have, w[..points.len()].as_flattened_mut(), products.as_flattened_mut());
    for group in 0..points.len() {
        for j in 1..WINDOW_ROWS {
            let words = affine_row(have, &multiples[group][j], &w[group][j]);
            for lane in 0..LANES {
                let word = |side: usize| std::array::from_fn(|i| words[side][i][lane]);
                rows[group][lane][j] = Row { sides: [word(0), word(1)], third: word(2) };
            }
        }
        for lane in &mut rows[group] {
            lane[0] = NEUTRAL_ROW;
        }
    }
}
