//! Eight lanes of 64 bits in one AVX-512 register.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m256i, __m512i, _MM_HINT_T0, _mm_prefetch, _mm256_loadu_si256, _mm512_abs_epi64, _mm512_add_epi64,
    _mm512_and_si512, _mm512_castsi256_si512, _mm512_cmpeq_epi64_mask, _mm512_cmple_epu64_mask,
    _mm512_cmplt_epi64_mask, _mm512_inserti64x4, _mm512_loadu_si512, _mm512_madd52hi_epu64, _mm512_madd52lo_epu64,
    _mm512_mask_blend_epi64, _mm512_mask_set1_epi8, _mm512_mask_sub_epi64, _mm512_maskz_loadu_epi8, _mm512_or_si512,
    _mm512_permutex_epi64, _mm512_ror_epi64, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_shrdi_epi64,
    _mm512_shrdv_epi64, _mm512_shuffle_epi8, _mm512_shuffle_i64x2, _mm512_slli_epi64, _mm512_srai_epi64,
    _mm512_srli_epi64, _mm512_storeu_si512, _mm512_sub_epi64, _mm512_ternarylogic_epi64, _mm512_unpackhi_epi64,
    _mm512_unpacklo_epi64,
};

use crate::kernel::cpu::HaveAvx512;

/// Lanes of one register.
pub(in crate::kernel) const LANES: usize = 8;

/// A row of a table: three packed numbers of four words each, of which the first two change places by a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(32))]
pub(in crate::kernel) struct Row {
    /// The two that change places.
    pub(in crate::kernel) sides: [[u64; 4]; 2],
    /// The third.
    pub(in crate::kernel) third: [u64; 4],
}

/// One bit a lane, lane 0 in the lowest.
pub(in crate::kernel) type Mask8 = u8;

/// Eight lanes of 64 bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(in crate::kernel) struct U64x8(__m512i);

