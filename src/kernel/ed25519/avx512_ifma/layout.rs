//! How a scalar is cut into digits, and where the rows of a digit lie in a table.
//!
//! A scalar below `L` has 252 bits and a little; `digits` of them cover it, as even as possible: the first `252 mod
//! digits` are one bit wider. Each digit but the last is signed, `-2^(w-1) .. 2^(w-1) - 1`: adding the constant
//! `bias` to the scalar once and subtracting the middle from every digit's bits does that without a carry from digit
//! to digit. The last takes what is left, `0 ..= 2^w`.
//!
//! A table has, for each digit position, the rows of `0, 1, .., 2^(w-1)` times `2^offset P` (to `2^w` for the last). A
//! digit `d` at a position is coded as `2 (first_row + |d|) + (d < 0)`. Row 0 of every table is the neutral element,
//! so code 0 adds nothing.

/// Bits that the digits cover.
const BITS: u32 = 252;
/// The most digits a layout may have.
pub(super) const DIGITS_MAX: usize = 64;
/// Bits of a digit of [`Layout::WINDOW`].
pub(super) const WINDOW_BITS: u32 = 4;
/// Rows of [`Layout::WINDOW`].
pub(super) const WINDOW_ROWS: usize = (1 << (WINDOW_BITS - 1)) + 1;

/// One digit position.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Position {
    /// Weight of the digit: `2^offset`.
    pub(super) offset: u32,
    /// The bits of the biased scalar that belong to it, once shifted down.
    pub(super) mask: u64,
    /// What those bits are for digit zero.
    pub(super) middle: u64,
    /// Index of the row of digit zero.
    pub(super) first_row: u32,
    /// Highest absolute value of the digit.
    pub(super) highest: u32,
}

/// The digits of a scalar.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    positions: [Position; DIGITS_MAX],
    digits: usize,
    /// Sum of all middles at their offsets, in limbs of 52 bits.
    pub(super) bias: [u64; 5],
    /// Rows of a table.
    pub(super) rows: usize,
}

impl Layout {
    /// Digits that share the rows of `0, 1, .., 8` times the point itself, for keys without a table: who adds them up
    /// doubles four times from each digit to the next lower one.
    pub(super) const WINDOW: Self = {
        let digits = (BITS / WINDOW_BITS) as usize + 1;
        let mut positions = [Position { offset: 0, mask: 0, middle: 0, first_row: 0, highest: 0 }; DIGITS_MAX];
        let mut bias = [0; 5];
        let highest = 1 << (WINDOW_BITS - 1);
        let mut i = 0;
        while i < digits {
            let offset = i as u32 * WINDOW_BITS;
            // What is left for the last digit is 0 or 1.
            let middle = if i + 1 == digits { 0 } else { highest };
            positions[i] =
                Position { offset, mask: (1 << WINDOW_BITS) - 1, middle, first_row: 0, highest: highest as u32 };
            bias[offset as usize / 52] += middle << (offset % 52);
            i += 1;
        }
        Self { positions, digits, bias, rows: WINDOW_ROWS }
    };

    /// The layout with that many digits, 14 to [`DIGITS_MAX`].
    pub(super) const fn new(digits: usize) -> Self {
        assert!(digits >= 14 && digits <= DIGITS_MAX);
        let narrow = BITS / digits as u32;
        let wider = BITS as usize % digits;
        let mut positions = [Position { offset: 0, mask: 0, middle: 0, first_row: 0, highest: 0 }; DIGITS_MAX];
        let mut bias = [0; 5];
        let (mut offset, mut rows) = (0, 0);
        let mut i = 0;
        while i < digits {
            let width = if i < wider { narrow + 1 } else { narrow };
            let last = i + 1 == digits;
            let middle = if last { 0 } else { 1 << (width - 1) };
            let highest = if last { 1 << width } else { 1 << (width - 1) };
            // The last digit takes all that is left: 2^w itself, for scalars from 2^252 on.
            let mask = if last { (2 << width) - 1 } else { (1 << width) - 1 };
            positions[i] = Position { offset, mask, middle, first_row: rows, highest };
            let place = (middle as u128) << (offset % 52);
            bias[offset as usize / 52] += place as u64 & ((1 << 52) - 1);
            if offset / 52 < 4 {
                bias[offset as usize / 52 + 1] += (place >> 52) as u64;
            }
            offset += width;
            rows += highest + 1;
            i += 1;
        }
        Self { positions, digits, bias, rows: rows as usize }
    }

    /// The positions, lowest first.
    pub(super) fn positions(&self) -> &[Position] {
        &self.positions[..self.digits]
    }

    /// How many digits.
    pub(super) const fn digits(&self) -> usize {
        self.digits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_cover_the_bits_and_rows_without_gap() {
        for digits in 14..=DIGITS_MAX {
            let layout = Layout::new(digits);
            let (mut offset, mut row) = (0, 0);
            for (i, position) in layout.positions().iter().enumerate() {
                assert_eq!((position.offset, position.first_row), (offset, row), "digit {i} of {digits}");
                let last = i + 1 == digits;
                let bits = if last { BITS - offset } else { layout.positions()[i + 1].offset - offset };
                assert_eq!(position.highest, if last { 1 << bits } else { 1 << (bits - 1) });
                offset += bits;
                row += position.highest + 1;
            }
            assert_eq!((offset, row as usize), (BITS, layout.rows));
        }
    }
}
