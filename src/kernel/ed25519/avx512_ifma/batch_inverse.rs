//! Many inverses for the price of one (Montgomery): multiply all up, invert once, take apart again.

use super::field::Fe;
use super::invert::invert_vartime;
use crate::kernel::cpu::HaveAvx512;
use crate::kernel::vector::U64x8;

/// Replaces every lane of every element by its inverse. No lane may be zero. `products` is working memory of at least
/// the same length.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512ifma")]
pub(super) fn invert_all(have: HaveAvx512, elements: &mut [Fe], products: &mut [Fe]) {
    let Some((&first, rest)) = elements.split_first() else { return };
    // products[i] = elements[0] · .. · elements[i], lane by lane.
    products[0] = first;
    for (i, element) in rest.iter().enumerate() {
        products[i + 1] = products[i].mul(element);
    }
    let mut inverse = invert_lanes(have, &products[rest.len()]);
    for i in (1..elements.len()).rev() {
        let element = elements[i];
        elements[i] = inverse.mul(&products[i - 1]);
        inverse = inverse.mul(&element);
    }
    elements[0] = inverse;
}

/// The inverse of every lane. No lane may be zero.
#[inline(always)]
fn invert_lanes(have: HaveAvx512, element: &Fe) -> Fe {
    // A butterfly: after each level a lane holds the product of its block of 2, 4, 8 lanes, and `others` the product of
    // the lanes of the block without itself.
    let swapped = element.permute(U64x8::swap_1);
    let pairs = element.mul(&swapped);
    let others = swapped;
    let swapped = pairs.permute(U64x8::swap_2);
    let fours = pairs.mul(&swapped);
    let others = others.mul(&swapped);
    let swapped = fours.permute(U64x8::swap_4);
    let all = fours.mul(&swapped);
    let others = others.mul(&swapped);
    let words = all.pack().map(|word| word.to_array()[0]);
    let inverse = invert_vartime(words).map(|word| U64x8::splat(have, word));
    others.mul(&Fe::unpack(inverse))
}