/// Expands to methods that take no memory: each is one intrinsic on registers.
macro_rules! lanewise {
    ($($(#[$doc:meta])* $name:ident($($argument:ident),*) = $intrinsic:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[must_use]
        pub(in crate::kernel) fn $name(self, $($argument: Self),*) -> Self {
            // SAFETY: `self` exists, so a `HaveAvx512` was there when it (or what it came from) was made, and the
            // proof covers every feature this file uses.
            Self(unsafe { $intrinsic(self.0, $($argument.0),*) })
        }
    )*};
}

/// The same for intrinsics with an immediate operand.
macro_rules! lanewise_const {
    ($($(#[$doc:meta])* $name:ident<$constant:ident: $type:ty>($($argument:ident),*) = $intrinsic:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[must_use]
        pub(in crate::kernel) fn $name<const $constant: $type>(self, $($argument: Self),*) -> Self {
            // SAFETY: as in `lanewise`: `self` exists only where the features do.
            Self(unsafe { $intrinsic::<$constant>(self.0, $($argument.0),*) })
        }
    )*};
}

impl U64x8 {
    /// All lanes zero.
    #[inline(always)]
    pub(in crate::kernel) fn zero(_have: HaveAvx512) -> Self {
        // SAFETY: `_have` exists only where detection found every feature this file uses.
        Self(unsafe { _mm512_setzero_si512() })
    }

    /// `value` in every lane.
    #[inline(always)]
    pub(in crate::kernel) fn splat(_have: HaveAvx512, value: u64) -> Self {
        // SAFETY: as in `zero`, by `_have`.
        Self(unsafe { _mm512_set1_epi64(value.cast_signed()) })
    }

    /// Lane `i` from `lanes[i]`.
    #[inline(always)]
    pub(in crate::kernel) fn load(_have: HaveAvx512, lanes: &[u64; LANES]) -> Self {
        // SAFETY: `lanes` is 64 readable bytes and the load asks for no alignment; features by `_have`.
        Self(unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) })
    }

    /// Lane `i` from bytes `8 i` to `8 i + 7`, little-endian.
    #[inline(always)]
    pub(in crate::kernel) fn load_bytes(_have: HaveAvx512, bytes: &[u8; 64]) -> Self {
        // SAFETY: `bytes` is 64 readable bytes and the load asks for no alignment; features by `_have`.
        Self(unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) })
    }

    /// Lanes 0 to 3 from `low`, lanes 4 to 7 from `high`.
    #[inline(always)]
    pub(in crate::kernel) fn load_halves(_have: HaveAvx512, low: &[u64; 4], high: &[u64; 4]) -> Self {
        // SAFETY: `low` is 32 readable bytes, unaligned is fine; features by `_have`.
        let low: __m256i = unsafe { _mm256_loadu_si256(low.as_ptr().cast()) };
        // SAFETY: `high` is 32 readable bytes, unaligned is fine; features by `_have`.
        let high: __m256i = unsafe { _mm256_loadu_si256(high.as_ptr().cast()) };
        // SAFETY: features by `_have`.
        let low = unsafe { _mm512_castsi256_si512(low) };
        // SAFETY: features by `_have`.
        Self(unsafe { _mm512_inserti64x4::<1>(low, high) })
    }

    /// As [`U64x8::load_bytes`], from fewer than 64 bytes; the byte behind them is `end`, the rest is zero.
    ///
    /// # Panics
    /// If there are 64 bytes or more.
    #[inline(always)]
    pub(in crate::kernel) fn load_short(_have: HaveAvx512, bytes: &[u8], end: u8) -> Self {
        assert!(bytes.len() < 64);
        let behind = 1u64 << bytes.len();
        // SAFETY: only the bytes that the mask names are read, the first `bytes.len()`; features by `_have`.
        let data = unsafe { _mm512_maskz_loadu_epi8(behind - 1, bytes.as_ptr().cast()) };
        // SAFETY: features by `_have`.
        Self(unsafe { _mm512_mask_set1_epi8(data, behind, end.cast_signed()) })
    }

    /// As [`U64x8::load_bytes`], from two pieces.
    #[inline(always)]
    pub(in crate::kernel) fn load_bytes_halves(_have: HaveAvx512, low: &[u8; 32], high: &[u8; 32]) -> Self {
        // SAFETY: `low` is 32 readable bytes, unaligned is fine; features by `_have`.
        let low: __m256i = unsafe { _mm256_loadu_si256(low.as_ptr().cast()) };
        // SAFETY: `high` is 32 readable bytes, unaligned is fine; features by `_have`.
        let high: __m256i = unsafe { _mm256_loadu_si256(high.as_ptr().cast()) };
        // SAFETY: features by `_have`.
        let low = unsafe { _mm512_castsi256_si512(low) };
        // SAFETY: features by `_have`.
        Self(unsafe { _mm512_inserti64x4::<1>(low, high) })
    }

    /// The lanes as an array.
    #[inline(always)]
    pub(in crate::kernel) fn to_array(self) -> [u64; LANES] {
        let mut lanes = [0; LANES];
        self.store(&mut lanes);
        lanes
    }

    /// Writes lane `i` to `lanes[i]`.
    #[inline(always)]
    pub(in crate::kernel) fn store(self, lanes: &mut [u64; LANES]) {
        // SAFETY: `lanes` is 64 writable bytes and the store asks for no alignment; features as `self` exists.
        unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), self.0) }
    }

    /// `value` in every lane; `self` only stands for the proof.
    #[inline(always)]
    pub(in crate::kernel) fn same(self, value: u64) -> Self {
        // SAFETY: features as `self` exists.
        Self(unsafe { _mm512_set1_epi64(value.cast_signed()) })
    }

    lanewise! {
        /// Sum mod 2^64.
        add(other) = _mm512_add_epi64;
        /// Difference mod 2^64.
        sub(other) = _mm512_sub_epi64;
        /// Bitwise and.
        and(other) = _mm512_and_si512;
        /// Bitwise or.
        or(other) = _mm512_or_si512;
        /// `self` plus the low 52 bits of the product of the low 52 bits of `a` and `b`.
        madd_lo(a, b) = _mm512_madd52lo_epu64;
        /// `self` plus bits 52 to 103 of the product of the low 52 bits of `a` and `b`.
        madd_hi(a, b) = _mm512_madd52hi_epu64;
        /// Absolute value as a signed number.
        abs() = _mm512_abs_epi64;
        /// Even lanes of both, interleaved: `s0 o0 s2 o2 s4 o4 s6 o6`.
        unpack_even(other) = _mm512_unpacklo_epi64;
        /// Odd lanes of both, interleaved: `s1 o1 s3 o3 s5 o5 s7 o7`.
        unpack_odd(other) = _mm512_unpackhi_epi64;
        /// Low 64 bits of each 128-bit number `high · 2^64 + self`, shifted right by `counts` mod 64.
        shr_double_by(high, counts) = _mm512_shrdv_epi64;
        /// Bytes of each 128-bit quarter by the pattern in `pattern`.
        shuffle_bytes(pattern) = _mm512_shuffle_epi8;
    }

    lanewise_const! {
        /// Logical shift left.
        shl<N: u32>() = _mm512_slli_epi64;
        /// Logical shift right.
        shr<N: u32>() = _mm512_srli_epi64;
        /// Arithmetic shift right.
        sar<N: u32>() = _mm512_srai_epi64;
        /// Rotate right.
        ror<N: i32>() = _mm512_ror_epi64;
        /// Low 64 bits of the 128-bit number `high · 2^64 + self`, shifted right.
        shr_double<N: i32>(high) = _mm512_shrdi_epi64;
        /// Bitwise function of three inputs; bit `4 a + 2 b + c` of `F` is its value.
        ternary<F: i32>(b, c) = _mm512_ternarylogic_epi64;
        /// 128-bit quarters: two of `self`, then two of `other`, by four 2-bit fields.
        shuffle_quarters<N: i32>(other) = _mm512_shuffle_i64x2;
        /// Lanes inside each 256-bit half, by four 2-bit fields.
        permute_in_halves<N: i32>() = _mm512_permutex_epi64;
    }

    /// Lanes of `other` where `mask` is set, else of `self`.
    #[inline(always)]
    #[must_use]
    pub(in crate::kernel) fn blend(self, mask: Mask8, other: Self) -> Self {
        // SAFETY: features as `self` exists.
        Self(unsafe { _mm512_mask_blend_epi64(mask, self.0, other.0) })
    }

    /// `a - b` where `mask` is set, else `self`.
    #[inline(always)]
    #[must_use]
    pub(in crate::kernel) fn mask_sub(self, mask: Mask8, a: Self, b: Self) -> Self {
        // SAFETY: features as `self` exists.
        Self(unsafe { _mm512_mask_sub_epi64(self.0, mask, a.0, b.0) })
    }

    /// Lanes that are equal.
    #[inline(always)]
    pub(in crate::kernel) fn equal(self, other: Self) -> Mask8 {
        // SAFETY: features as `self` exists.
        unsafe { _mm512_cmpeq_epi64_mask(self.0, other.0) }
    }

    /// Lanes that are at most those of `other`, as unsigned numbers.
    #[inline(always)]
    pub(in crate::kernel) fn at_most(self, other: Self) -> Mask8 {
        // SAFETY: features as `self` exists.
        unsafe { _mm512_cmple_epu64_mask(self.0, other.0) }
    }

    /// Lanes that are negative as signed numbers.
    #[inline(always)]
    pub(in crate::kernel) fn negative(self) -> Mask8 {
        // SAFETY: features as `self` exists.
        let zero = unsafe { _mm512_setzero_si512() };
        // SAFETY: features as `self` exists.
        unsafe { _mm512_cmplt_epi64_mask(self.0, zero) }
    }

    /// Four words a lane, lane `i` from `rows[i]`, as four registers: word `j` of lane `i` is lane `i` of register `j`.
    #[inline(always)]
    pub(in crate::kernel) fn transpose_4(have: HaveAvx512, rows: [&[u64; 4]; LANES]) -> [Self; 4] {
        let [r0, r1, r2, r3, r4, r5, r6, r7] = rows;
        let [a, b] = Self::transpose_4_pairs(have, [r0, r1, r2, r3]);
        let [c, d] = Self::transpose_4_pairs(have, [r4, r5, r6, r7]);
        Self::transpose_4_finish([a, b, c, d])
    }

    /// The first step of [`U64x8::transpose_4`] for half of the rows: words 0 and 2, words 1 and 3.
    #[inline(always)]
    pub(in crate::kernel) fn transpose_4_pairs(have: HaveAvx512, rows: [&[u64; 4]; 4]) -> [Self; 2] {
        // Rows that meet in one register are chosen so that an unpack and a shuffle of quarters put lanes in order.
        let (a, b) = (Self::load_halves(have, rows[0], rows[2]), Self::load_halves(have, rows[1], rows[3]));
        [a.unpack_even(b), a.unpack_odd(b)]
    }

    /// The second step of [`U64x8::transpose_4`], from both halves.
    #[inline(always)]
    pub(in crate::kernel) fn transpose_4_finish(pairs: [Self; 4]) -> [Self; 4] {
        let [low_even, low_odd, high_even, high_odd] = pairs;
        [
            low_even.shuffle_quarters::<QUARTERS_0_AND_2>(high_even),
            low_odd.shuffle_quarters::<QUARTERS_0_AND_2>(high_odd),
            low_even.shuffle_quarters::<QUARTERS_1_AND_3>(high_even),
            low_odd.shuffle_quarters::<QUARTERS_1_AND_3>(high_odd),
        ]
    }

    /// The 8 × 8 transpose: lane `i` of register `j` becomes lane `j` of register `i`.
    #[inline(always)]
    pub(in crate::kernel) fn transpose_8(rows: [Self; LANES]) -> [Self; LANES] {
        let [r0, r1, r2, r3, r4, r5, r6, r7] = rows;
        // Pairs of lanes: `e01` has columns 0, 2, 4, 6 of rows 0 and 1, one column a quarter.
        let (e01, o01) = (r0.unpack_even(r1), r0.unpack_odd(r1));
        let (e23, o23) = (r2.unpack_even(r3), r2.unpack_odd(r3));
        let (e45, o45) = (r4.unpack_even(r5), r4.unpack_odd(r5));
        let (e67, o67) = (r6.unpack_even(r7), r6.unpack_odd(r7));
        let four =
            |a: Self, b: Self| (a.shuffle_quarters::<QUARTERS_0_AND_2>(b), a.shuffle_quarters::<QUARTERS_1_AND_3>(b));
        // `e_low_04`: columns 0 and 4 of rows 0 to 3, in quarters 0,2 (rows 0, 1) and 1,3 (rows 2, 3) order.
        let (e_low_04, e_low_26) = four(e01, e23);
        let (e_high_04, e_high_26) = four(e45, e67);
        let (o_low_15, o_low_37) = four(o01, o23);
        let (o_high_15, o_high_37) = four(o45, o67);
        let (c0, c4) = four(e_low_04, e_high_04);
        let (c2, c6) = four(e_low_26, e_high_26);
        let (c1, c5) = four(o_low_15, o_high_15);
        let (c3, c7) = four(o_low_37, o_high_37);
        [c0, c1, c2, c3, c4, c5, c6, c7]
    }

    /// Lane `i` takes lane `i ^ 1`.
    #[inline(always)]
    #[must_use]
    pub(in crate::kernel) fn swap_1(self) -> Self {
        self.permute_in_halves::<LANES_1_0_3_2>()
    }

    /// Lane `i` takes lane `i ^ 2`.
    #[inline(always)]
    #[must_use]
    pub(in crate::kernel) fn swap_2(self) -> Self {
        self.permute_in_halves::<LANES_2_3_0_1>()
    }

    /// Lane `i` takes lane `i ^ 4`.
    #[inline(always)]
    #[must_use]
    pub(in crate::kernel) fn swap_4(self) -> Self {
        self.shuffle_quarters::<QUARTERS_2_3_0_1>(self)
    }
}

