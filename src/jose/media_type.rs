//! How `typ` and `cty` are compared (RFC 7515 sections 4.1.9 and 4.1.10).

/// Whether two values name one media type: without regard to ASCII case, and with an `application/` prefix that may
/// be left out where no other slash follows. Nothing is trimmed and parameters are not understood.
#[must_use]
pub fn equal(one: &str, other: &str) -> bool {
    subtype(one).eq_ignore_ascii_case(subtype(other))
}

fn subtype(value: &str) -> &str {
    const PREFIX: &str = "application/";
    match value.split_at_checked(PREFIX.len()) {
        Some((prefix, rest)) if prefix.eq_ignore_ascii_case(PREFIX) && !rest.is_empty() && !rest.contains('/') => rest,
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::equal;

    #[test]
    fn the_application_prefix_and_case_do_not_matter() {
        for (one, other) in [("at+jwt", "AT+JWT"), ("application/at+jwt", "at+jwt"), ("JWT", "Application/jwt")] {
            assert!(equal(one, other) && equal(other, one), "{one} {other}");
        }
        for (one, other) in [
            ("at+jwt", "at"),
            ("at+jwt ", "at+jwt"),
            ("text/jwt", "jwt"),
            ("application/", ""),
            ("application/a/b", "a/b"),
            ("application/application/jwt", "application/jwt"),
            ("jwt; a=b", "jwt"),
            ("ｊwt", "jwt"),
        ] {
            assert!(!equal(one, other) && !equal(other, one), "{one} {other}");
        }
    }
}
