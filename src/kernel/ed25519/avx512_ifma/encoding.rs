//! Between points and their 32-byte encodings (RFC 8032 sections 5.1.2 and 5.1.3), eight at a time.

use super::constants::{D, ONE, SQRT_MINUS_ONE};
use super::field::{Fe, LIMBS};
use crate::kernel::cpu::HaveAvx512;
use crate::kernel::vector::{Mask8, U64x8};

/// Affine points in lanes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decoded {
    /// x.
    pub(super) x: Fe,
    /// y.
    pub(super) y: Fe,
    /// Lanes whose encoding is that of a point, canonical or not; the coordinates of the others mean nothing.
    pub(super) on_curve: Mask8,
}

/// The points of eight encodings, words little-endian. Like most libraries it takes `y >= p` and a sign on `x = 0`;
/// whoever needs the canonical encoding checks that as well.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512ifma")]
pub(super) fn decode(have: HaveAvx512, words: [U64x8; 4]) -> Decoded {
    let one = Fe::splat(have, &ONE);
    let y = Fe::unpack(words);
    let yy = y.square();
    let u = yy.sub(&one);
    let v = yy.mul(&Fe::splat(have, &D)).add(&one);
    // x = (u / v)^((p + 3) / 8) = u v^3 (u v^7)^((p - 5) / 8), up to a square root of -1.
    let v3 = v.square().mul(&v);
    let v7 = v3.square().mul(&v);
    let x = u.mul(&v3).mul(&u.mul(&v7).power_p58());
    let vxx = x.square().mul(&v);
    let zero = Fe::splat(have, &[0; LIMBS]);
    let root = vxx.equal(&u);
    let root_of_negative = vxx.equal(&zero.sub(&u));
    let x = x.blend(root_of_negative & !root, &x.mul(&Fe::splat(have, &SQRT_MINUS_ONE)));
    let odd = x.pack()[0].shl::<63>();
    let wrong_sign = odd.ternary::<XOR_FIRST_TWO>(words[3], odd).negative();
    Decoded { x: x.blend(wrong_sign, &zero.sub(&x)), y, on_curve: root | root_of_negative }
}

/// The encodings of the points `((sum - difference) w, (sum + difference) w)`, which is affine `(x, y)` for `w = 1 / 2 Z`.
#[inline(always)]
pub(super) fn encode(sum: &Fe, difference: &Fe, w: &Fe) -> [U64x8; 4] {
    let (sum, difference) = (sum.mul(w), difference.mul(w));
    let x = sum.sub(&difference).pack();
    let [y0, y1, y2, y3] = sum.add(&difference).pack();
    [y0, y1, y2, y3.or(x[0].shl::<63>())]
}

/// Function of [`U64x8::ternary`]: `a xor b`, whatever `c`.
const XOR_FIRST_TWO: i32 = 0b0011_1100;

#[cfg(test)]
mod tests {
    use curve25519_dalek::edwards::CompressedEdwardsY;

    use super::*;
    use crate::kernel::ed25519::avx512_ifma::testing::{Random, have, load};
    use crate::kernel::vector::LANES;

    #[test]
    fn points_decode_as_in_dalek_and_encode_back() {
        let Some(have) = have() else { return };
        let p = [u64::MAX - 18, u64::MAX, u64::MAX, u64::MAX >> 1];
        let mut cases: Vec<[u64; 4]> = Vec::new();
        // y from 0 up and from p - 19 to 2^255 - 1, both signs: small orders and all non-canonical encodings are here.
        for offset in 0..38 {
            let near_p = [p[0] - 19 + offset, p[1], p[2], p[3]];
            for low in [[offset, 0, 0, 0], near_p] {
                cases.extend([low, [low[0], low[1], low[2], low[3] | 1 << 63]]);
            }
        }
        for point in curve25519_dalek::constants::EIGHT_TORSION {
            let encoded = point.compress().0;
            cases.push(std::array::from_fn(|i| u64::from_le_bytes(encoded.as_chunks::<8>().0[i])));
        }
        let mut random = Random(9);
        cases.extend((0..400).map(|_| random.scalar()));
        let one = Fe::splat(have, &ONE);
        let half = Fe::splat(have, &super::super::constants::HALF);
        for cases in cases.as_chunks::<LANES>().0 {
            #[expect(unsafe_code, reason = "entry into code compiled for more than the build's baseline")]
            // SAFETY: `have` exists only where detection found every feature.
            let got = unsafe { decode(have, load(have, cases)) };
            assert!(one.equal(&half.add(&half)) == Mask8::MAX);
            let encoded = encode(&got.y.add(&got.x), &got.y.sub(&got.x), &half).map(U64x8::to_array);
            for (lane, case) in cases.iter().enumerate() {
                let bytes: Vec<u8> = case.iter().flat_map(|word| word.to_le_bytes()).collect();
                let want = CompressedEdwardsY(bytes.try_into().unwrap()).decompress();
                assert_eq!(got.on_curve >> lane & 1 == 1, want.is_some(), "{case:x?}");
                if let Some(point) = want {
                    let bytes: Vec<u8> = encoded.iter().flat_map(|word| word[lane].to_le_bytes()).collect();
                    assert_eq!(bytes, point.compress().as_bytes(), "{case:x?}");
                }
            }
        }
    }
}