/// Makes the compiler put `value` into memory here and read it from there afterwards.
///
/// Between the steps of a long computation this keeps the compiler from scheduling one into the next, which costs more
/// registers than there are and ends in many more stores and loads than these.
#[inline(always)]
pub(in crate::kernel) fn keep_in_memory<T>(value: &mut T) {
    std::hint::black_box(value);
}

/// Makes the compiler have these values in registers at this point of the program, and go on from there.
#[inline(always)]
pub(in crate::kernel) fn pin(a: &mut U64x8, b: &mut U64x8, c: &mut U64x8, d: &mut U64x8, e: &mut U64x8) {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn registers(a: __m512i, b: __m512i, c: __m512i, d: __m512i, e: __m512i) -> [__m512i; 5] {
        let (mut a, mut b, mut c, mut d, mut e) = (a, b, c, d, e);
        // SAFETY: the text is a comment: nothing happens.
        unsafe {
            std::arch::asm!("/* {0} {1} {2} {3} {4} */", inout(zmm_reg) a, inout(zmm_reg) b, inout(zmm_reg) c,
                inout(zmm_reg) d, inout(zmm_reg) e, options(nostack, preserves_flags));
        }
        [a, b, c, d, e]
    }
    // SAFETY: the values exist only where the features do.
    [a.0, b.0, c.0, d.0, e.0] = unsafe { registers(a.0, b.0, c.0, d.0, e.0) };
}

