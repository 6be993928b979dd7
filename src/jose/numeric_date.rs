//! NumericDate (RFC 7519 section 2): decimal text to a point in time, exactly.

/// Seconds since 1970-01-01T00:00:00Z, UTC, at most [`NumericDate::SECONDS_MAX`] before or after; what is beyond is
/// malformed. Dates before 1970 and dates that look like milliseconds are dates.
///
/// A fraction is kept as nanoseconds. One that is finer is rounded to the odd neighbour, so that it stays on its side
/// of every whole second: comparison with a clock of whole seconds is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NumericDate {
    /// Whole seconds, rounded down.
    pub seconds: i64,
    /// 0 to 999,999,999.
    pub nanos: u32,
}

impl NumericDate {
    /// 2^53 - 1. Integers up to here are exact in every JSON implementation (RFC 8259 section 6); beyond, who reads the
    /// token before or after us may see another date.
    pub const SECONDS_MAX: i64 = (1 << 53) - 1;

    /// Reads a number in JSON grammar, with fraction and exponent; no floating point is involved. `None` if it is out
    /// of range, or not such a number.
    #[must_use]
    pub fn from_json_number(text: &str) -> Option<Self> {
        let (is_negative, magnitude) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match magnitude.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, saturating_exponent(exponent)?),
            None => (magnitude, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() {
            return None;
        }

        // The power of ten of the first digit, counted in nanoseconds; it falls by one with each digit.
        let mut power = i64::try_from(whole.len()).ok()?.saturating_add(exponent).saturating_add(8);
        let mut nanos: i128 = 0;
        let mut is_inexact = false;
        for digit in whole.bytes().chain(fraction.bytes()) {
            let value = digit.checked_sub(b'0').filter(|value| *value <= 9)?;
            if value != 0 {
                match u32::try_from(power).ok().and_then(|power| 10_i128.checked_pow(power)) {
                    Some(weight) => nanos = nanos.checked_add(weight.checked_mul(i128::from(value))?)?,
                    None if power < 0 => is_inexact = true,
                    None => return None,
                }
            }
            power = power.saturating_sub(1);
        }
        if is_negative {
            nanos = -nanos;
        }
        if is_inexact && nanos % 2 == 0 {
            // Cut towards zero; the odd neighbour is away from it, on the side of the digits that were cut.
            nanos += if is_negative { -1 } else { 1 };
        }
        const SECOND: i128 = 1_000_000_000;
        if nanos.abs() > i128::from(Self::SECONDS_MAX) * SECOND {
            return None;
        }
        Some(Self {
            seconds: i64::try_from(nanos.div_euclid(SECOND)).ok()?,
            nanos: u32::try_from(nanos.rem_euclid(SECOND)).ok()?,
        })
    }

    /// Nanoseconds since 1970.
    #[must_use]
    pub const fn as_nanos(self) -> i128 {
        self.seconds as i128 * 1_000_000_000 + self.nanos as i128
    }
}

/// An exponent in JSON grammar, cut to a range in which nothing overflows and nothing changes its meaning.
fn saturating_exponent(text: &str) -> Option<i64> {
    let (is_negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let mut exponent = 0_i64;
    for digit in digits.bytes() {
        let value = digit.checked_sub(b'0').filter(|value| *value <= 9)?;
        exponent = exponent.saturating_mul(10).saturating_add(i64::from(value));
    }
    Some(if is_negative { exponent.saturating_neg() } else { exponent })
}

#[cfg(test)]
mod tests {
    use super::NumericDate;

    #[test]
    fn decimal_text_is_read_exactly() {
        let cases: &[(&str, Option<(i64, u32)>)] = &[
            ("0", Some((0, 0))),
            ("-0", Some((0, 0))),
            ("0e99999999999999999999", Some((0, 0))),
            ("-0.0e-7", Some((0, 0))),
            ("1700000000", Some((1_700_000_000, 0))),
            ("1700000000.0", Some((1_700_000_000, 0))),
            ("17e8", Some((1_700_000_000, 0))),
            ("1.7E+9", Some((1_700_000_000, 0))),
            ("0.0000000017e18", Some((1_700_000_000, 0))),
            ("17000000000000e-4", Some((1_700_000_000, 0))),
            ("1700000000.5", Some((1_700_000_000, 500_000_000))),
            ("1700000000.123456789", Some((1_700_000_000, 123_456_789))),
            ("1700000000.0000000001", Some((1_700_000_000, 1))),
            ("1700000000.0000000020000000001", Some((1_700_000_000, 3))),
            ("1699999999.9999999999", Some((1_699_999_999, 999_999_999))),
            ("1e-400", Some((0, 1))),
            ("-1", Some((-1, 0))),
            ("-0.5", Some((-1, 500_000_000))),
            ("-1e-400", Some((-1, 999_999_999))),
            ("1600000000000", Some((1_600_000_000_000, 0))),
            ("9007199254740991", Some((9_007_199_254_740_991, 0))),
            ("9007199254740990.999999999999999", Some((9_007_199_254_740_990, 999_999_999))),
            ("9.007199254740991e15", Some((9_007_199_254_740_991, 0))),
            ("9007199254740991.0000000001", None),
            ("9007199254740992", None),
            ("9007199254740993", None),
            ("-9007199254740991", Some((-9_007_199_254_740_991, 0))),
            ("-9007199254740990.5", Some((-9_007_199_254_740_991, 500_000_000))),
            ("-9007199254740991.0000000001", None),
            ("-9007199254740992", None),
            ("9223372036854775807", None),
            ("9223372036854775808", None),
            ("-9223372036854775808", None),
            ("18446744073709551616", None),
            ("1e15", Some((1_000_000_000_000_000, 0))),
            ("1e16", None),
            ("1e19", None),
            ("1e400", None),
            ("-1e400", None),
            ("1.7e10000", None),
            ("1e99999999999999999999", None),
            ("", None),
            ("-", None),
            ("1e", None),
            ("+1", None),
            ("0x1", None),
            ("1_0", None),
            ("NaN", None),
        ];
        for (text, expected) in cases {
            let date = NumericDate::from_json_number(text).map(|date| (date.seconds, date.nanos));
            assert_eq!(date, *expected, "{text}");
        }
    }
}
