//! Independent readings of the same formats, slow and plain, to compare with.

use std::collections::HashSet;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use verilane::jose::json::JsonLimits;

/// Why the reference does not read a document.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// serde_json does not read it, or it is no object.
    IllFormed,
    /// serde_json reads it; a duplicate or a limit refuses it.
    Extra,
}

/// The members of a JSON object as serde_json sees them, duplicates kept.
struct Pairs<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor;

        impl<'de> Visitor<'de> for PairsVisitor {
            type Value = Pairs<'de>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'de>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(PairsVisitor)
    }
}

/// The members of a document that must be one object: serde_json, then no duplicates at any depth and the limits.
pub fn object<'a>(document: &'a [u8], limits: &JsonLimits) -> Result<Vec<(String, &'a RawValue)>, Refused> {
    let text = std::str::from_utf8(document).map_err(|_| Refused::IllFormed)?;
    let pairs: Pairs<'a> = serde_json::from_str(text).map_err(|_| Refused::IllFormed)?;
    let mut count = Count { members: 0, is_refused: limits.depth < 1 };
    check_pairs(&pairs, 1, limits, &mut count)?;
    if count.is_refused || count.members > limits.members {
        return Err(Refused::Extra);
    }
    Ok(pairs.0)
}

struct Count {
    members: usize,
    is_refused: bool,
}

fn check_pairs(pairs: &Pairs<'_>, depth: usize, limits: &JsonLimits, count: &mut Count) -> Result<(), Refused> {
    let mut names = HashSet::new();
    for (name, value) in &pairs.0 {
        count.members += 1;
        count.is_refused |= !names.insert(name);
        check(value.get(), depth + 1, limits, count)?;
    }
    Ok(())
}

/// A value whose depth would be `depth` if it were an array or object.
fn check(text: &str, depth: usize, limits: &JsonLimits, count: &mut Count) -> Result<(), Refused> {
    let ill_formed = |_| Refused::IllFormed;
    match text.as_bytes()[0] {
        b'{' | b'[' if depth > limits.depth => {
            count.is_refused = true;
            // Strings below here are not looked into, as our reader does not either; their form serde_json has seen.
            serde_json::from_str::<IgnoredAny>(text).map(drop).map_err(ill_formed)
        }
        b'{' => check_pairs(&serde_json::from_str(text).map_err(ill_formed)?, depth, limits, count),
        b'[' => {
            for element in serde_json::from_str::<Vec<&RawValue>>(text).map_err(ill_formed)? {
                count.members += 1;
                check(element.get(), depth + 1, limits, count)?;
            }
            Ok(())
        }
        // Reading into a String, and not past it, finds half surrogate pairs.
        b'"' => serde_json::from_str::<String>(text).map(drop).map_err(ill_formed),
        b'-' | b'0'..=b'9' => {
            count.is_refused |= text.len() > limits.number_chars;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// base64url bit by bit; the offset of the first bad character if there is one.
pub fn base64url(text: &[u8]) -> Result<Vec<u8>, usize> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (mut out, mut bits, mut bit_count) = (Vec::new(), 0_u32, 0);
    for (position, byte) in text.iter().enumerate() {
        let digit = ALPHABET.iter().position(|known| known == byte).ok_or(position)?;
        bits = bits << 6 | u32::try_from(digit).expect("below 64");
        bit_count += 6;
        if bit_count >= 8 {
            bit_count -= 8;
            out.push((bits >> bit_count) as u8);
            bits &= (1 << bit_count) - 1;
        }
    }
    // A whole unused character, or unused bits that are not zero.
    if bit_count == 6 || bits != 0 { Err(text.len() - 1) } else { Ok(out) }
}
