//! What a policy accepts and refuses, at the edges of time and text.

use proptest::prelude::*;
use verilane::jose::{Algorithm, Limits, NumericDate, claims, header};
use verilane::policy::{Policy, Violation};

const NOW: i64 = 1_700_000_000;

/// No demand at all.
fn lax() -> Policy {
    Policy { require_expiry: false, ..Policy::default() }
}

fn judge(policy: &Policy, claims: &str, now: i64) -> Result<(), Violation> {
    policy.judge_claims(&claims::parse(claims.as_bytes(), &Limits::DEFAULT).expect("claims"), now)
}

fn judge_header(policy: &Policy, header: &str) -> Result<(), Violation> {
    policy.judge_header(&header::parse(header.as_bytes(), &Limits::DEFAULT).expect("a header"))
}

fn texts(values: &[&str]) -> Vec<String> {
    values.iter().map(|&value| value.to_owned()).collect()
}

#[test]
fn the_default_asks_for_an_expiry_and_nothing_else() {
    assert_eq!(judge(&Policy::default(), "{\"exp\":1700000001}", NOW), Ok(()));
    assert_eq!(judge(&Policy::default(), "{}", NOW), Err(Violation::ExpiryMissing));
    assert_eq!(judge_header(&Policy::default(), "{\"alg\":\"HS256\"}"), Ok(()));
}

#[test]
fn an_algorithm_must_be_on_the_list_by_its_exact_name() {
    for listed in Algorithm::ALL {
        let policy = Policy { algorithms: vec![listed], ..Policy::default() };
        for token in Algorithm::ALL {
            let header = format!("{{\"alg\":\"{token}\",\"typ\":\"x\"}}");
            let want = if token == listed { Ok(()) } else { Err(Violation::AlgorithmNotAllowed) };
            assert_eq!(judge_header(&policy, &header), want, "{token} where {listed} is allowed");
        }
    }
}

#[test]
fn both_names_of_ed25519_are_allowed_where_no_list_or_both_stand() {
    for algorithms in [vec![], vec![Algorithm::EdDsa, Algorithm::Ed25519]] {
        let policy = Policy { algorithms, ..Policy::default() };
        for name in ["EdDSA", "Ed25519"] {
            assert_eq!(judge_header(&policy, &format!("{{\"alg\":\"{name}\"}}")), Ok(()), "{name}");
        }
    }
}

#[test]
fn types_are_compared_as_media_types() {
    let policy = Policy { types: texts(&["at+jwt", "application/secevent+jwt"]), ..Policy::default() };
    for typ in ["at+jwt", "AT+JWT", "application/at+jwt", "Application/AT+jwt", "secevent+jwt"] {
        assert_eq!(judge_header(&policy, &format!("{{\"alg\":\"HS256\",\"typ\":\"{typ}\"}}")), Ok(()), "{typ}");
    }
    for typ in ["", "at", "JWT", "at+jwt ", "application/jwt", "text/at+jwt", "application/application/at+jwt"] {
        let header = format!("{{\"alg\":\"HS256\",\"typ\":\"{typ}\"}}");
        assert_eq!(judge_header(&policy, &header), Err(Violation::TypeMismatch), "{typ}");
    }
    assert_eq!(judge_header(&policy, "{\"alg\":\"HS256\"}"), Err(Violation::TypeMismatch));
}

#[test]
fn times_are_compared_exactly() {
    use Violation::{Expired, IssuedInFuture, NotYetValid};
    // Claim, its value, leeway, verdict at NOW = 1700000000.
    let cases: &[(&str, &str, u64, Result<(), Violation>)] = &[
        ("exp", "1700000001", 0, Ok(())),
        ("exp", "1700000000", 0, Err(Expired)),
        ("exp", "1699999999", 0, Err(Expired)),
        ("exp", "1700000000.5", 0, Ok(())),
        ("exp", "1700000000.0000000000000000000001", 0, Ok(())),
        ("exp", "1699999999.9999999999999999999999", 0, Err(Expired)),
        ("exp", "1699999941", 60, Ok(())),
        ("exp", "1699999940", 60, Err(Expired)),
        ("exp", "-1", 0, Err(Expired)),
        ("exp", "-0", 0, Err(Expired)),
        ("exp", "1600000000000", 0, Ok(())),
        ("exp", "9007199254740991", u64::MAX, Ok(())),
        ("exp", "-9007199254740991", u64::MAX, Ok(())),
        ("nbf", "1700000000", 0, Ok(())),
        ("nbf", "1700000001", 0, Err(NotYetValid)),
        ("nbf", "1700000000.5", 0, Err(NotYetValid)),
        ("nbf", "1700000000.0000000000000000000001", 0, Err(NotYetValid)),
        ("nbf", "1700000060", 60, Ok(())),
        ("nbf", "1700000061", 60, Err(NotYetValid)),
        ("nbf", "9007199254740991", 0, Err(NotYetValid)),
        ("nbf", "9007199254740991", u64::MAX, Ok(())),
        ("nbf", "-1", 0, Ok(())),
        ("iat", "1700000000", 0, Ok(())),
        ("iat", "1700000001", 0, Err(IssuedInFuture)),
        ("iat", "1700000030", 30, Ok(())),
        ("iat", "1700000031", 30, Err(IssuedInFuture)),
    ];
    for (name, value, leeway_s, expected) in cases {
        let policy = Policy { leeway_s: *leeway_s, ..lax() };
        let claims = format!("{{\"{name}\":{value}}}");
        assert_eq!(judge(&policy, &claims, NOW), *expected, "{claims} leeway {leeway_s}");
    }
}

