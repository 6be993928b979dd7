//! Eight messages in the lanes of AVX-512 registers.
//!
//! Lanes are independent. Each reads its own 64-byte halves of blocks straight from the message as long as whole
//! halves last, and from a small tail buffer with the padding after that. A lane that has no more blocks keeps its state
//! while the others go on.

use super::{BLOCK, Message, PREFIX};
use crate::kernel::cpu::HaveAvx512;
use crate::kernel::vector::{LANES, Mask8, U64x8, keep_in_memory};

/// Half a block: what one load takes.
const HALF: usize = BLOCK / 2;

/// Initial state (FIPS 180-4 section 5.3.5).
const INITIAL: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];

/// Round constants (FIPS 180-4 section 4.2.3).
#[rustfmt::skip]
const ROUND_CONSTANTS: [u64; 80] = [
    0x428a_2f98_d728_ae22, 0x7137_4491_23ef_65cd, 0xb5c0_fbcf_ec4d_3b2f, 0xe9b5_dba5_8189_dbbc,
    0x3956_c25b_f348_b538, 0x59f1_11f1_b605_d019, 0x923f_82a4_af19_4f9b, 0xab1c_5ed5_da6d_8118,
    0xd807_aa98_a303_0242, 0x1283_5b01_4570_6fbe, 0x2431_85be_4ee4_b28c, 0x550c_7dc3_d5ff_b4e2,
    0x72be_5d74_f27b_896f, 0x80de_b1fe_3b16_96b1, 0x9bdc_06a7_25c7_1235, 0xc19b_f174_cf69_2694,
    0xe49b_69c1_9ef1_4ad2, 0xefbe_4786_384f_25e3, 0x0fc1_9dc6_8b8c_d5b5, 0x240c_a1cc_77ac_9c65,
    0x2de9_2c6f_592b_0275, 0x4a74_84aa_6ea6_e483, 0x5cb0_a9dc_bd41_fbd4, 0x76f9_88da_8311_53b5,
    0x983e_5152_ee66_dfab, 0xa831_c66d_2db4_3210, 0xb003_27c8_98fb_213f, 0xbf59_7fc7_beef_0ee4,
    0xc6e0_0bf3_3da8_8fc2, 0xd5a7_9147_930a_a725, 0x06ca_6351_e003_826f, 0x1429_2967_0a0e_6e70,
    0x27b7_0a85_46d2_2ffc, 0x2e1b_2138_5c26_c926, 0x4d2c_6dfc_5ac4_2aed, 0x5338_0d13_9d95_b3df,
    0x650a_7354_8baf_63de, 0x766a_0abb_3c77_b2a8, 0x81c2_c92e_47ed_aee6, 0x9272_2c85_1482_353b,
    0xa2bf_e8a1_4cf1_0364, 0xa81a_664b_bc42_3001, 0xc24b_8b70_d0f8_9791, 0xc76c_51a3_0654_be30,
    0xd192_e819_d6ef_5218, 0xd699_0624_5565_a910, 0xf40e_3585_5771_202a, 0x106a_a070_32bb_d1b8,
    0x19a4_c116_b8d2_d0c8, 0x1e37_6c08_5141_ab53, 0x2748_774c_df8e_eb99, 0x34b0_bcb5_e19b_48a8,
    0x391c_0cb3_c5c9_5a63, 0x4ed8_aa4a_e341_8acb, 0x5b9c_ca4f_7763_e373, 0x682e_6ff3_d6b2_b8a3,
    0x748f_82ee_5def_b2fc, 0x78a5_636f_4317_2f60, 0x84c8_7814_a1f0_ab72, 0x8cc7_0208_1a64_39ec,
    0x90be_fffa_2363_1e28, 0xa450_6ceb_de82_bde9, 0xbef9_a3f7_b2c6_7915, 0xc671_78f2_e372_532b,
    0xca27_3ece_ea26_619c, 0xd186_b8c7_21c0_c207, 0xeada_7dd6_cde0_eb1e, 0xf57d_4f7f_ee6e_d178,
    0x06f0_67aa_7217_6fba, 0x0a63_7dc5_a2c8_98a6, 0x113f_9804_bef9_0dae, 0x1b71_0b35_131c_471b,
    0x28db_77f5_2304_7d84, 0x32ca_ab7b_40c7_2493, 0x3c9e_be0a_15c9_bebc, 0x431d_67c4_9c10_0d4c,
    0x4cc5_d4be_cb3e_42b6, 0x597f_299c_fc65_7e2a, 0x5fcb_6fab_3ad6_faec, 0x6c44_198c_4a47_5817,
];

/// `a xor b xor c`.
const XOR: i32 = 0x96;
/// `a ? b : c`, bit by bit.
const CHOOSE: i32 = 0xca;
/// The value at least two inputs have, bit by bit.
const MAJORITY: i32 = 0xe8;

