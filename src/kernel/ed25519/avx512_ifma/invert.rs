//! One inverse mod `p = 2^255 - 19`, on ordinary registers: the single inversion that a batch shares.
//!
//! Bernstein and Yang's division steps ("Fast constant-time gcd computation and modular inversion", eprint 2019/266)
//! in their variable-time form, 62 steps at a time on the low words, then one 2 × 2 matrix on the whole numbers. A
//! vector chain of 254 squarings waits for the multiplier's latency and takes several times as long.
//!
//! Numbers are five signed limbs of radix 2^62. All inputs are public, so time may depend on them.

/// Bits of a limb.
const BITS: u32 = 62;
/// The low 62 bits.
const MASK: i64 = (1 << BITS) - 1;
/// Limbs.
const LIMBS: usize = 5;
/// Limb 0 of `p` (limbs 1 to 3 are zero).
const P0: i64 = -19;
/// Limb 4 of `p`: `2^255 = 128 · 2^248`.
const P4: i64 = 128;
/// `p^-1 mod 2^62`.
const P_INVERSE: i64 = {
    // Newton: each round doubles the number of right bits; an odd number is its own inverse mod 8.
    let p = P0;
    let mut inverse = p;
    let mut round = 0;
    while round < 5 {
        inverse = inverse.wrapping_mul(2i64.wrapping_sub(p.wrapping_mul(inverse)));
        round += 1;
    }
    inverse & MASK
};

/// A signed number, `sum limb[i] 2^(62 i)`; limbs 0 to 3 are in `0..2^62` after an update, limb 4 carries the sign.
type Signed = [i64; LIMBS];

/// The matrix of 62 division steps, times 2^62: entries at most 2^62 in absolute value.
struct Matrix {
    u: i64,
    v: i64,
    q: i64,
    r: i64,
}

/// `1 / x mod p` for canonical `x`, little-endian words; `0` for `0`.
pub(super) fn invert_vartime(x: [u64; 4]) -> [u64; 4] {
    let mut f: Signed = [P0, 0, 0, 0, P4];
    let mut g = split(x);
    let mut d: Signed = [0; LIMBS];
    let mut e: Signed = [1, 0, 0, 0, 0];
    let mut eta = -1;
    while g != [0; LIMBS] {
        let matrix = division_steps(&mut eta, f[0] | f[1] << BITS, g[0] | g[1] << BITS);
        update_de(&mut d, &mut e, &matrix);
        update_fg(&mut f, &mut g, &matrix);
    }
    // Now f is the gcd, 1 or -1 (or p, for x = 0, where d is 0 mod p), and f = d x mod p.
    normalise(d, f[LIMBS - 1] < 0)
}

/// 62 division steps on the low 64 bits. Adding a multiple of `f` to `g` clears several bits of `g` at once.
fn division_steps(eta: &mut i64, f: i64, g: i64) -> Matrix {
    let (mut u, mut v, mut q, mut r) = (1i64, 0i64, 0i64, 1i64);
    let (mut f, mut g) = (f as u64, g as u64);
    let mut left = BITS;
    loop {
        let zeros = (g | u64::MAX << left).trailing_zeros();
        g >>= zeros;
        u <<= zeros;
        v <<= zeros;
        *eta -= i64::from(zeros);
        left -= zeros;
        if left == 0 {
            return Matrix { u, v, q, r };
        }
        // Both are odd now.
        let multiple;
        if *eta < 0 {
            *eta = -*eta;
            (f, g) = (g, f.wrapping_neg());
            (u, q) = (q, u.wrapping_neg());
            (v, r) = (r, v.wrapping_neg());
            // -g / f mod 2^6: f (f^2 - 2) is -1 / f mod 2^6 for odd f.
            let mask = low_ones(*eta, left) & 63;
            multiple = f.wrapping_mul(g).wrapping_mul(f.wrapping_mul(f).wrapping_sub(2)) & mask;
        } else {
            // -g / f mod 2^4: f + ((f + 1) & 4) 2 is 1 / f mod 2^4 for odd f.
            let mask = low_ones(*eta, left) & 15;
            let inverse = f.wrapping_add((f.wrapping_add(1) & 4) << 1);
            multiple = inverse.wrapping_neg().wrapping_mul(g) & mask;
        }
        g = g.wrapping_add(f.wrapping_mul(multiple));
        q = q.wrapping_add(u.wrapping_mul(multiple.cast_signed()));
        r = r.wrapping_add(v.wrapping_mul(multiple.cast_signed()));
    }
}

/// As many low ones as steps may be taken before the roles of `f` and `g` change: `min(eta + 1, left)`, at least 1.
fn low_ones(eta: i64, left: u32) -> u64 {
    let limit = if eta + 1 > i64::from(left) { left } else { (eta + 1) as u32 };
    u64::MAX >> (64 - limit)
}