#[test]
fn a_lifetime_has_a_maximum() {
    let policy = Policy { max_lifetime_s: Some(3600), leeway_s: 60, ..lax() };
    let cases: &[(&str, bool)] = &[
        ("{\"iat\":1699999000,\"exp\":1700002600}", true),
        ("{\"iat\":1699999000,\"exp\":1700002600.1}", false),
        ("{\"iat\":1699999000,\"exp\":1700002601}", false),
        ("{\"exp\":1700003600}", true),
        ("{\"exp\":1700003601}", false),
        ("{\"iat\":-9007199254740991,\"exp\":9007199254740991}", false),
        ("{\"iat\":1699999000}", false),
        ("{}", false),
    ];
    for (claims, is_short) in cases {
        let expected = if *is_short { Ok(()) } else { Err(Violation::LifetimeTooLong) };
        assert_eq!(judge(&policy, claims, NOW), expected, "{claims}");
    }
    let unbounded = Policy { max_lifetime_s: Some(u64::MAX), ..lax() };
    assert_eq!(judge(&unbounded, "{\"iat\":-9007199254740991,\"exp\":9007199254740991}", NOW), Ok(()));
}

#[test]
fn the_issuer_is_compared_whole() {
    let policy = Policy { issuer: Some("https://issuer.example".to_owned()), ..lax() };
    assert_eq!(judge(&policy, "{\"iss\":\"https:\\/\\/issuer.example\"}", NOW), Ok(()));
    assert_eq!(judge(&policy, "{}", NOW), Err(Violation::IssuerMissing));
    for iss in ["", "https://issuer.example/", "https://ISSUER.example", "https://issuer.example\\u0000", "issuer"] {
        let claims = format!("{{\"iss\":\"{iss}\"}}");
        assert_eq!(judge(&policy, &claims, NOW), Err(Violation::IssuerMismatch), "{iss}");
    }
    let empty = Policy { issuer: Some(String::new()), ..lax() };
    assert_eq!(judge(&empty, "{\"iss\":\"\"}", NOW), Err(Violation::IssuerMismatch));
    assert_eq!(judge(&lax(), "{\"iss\":\"anybody\"}", NOW), Ok(()));
}

#[test]
fn one_audience_must_be_ours() {
    let policy = Policy { audiences: texts(&["api.example", "caf\u{e9}"]), ..lax() };
    for aud in ["\"api.example\"", "[\"api.example\"]", "[\"x\",\"api.example\",\"\"]", "\"caf\\u00e9\""] {
        assert_eq!(judge(&policy, &format!("{{\"aud\":{aud}}}"), NOW), Ok(()), "{aud}");
    }
    for aud in ["\"\"", "[]", "[\"\"]", "\"api.example \"", "\"API.example\"", "\"api\"", "\"cafe\\u0301\"", "\"x\""] {
        let claims = format!("{{\"aud\":{aud}}}");
        assert_eq!(judge(&policy, &claims, NOW), Err(Violation::AudienceMismatch), "{aud}");
    }
    assert_eq!(judge(&policy, "{\"Aud\":\"api.example\"}", NOW), Err(Violation::AudienceMissing));
    let empty = Policy { audiences: texts(&[""]), ..lax() };
    assert_eq!(judge(&empty, "{\"aud\":\"\"}", NOW), Err(Violation::AudienceMismatch));
    assert_eq!(judge(&lax(), "{\"aud\":\"anybody\"}", NOW), Ok(()));
}