/// The hashes as little-endian words: word `i` of lane `l` holds bytes `8 i` to `8 i + 7` of the digest of message `l`,
/// lowest first.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512ifma")]
pub(in crate::kernel) fn hash_x8(have: HaveAvx512, messages: &[Message<'_>; LANES]) -> [U64x8; 8] {
    // An aligned object on the stack: without one the compiler does not align what it spills.
    let mut swap = U64x8::load_bytes(have, &BYTE_SWAP);
    keep_in_memory(&mut swap);
    let mut blocks = [0; LANES];
    let mut bits = [0; LANES];
    for (lane, message) in messages.iter().enumerate() {
        blocks[lane] = message.blocks();
        // The length in bits fits 64 bits of the 128: no slice has 2^61 bytes.
        bits[lane] = 8 * (PREFIX + message.body.len()) as u64;
    }
    let longest = blocks.iter().copied().max().unwrap_or(0);
    let bits = U64x8::load(have, &bits);
    let mut state = INITIAL.map(|word| U64x8::splat(have, word));
    for block in 0..longest {
        let (mut active, mut ending): (Mask8, Mask8) = (0, 0);
        let mut low = [U64x8::zero(have); LANES];
        let mut high = low;
        for lane in 0..LANES {
            let message = &messages[lane];
            active |= Mask8::from(block < blocks[lane]) << lane;
            ending |= Mask8::from(block + 1 == blocks[lane]) << lane;
            low[lane] = match block {
                0 => U64x8::load_bytes_halves(have, message.first, message.second),
                _ => load_half(have, message.body, 2 * block - 1),
            };
            high[lane] = load_half(have, message.body, 2 * block);
        }
        let (low, high) = (U64x8::transpose_8(low), U64x8::transpose_8(high));
        let mut w = [U64x8::zero(have); 16];
        for i in 0..8 {
            w[i] = low[i].shuffle_bytes(swap);
            w[i + 8] = high[i].shuffle_bytes(swap);
        }
        // The length ends the last block. Nothing else reaches there.
        w[15] = w[15].blend(ending, bits);
        let next = compress(have, state, w);
        for i in 0..8 {
            state[i] = state[i].blend(active, next[i]);
        }
    }
    for word in &mut state {
        *word = word.shuffle_bytes(swap);
    }
    state
}

/// Half number `half` of a body, counted from 0, followed by the first byte of the padding if the body ends in it;
/// zeros behind that.
#[inline(always)]
fn load_half(have: HaveAvx512, body: &[u8], half: usize) -> U64x8 {
    match body.get(half * HALF..) {
        Some(rest) => match rest.first_chunk::<HALF>() {
            Some(whole) => U64x8::load_bytes(have, whole),
            None => U64x8::load_short(have, rest, 0x80),
        },
        None => U64x8::zero(have),
    }
}

/// Reverses the bytes of each 64-bit word.
const BYTE_SWAP: [u8; 64] = {
    let mut pattern = [0; 64];
    let mut i = 0;
    while i < 64 {
        // Positions count from the start of a 128-bit quarter.
        pattern[i] = (i as u8 & 8) + 7 - (i as u8 & 7);
        i += 1;
    }
    pattern
};

/// One block of each lane (FIPS 180-4 section 6.4.2).
#[inline(always)]
fn compress(have: HaveAvx512, state: [U64x8; 8], mut w: [U64x8; 16]) -> [U64x8; 8] {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
    macro_rules! round {
        ($a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident, $k:ident, $i:literal) => {
            let big_e = $e.ror::<14>().ternary::<XOR>($e.ror::<18>(), $e.ror::<41>());
            let t = $h.add(w[$i].add(U64x8::splat(have, $k[$i]))).add($e.ternary::<CHOOSE>($f, $g)).add(big_e);
            let big_a = $a.ror::<28>().ternary::<XOR>($a.ror::<34>(), $a.ror::<39>());
            $d = $d.add(t);
            $h = t.add(big_a.add($a.ternary::<MAJORITY>($b, $c)));
        };
    }
    // Word `i` of the next sixteen, once word `i` of these has been used.
    macro_rules! schedule {
        ($i:literal) => {
            let (early, late) = (w[($i + 1) % 16], w[($i + 14) % 16]);
            let small_0 = early.ror::<1>().ternary::<XOR>(early.ror::<8>(), early.shr::<7>());
            let small_1 = late.ror::<19>().ternary::<XOR>(late.ror::<61>(), late.shr::<6>());
            w[$i] = w[$i].add(small_0).add(w[($i + 9) % 16].add(small_1));
        };
    }
    macro_rules! sixteen_rounds {
        ($k:ident $(, $schedule:ident)?) => {
            round!(a b c d e f g h, $k, 0);
            $($schedule!(0);)?
            round!(h a b c d e f g, $k, 1);
            $($schedule!(1);)?
            round!(g h a b c d e f, $k, 2);
            $($schedule!(2);)?
            round!(f g h a b c d e, $k, 3);
            $($schedule!(3);)?
            round!(e f g h a b c d, $k, 4);
            $($schedule!(4);)?
            round!(d e f g h a b c, $k, 5);
            $($schedule!(5);)?
            round!(c d e f g h a b, $k, 6);
            $($schedule!(6);)?
            round!(b c d e f g h a, $k, 7);
            $($schedule!(7);)?
            round!(a b c d e f g h, $k, 8);
            $($schedule!(8);)?
            round!(h a b c d e f g, $k, 9);
            $($schedule!(9);)?
            round!(g h a b c d e f, $k, 10);
            $($schedule!(10);)?
            round!(f g h a b c d e, $k, 11);
            $($schedule!(11);)?
            round!(e f g h a b c d, $k, 12);
            $($schedule!(12);)?
            round!(d e f g h a b c, $k, 13);
            $($schedule!(13);)?
            round!(c d e f g h a b, $k, 14);
            $($schedule!(14);)?
            round!(b c d e f g h a, $k, 15);
            $($schedule!(15);)?
        };
    }
    let ([first @ .., last], _) = ROUND_CONSTANTS.as_chunks::<16>() else { return state };
    for k in first {
        sixteen_rounds!(k, schedule);
    }
    sixteen_rounds!(last);
    let [s0, s1, s2, s3, s4, s5, s6, s7] = state;
    [s0.add(a), s1.add(b), s2.add(c), s3.add(d), s4.add(e), s5.add(f), s6.add(g), s7.add(h)]
}

/// Lane SHA-512 by itself, for benches; nothing in the service calls it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Sha512Lanes(HaveAvx512);

impl Sha512Lanes {
    /// The lanes, if this CPU has them.
    #[must_use]
    pub fn detect() -> Option<Self> {
        HaveAvx512::detect().map(Self)
    }

    /// The digests of eight messages.
    ///
    /// # Panics
    /// If a message is shorter than 64 bytes, which the signature kernels never hash.
    #[must_use]
    pub fn hash(self, messages: &[&[u8]; LANES]) -> [[u8; 64]; LANES] {
        let messages = messages.map(|message| {
            let (first, rest) = message.split_first_chunk().expect("64 bytes at least");
            let (second, body) = rest.split_first_chunk().expect("64 bytes at least");
            Message { first, second, body }
        });
        // SAFETY: a `HaveAvx512` exists only where detection found every feature.
        #[expect(unsafe_code, reason = "entry into code compiled for more than the build's baseline")]
        let words = unsafe { hash_x8(self.0, &messages) }.map(U64x8::to_array);
        let mut digests = [[0; 64]; LANES];
        for (lane, digest) in digests.iter_mut().enumerate() {
            for (bytes, word) in digest.as_chunks_mut::<8>().0.iter_mut().zip(words) {
                *bytes = word[lane].to_le_bytes();
            }
        }
        digests
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::sha512::portable;

    #[test]
    fn lanes_of_any_lengths_hash_as_one_message_each_does() {
        let Some(have) = HaveAvx512::detect() else {
            eprintln!("skipped: this CPU lacks {}", HaveAvx512::NEEDS);
            return;
        };
        let bytes: Vec<u8> = (0..2000u32).map(|i| (i * i + 7 * i) as u8).collect();
        // Every length around the edges of halves and blocks meets short, equal and long neighbours.
        let lengths = (0..400usize).chain([511, 512, 575, 576, 577, 1023, 1024, 1087, 1088, 1500]);
        for length in lengths {
            let body = |lane: usize| match lane {
                0 | 5 => length,
                1 => 0,
                2 => (length * 7) % 300,
                3 => length + 64,
                4 => length + 128,
                6 => length.saturating_sub(1),
                _ => length + 1,
            };
            let messages: [Message<'_>; LANES] = std::array::from_fn(|lane| {
                let (prefix, _) = bytes[lane..].as_chunks::<32>();
                Message { first: &prefix[0], second: &prefix[1], body: &bytes[3 * lane..][..body(lane)] }
            });
            // SAFETY: `have` exists only where detection found every feature.
            #[expect(unsafe_code, reason = "entry into code compiled for more than the build's baseline")]
            let got = unsafe { hash_x8(have, &messages) }.map(U64x8::to_array);
            for (lane, message) in messages.iter().enumerate() {
                assert_eq!(got.map(|word| word[lane]), portable::hash(message), "lane {lane}, {length} bytes");
            }
        }
    }
}