/// Asks for the two cache lines a table row lies on.
#[inline(always)]
pub(in crate::kernel) fn prefetch_row(_have: HaveAvx512, row: &Row) {
    // SAFETY: a prefetch reads nothing that the program can see, and SSE is part of every x86-64; the address is a row.
    unsafe { _mm_prefetch::<_MM_HINT_T0>((&raw const *row).cast()) }
    // SAFETY: as above; the last word is inside the row.
    unsafe { _mm_prefetch::<_MM_HINT_T0>((&raw const row.third[3]).cast()) }
}

/// Fields of [`U64x8::shuffle_quarters`]: 0 and 2 of each operand.
const QUARTERS_0_AND_2: i32 = 0b10_00_10_00;
/// Quarters 1 and 3 of each operand.
const QUARTERS_1_AND_3: i32 = 0b11_01_11_01;
/// Both halves exchanged, where both operands are the same register.
const QUARTERS_2_3_0_1: i32 = 0b01_00_11_10;
/// Fields of [`U64x8::permute_in_halves`]: neighbours exchanged.
const LANES_1_0_3_2: i32 = 0b10_11_00_01;
/// Pairs exchanged.
const LANES_2_3_0_1: i32 = 0b01_00_11_10;

impl std::fmt::Debug for U64x8 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.to_array()).finish()
    }
}
