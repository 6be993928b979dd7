//! Constants of the curve (RFC 8032 section 5.1), five limbs of 51 bits. Tests recompute them.

use super::field::LIMBS;

/// `1`.
pub(super) const ONE: [u64; LIMBS] = [1, 0, 0, 0, 0];

/// `1 / 2`.
pub(super) const HALF: [u64; LIMBS] =
    [0x0007_ffff_ffff_fff7, 0x0007_ffff_ffff_ffff, 0x0007_ffff_ffff_ffff, 0x0007_ffff_ffff_ffff, 0x0003_ffff_ffff_ffff];

/// `d = -121665 / 121666`.
pub(super) const D: [u64; LIMBS] =
    [0x0003_4dca_1359_78a3, 0x0001_a828_3b15_6ebd, 0x0005_e7a2_6001_c029, 0x0007_39c6_63a0_3cbb, 0x0005_2036_cee2_b6ff];

/// `2 d`.
pub(super) const D2: [u64; LIMBS] =
    [0x0006_9b94_26b2_f159, 0x0003_5050_762a_dd7a, 0x0003_cf44_c003_8052, 0x0006_738c_c740_7977, 0x0002_406d_9dc5_6dff];

/// `1 / 2 d`.
pub(super) const INVERSE_D2: [u64; LIMBS] =
    [0x0000_793b_66e4_fc18, 0x0001_8427_9542_e25e, 0x0003_739e_cc16_bbad, 0x0003_90ca_c588_4533, 0x0006_0483_f690_a6ae];

/// A square root of -1.
pub(super) const SQRT_MINUS_ONE: [u64; LIMBS] =
    [0x0006_1b27_4a0e_a0b0, 0x0000_d5a5_fc8f_189d, 0x0007_ef5e_9cbd_0c60, 0x0007_8595_a680_4c9e, 0x0002_b832_4804_fc1d];

/// The encoding of the base point `B`.
pub(super) const BASE_POINT: [u8; 32] = {
    let mut encoded = [0x66; 32];
    encoded[0] = 0x58;
    encoded
};

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;

    fn big(limbs: [u64; LIMBS]) -> BigUint {
        limbs.iter().rev().fold(BigUint::ZERO, |number, limb| (number << 51u32) + *limb)
    }

    #[test]
    fn constants_are_what_their_comments_say() {
        let p = (BigUint::from(1u8) << 255u32) - 19u8;
        let minus_one = &p - 1u8;
        assert_eq!(big(HALF) * 2u8 % &p, big(ONE));
        assert_eq!((big(D) * 121_666u32 + 121_665u32) % &p, BigUint::ZERO);
        assert_eq!(big(D) * 2u8 % &p, big(D2));
        assert_eq!(big(D2) * big(INVERSE_D2) % &p, big(ONE));
        assert_eq!(big(SQRT_MINUS_ONE).modpow(&BigUint::from(2u8), &p), minus_one);
        // The base point has y = 4 / 5 and an even x.
        let y = BigUint::from_bytes_le(&BASE_POINT);
        assert_eq!(y * 5u8 % &p, BigUint::from(4u8));
    }
}