#[test]
fn a_required_claim_is_present_and_not_null() {
    let policy = Policy { required_claims: texts(&["scope", "kubernetes.io"]), ..lax() };
    assert_eq!(judge(&policy, "{\"scope\":\"\",\"kubernetes.io\":{}}", NOW), Ok(()));
    assert_eq!(judge(&policy, "{\"sc\\u006fpe\":0,\"kubernetes.io\":false}", NOW), Ok(()));
    let missing = |name: &str| Err(Violation::ClaimMissing(name.to_owned()));
    assert_eq!(judge(&policy, "{\"kubernetes.io\":{}}", NOW), missing("scope"));
    assert_eq!(judge(&policy, "{\"scope\":null,\"kubernetes.io\":{}}", NOW), missing("scope"));
    assert_eq!(judge(&policy, "{\"scope\":\"null\",\"x\":{\"kubernetes.io\":1}}", NOW), missing("kubernetes.io"));
}

#[test]
fn of_several_violations_the_first_in_declaration_order_is_named() {
    let policy = Policy {
        issuer: Some("i".to_owned()),
        audiences: texts(&["a"]),
        required_claims: texts(&["r"]),
        max_lifetime_s: Some(10),
        ..Policy::default()
    };
    // Each step mends the violation that the step before it named.
    let steps: &[(&str, Violation)] = &[
        ("\"nbf\":1800000000,\"iat\":1800000000", Violation::IssuerMissing),
        ("\"nbf\":1800000000,\"iat\":1800000000,\"iss\":\"x\"", Violation::IssuerMismatch),
        ("\"nbf\":1800000000,\"iat\":1800000000,\"iss\":\"i\"", Violation::ExpiryMissing),
        ("\"nbf\":1800000000,\"iat\":1800000000,\"iss\":\"i\",\"exp\":1", Violation::Expired),
        ("\"nbf\":1800000000,\"iat\":1800000000,\"iss\":\"i\",\"exp\":1900000000", Violation::NotYetValid),
        ("\"nbf\":1,\"iat\":1800000000,\"iss\":\"i\",\"exp\":1900000000", Violation::IssuedInFuture),
        ("\"nbf\":1,\"iat\":1,\"iss\":\"i\",\"exp\":1900000000", Violation::LifetimeTooLong),
        ("\"iat\":1699999999,\"iss\":\"i\",\"exp\":1700000009", Violation::AudienceMissing),
        ("\"iat\":1699999999,\"iss\":\"i\",\"exp\":1700000009,\"aud\":\"x\"", Violation::AudienceMismatch),
        ("\"iat\":1699999999,\"iss\":\"i\",\"exp\":1700000009,\"aud\":\"a\"", Violation::ClaimMissing("r".to_owned())),
    ];
    for (members, expected) in steps {
        assert_eq!(judge(&policy, &format!("{{{members}}}"), NOW), Err(expected.clone()), "{members}");
    }
    let good = "{\"iat\":1699999999,\"iss\":\"i\",\"exp\":1700000009,\"aud\":\"a\",\"r\":1}";
    assert_eq!(judge(&policy, good, NOW), Ok(()));
}

/// Every whole number that is a date.
fn date() -> std::ops::RangeInclusive<i64> {
    -NumericDate::SECONDS_MAX..=NumericDate::SECONDS_MAX
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn times_agree_with_wide_arithmetic_for_any_numbers(exp in date(), nbf in date(), iat in date(), now: i64, leeway_s: u64) {
        let policy = Policy { leeway_s, ..lax() };
        let claims = format!("{{\"exp\":{exp},\"nbf\":{nbf},\"iat\":{iat}}}");
        let (wide_now, leeway) = (i128::from(now), i128::from(leeway_s));
        let expected = if wide_now >= i128::from(exp) + leeway {
            Err(Violation::Expired)
        } else if wide_now + leeway < i128::from(nbf) {
            Err(Violation::NotYetValid)
        } else if wide_now + leeway < i128::from(iat) {
            Err(Violation::IssuedInFuture)
        } else {
            Ok(())
        };
        prop_assert_eq!(judge(&policy, &claims, now), expected);
    }

    #[test]
    fn more_leeway_never_refuses_what_less_accepts(exp: i32, nbf: i32, now: i32, less: u32, more: u32) {
        let claims = format!("{{\"exp\":{exp},\"nbf\":{nbf}}}");
        let (less, more) = (less.min(more), less.max(more));
        let accepts = |leeway: u32| judge(&Policy { leeway_s: leeway.into(), ..lax() }, &claims, now.into()).is_ok();
        prop_assert!(!accepts(less) || accepts(more));
    }
}