/// `(d, e) = matrix (d, e) / 2^62 mod p`, both staying in `-2p..p`.
fn update_de(d: &mut Signed, e: &mut Signed, matrix: &Matrix) {
    let (u, v, q, r) = (i128::from(matrix.u), i128::from(matrix.v), i128::from(matrix.q), i128::from(matrix.r));
    let (d_sign, e_sign) = (d[4] >> 63, e[4] >> 63);
    // Multiples of p: first to make negative numbers positive, then to clear the low 62 bits.
    let mut d_multiple = (matrix.u & d_sign) + (matrix.v & e_sign);
    let mut e_multiple = (matrix.q & d_sign) + (matrix.r & e_sign);
    let mut d_sum = u * i128::from(d[0]) + v * i128::from(e[0]);
    let mut e_sum = q * i128::from(d[0]) + r * i128::from(e[0]);
    d_multiple -= P_INVERSE.wrapping_mul(d_sum as i64).wrapping_add(d_multiple) & MASK;
    e_multiple -= P_INVERSE.wrapping_mul(e_sum as i64).wrapping_add(e_multiple) & MASK;
    d_sum += i128::from(P0) * i128::from(d_multiple);
    e_sum += i128::from(P0) * i128::from(e_multiple);
    debug_assert!(d_sum as i64 & MASK == 0 && e_sum as i64 & MASK == 0);
    d_sum >>= BITS;
    e_sum >>= BITS;
    for i in 1..LIMBS {
        d_sum += u * i128::from(d[i]) + v * i128::from(e[i]);
        e_sum += q * i128::from(d[i]) + r * i128::from(e[i]);
        if i == LIMBS - 1 {
            d_sum += i128::from(P4) * i128::from(d_multiple);
            e_sum += i128::from(P4) * i128::from(e_multiple);
        }
        d[i - 1] = d_sum as i64 & MASK;
        e[i - 1] = e_sum as i64 & MASK;
        d_sum >>= BITS;
        e_sum >>= BITS;
    }
    d[LIMBS - 1] = d_sum as i64;
    e[LIMBS - 1] = e_sum as i64;
}

/// `(f, g) = matrix (f, g) / 2^62`; the division is exact.
fn update_fg(f: &mut Signed, g: &mut Signed, matrix: &Matrix) {
    let (u, v, q, r) = (i128::from(matrix.u), i128::from(matrix.v), i128::from(matrix.q), i128::from(matrix.r));
    let mut f_sum = u * i128::from(f[0]) + v * i128::from(g[0]);
    let mut g_sum = q * i128::from(f[0]) + r * i128::from(g[0]);
    debug_assert!(f_sum as i64 & MASK == 0 && g_sum as i64 & MASK == 0);
    f_sum >>= BITS;
    g_sum >>= BITS;
    for i in 1..LIMBS {
        f_sum += u * i128::from(f[i]) + v * i128::from(g[i]);
        g_sum += q * i128::from(f[i]) + r * i128::from(g[i]);
        f[i - 1] = f_sum as i64 & MASK;
        g[i - 1] = g_sum as i64 & MASK;
        f_sum >>= BITS;
        g_sum >>= BITS;
    }
    f[LIMBS - 1] = f_sum as i64;
    g[LIMBS - 1] = g_sum as i64;
}

/// Canonical words into limbs.
fn split(x: [u64; 4]) -> Signed {
    let mask = MASK as u64;
    [
        (x[0] & mask) as i64,
        ((x[0] >> 62 | x[1] << 2) & mask) as i64,
        ((x[1] >> 60 | x[2] << 4) & mask) as i64,
        ((x[2] >> 58 | x[3] << 6) & mask) as i64,
        (x[3] >> 56) as i64,
    ]
}

/// `d`, or `-d` if `negate`, from `-2p..p` into `0..p`, as words.
fn normalise(mut d: Signed, negate: bool) -> [u64; 4] {
    let add_p = |d: &mut Signed| {
        d[0] += P0;
        d[4] += P4;
        carry(d);
    };
    if d[4] < 0 {
        add_p(&mut d);
    }
    if negate {
        for limb in &mut d {
            *limb = -*limb;
        }
        carry(&mut d);
    }
    while d[4] < 0 {
        add_p(&mut d);
    }
    let limb = d.map(|limb| limb as u64);
    [limb[0] | limb[1] << 62, limb[1] >> 2 | limb[2] << 60, limb[2] >> 4 | limb[3] << 58, limb[3] >> 6 | limb[4] << 56]
}

/// Brings limbs 0 to 3 into `0..2^62`.
fn carry(d: &mut Signed) {
    for i in 0..LIMBS - 1 {
        d[i + 1] += d[i] >> BITS;
        d[i] &= MASK;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Little-endian words of `p`.
    const P: [u64; 4] = [u64::MAX - 18, u64::MAX, u64::MAX, u64::MAX >> 1];

    fn big(words: [u64; 4]) -> num_bigint::BigUint {
        num_bigint::BigUint::from_slice(&words.map(|word| [word as u32, (word >> 32) as u32]).concat())
    }

    #[test]
    fn an_inverse_times_its_number_is_one() {
        let p = big(P);
        let mut cases = vec![[1, 0, 0, 0], [2, 0, 0, 0], [P[0] - 1, P[1], P[2], P[3]], [0, 0, 0, 1 << 62]];
        cases.extend((0..255).map(|bit| std::array::from_fn(|i| if i == bit / 64 { 1 << (bit % 64) } else { 0 })));
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        for _ in 0..2000 {
            cases.push(std::array::from_fn(|i| {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                let word = state ^ state >> 29;
                if i == 3 { word >> 1 } else { word }
            }));
        }
        for x in cases {
            assert_eq!(big(x) * big(invert_vartime(x)) % &p, num_bigint::BigUint::from(1u8), "{x:x?}");
        }
    }

    #[test]
    fn the_inverse_of_zero_is_zero() {
        assert_eq!(invert_vartime([0; 4]), [0; 4]);
    }
}
