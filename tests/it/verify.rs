//! Tokens in, verdicts out.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use verilane::engine::Context;
use verilane::jose::{Algorithm, Limits, Segment, base64url};
use verilane::kernel::KernelTable;
use verilane::keys::prepare::{DocumentLimits, Origin, from_document};
use verilane::keys::{IssuerKeys, KeySet};
use verilane::policy::Policy;
use verilane::verify::{
    Error, IssuerEntry, Reason, Rejection, SignatureKey, SignatureRequest, SignatureVerdict, StepStatus, TokenRequest,
    Verdict, Verifier, VerifierOptions,
};

use crate::support::random::Random;
use crate::support::rfc_tokens::EXAMPLES;
use crate::support::tokens::{Signer, jwk_set};

pub const NOW: i64 = 1_700_000_000;
pub const ISSUER: &str = "https://issuer.example";

pub fn context() -> Context {
    Context::new(&KernelTable::select::<&str>(&[]).unwrap())
}

pub fn key_set(document: &str) -> KeySet {
    from_document(document.as_bytes(), Origin::Local, &DocumentLimits::default()).unwrap().0
}

pub fn request(token: impl Into<String>) -> TokenRequest {
    TokenRequest { token: token.into().into(), issuer: None, audience: None, now: NOW, deadline: None }
}

pub fn entry(name: &str, policy: Policy, keys: Arc<IssuerKeys>) -> IssuerEntry {
    IssuerEntry { name: name.into(), policy, keys }
}

pub fn policy() -> Policy {
    Policy {
        issuer: Some(ISSUER.to_owned()),
        audiences: vec!["api.example".to_owned()],
        required_claims: vec!["tenant".to_owned()],
        max_lifetime_s: Some(7200),
        ..Policy::default()
    }
}

/// The keys of the tests' issuer: `ed` and `hs`.
pub fn keys() -> Arc<IssuerKeys> {
    let document = jwk_set(&[Signer::ed25519(1).jwk(Some("ed")), Signer::hs256(2).jwk(Some("hs"))]);
    IssuerKeys::fixed(key_set(&document))
}

pub fn verifier_of(policy: Policy) -> Verifier {
    Verifier::new(vec![entry("main", policy, keys())], VerifierOptions::default()).unwrap()
}

pub fn two_issuers() -> Verifier {
    let other = Policy { issuer: Some("https://other.example".to_owned()), ..policy() };
    let other_keys = IssuerKeys::fixed(key_set(&jwk_set(&[Signer::ed25519(9).jwk(Some("ed"))])));
    let entries = vec![entry("main", policy(), keys()), entry("other", other, other_keys)];
    Verifier::new(entries, VerifierOptions::default()).unwrap()
}

pub const HEADER: &str = r#"{"alg":"EdDSA","kid":"ed","typ":"JWT"}"#;

pub fn claims() -> String {
    format!(
        r#"{{"iss":"{ISSUER}","aud":"api.example","sub":"u","exp":{},"nbf":{},"iat":{},"tenant":1}}"#,
        NOW + 600,
        NOW - 60,
        NOW - 60
    )
}

/// A good token by key `ed`, with this header and payload.
pub fn signed(header: &str, payload: &str) -> String {
    Signer::ed25519(1).token(header, payload)
}

pub fn good_token() -> String {
    signed(HEADER, &claims())
}

fn without(member: &str) -> String {
    let kept: Vec<String> =
        claims().trim_matches(['{', '}']).split(',').filter(|pair| !pair.contains(member)).map(str::to_owned).collect();
    format!("{{{}}}", kept.join(","))
}

fn with(member: &str, value: &str) -> String {
    without(&format!("\"{member}\"")).replacen('{', &format!("{{\"{member}\":{value},"), 1)
}

fn rejection(answer: &Result<Verdict, Error>) -> &Rejection {
    match answer {
        Ok(Verdict::Rejected(rejection)) => rejection,
        other => panic!("expected a rejection, got {other:?}"),
    }
}

/// What can be compared of an answer.
pub fn summary(answer: &Result<Verdict, Error>) -> String {
    format!("{answer:?}")
}

/// A token and the reason it is rejected for.
pub struct Case {
    pub name: &'static str,
    pub verifier: Verifier,
    pub request: TokenRequest,
    pub reason: Reason,
}

fn case(name: &'static str, reason: Reason, token: impl Into<String>) -> Case {
    Case { name, verifier: verifier_of(policy()), request: request(token), reason }
}

/// Cases for every reason that a token can be rejected for.
pub fn rejected_cases() -> Vec<Case> {
    let good = good_token();
    let (input, signature) = good.rsplit_once('.').unwrap();
    let small = Limits { token_bytes: 2000, header_bytes: 100, payload_bytes: 1000, ..Limits::DEFAULT };
    let limited = |name, reason, token: String| {
        let options = VerifierOptions { limits: small, ..VerifierOptions::default() };
        let verifier = Verifier::new(vec![entry("main", policy(), keys())], options).unwrap();
        Case { name, verifier, request: request(token), reason }
    };
    let long = |len: usize| format!(r#"{{"alg":"EdDSA","x":"{}"}}"#, "a".repeat(len));
    let two = |name, reason, token: String| Case { name, verifier: two_issuers(), request: request(token), reason };
    let mut wrong_signature = base64url::decode(signature.as_bytes()).unwrap();
    wrong_signature[10] ^= 1;
    let flipped = format!("{input}.{}", base64url::encode(&wrong_signature));
    let short = format!("{input}.{}", base64url::encode(&wrong_signature[..63]));

    let mut cases = vec![
        case("empty", Reason::TokenMissing, ""),
        limited("long token", Reason::TokenTooLarge, "a".repeat(2001)),
        limited("long header", Reason::HeaderTooLarge, signed(&long(100), "{}")),
        limited("long payload", Reason::PayloadTooLarge, signed(HEADER, &long(1000))),
        case("two segments", Reason::TokenMalformed, input),
        case("four segments", Reason::TokenMalformed, format!("{good}.e30")),
        case("no signature", Reason::TokenMalformed, format!("{input}.")),
        case("JSON serialization", Reason::JsonSerializationUnsupported, r#"{"payload":"e30","signatures":[]}"#),
        case("five segments", Reason::JweUnsupported, "e30.e30.e30.e30.e30"),
        case("enc in the header", Reason::JweUnsupported, signed(r#"{"alg":"EdDSA","enc":"A128GCM"}"#, "{}")),
        case("cty JWT", Reason::NestedTokenUnsupported, signed(r#"{"alg":"EdDSA","cty":"jwt"}"#, "{}")),
        case("padding", Reason::Base64Invalid, format!("{good}==")),
        case("scheme before the token", Reason::Base64Invalid, format!("Bearer {good}")),
        case("header is a list", Reason::HeaderInvalid, signed("[]", &claims())),
        case("no alg", Reason::HeaderInvalid, signed(r#"{"kid":"ed"}"#, &claims())),
        case("alg twice", Reason::HeaderInvalid, signed(r#"{"alg":"EdDSA","alg":"EdDSA"}"#, &claims())),
        case("kid is a number", Reason::HeaderInvalid, signed(r#"{"alg":"EdDSA","kid":1}"#, &claims())),
        case("claims are a list", Reason::ClaimsInvalid, signed(HEADER, "[]")),
        case("claim twice", Reason::ClaimsInvalid, signed(HEADER, r#"{"a":{"b":1,"\u0062":2}}"#)),
        case("sub is a number", Reason::ClaimsInvalid, signed(HEADER, &with("sub", "1"))),
        case("crit", Reason::CriticalHeaderUnsupported, signed(r#"{"alg":"EdDSA","crit":["exp"],"exp":1}"#, "{}")),
        case("b64 false", Reason::UnencodedPayloadUnsupported, signed(r#"{"alg":"EdDSA","b64":false}"#, "{}")),
        case("none", Reason::AlgorithmUnsupported, format!("{}.e30.AA", base64url::encode(br#"{"alg":"none"}"#))),
        case("none in capitals", Reason::AlgorithmUnsupported, signed(r#"{"alg":"NONE","kid":"ed"}"#, &claims())),
        case("kid of another type of key", Reason::AlgorithmMismatch, signed(r#"{"alg":"EdDSA","kid":"hs"}"#, "{}")),
        case(
            "public key as HMAC secret",
            Reason::AlgorithmMismatch,
            Signer::hs256(2).token(r#"{"alg":"HS256","kid":"ed"}"#, &claims()),
        ),
        two("no iss to select by", Reason::IssuerMissing, signed(HEADER, &without("\"iss\""))),
        case("no iss", Reason::IssuerMissing, signed(HEADER, &without("\"iss\""))),
        two("unknown iss", Reason::IssuerUnknown, signed(HEADER, &with("iss", "\"https://stranger.example\""))),
        case("other iss", Reason::IssuerMismatch, signed(HEADER, &with("iss", "\"https://issuer.example/\""))),
        case("unknown kid", Reason::UnknownKeyId, signed(r#"{"alg":"EdDSA","kid":"ED"}"#, &claims())),
        case("no key for the algorithm", Reason::NoMatchingKey, signed(r#"{"alg":"ES256"}"#, &claims())),
        case("flipped bit", Reason::SignatureInvalid, flipped),
        case("short signature", Reason::SignatureInvalid, short),
        case("long signature", Reason::SignatureInvalid, format!("{good}AAAA")),
        case("signed by another", Reason::SignatureInvalid, Signer::ed25519(3).token(HEADER, &claims())),
        case("exp is text", Reason::NumericDateInvalid, signed(HEADER, &with("exp", "\"1700000600\""))),
        case("nbf is null", Reason::NumericDateInvalid, signed(HEADER, &with("nbf", "null"))),
        case("no exp", Reason::ExpiryMissing, signed(HEADER, &without("\"exp\""))),
        case("exp is now", Reason::Expired, signed(HEADER, &with("exp", &NOW.to_string()))),
        case("nbf in a second", Reason::NotYetValid, signed(HEADER, &with("nbf", &(NOW + 1).to_string()))),
        case("iat in a second", Reason::IssuedInFuture, signed(HEADER, &with("iat", &(NOW + 1).to_string()))),
        case("valid for days", Reason::LifetimeTooLong, signed(HEADER, &with("exp", &(NOW + 86_400).to_string()))),
        case("no aud", Reason::AudienceMissing, signed(HEADER, &without("\"aud\""))),
        case("other aud", Reason::AudienceMismatch, signed(HEADER, &with("aud", r#"["api","API.example"]"#))),
        case("no tenant", Reason::ClaimMissing, signed(HEADER, &without("tenant"))),
        case("tenant is null", Reason::ClaimMissing, signed(HEADER, &with("tenant", "null"))),
    ];
    let restricted = Policy { algorithms: vec![Algorithm::Es256], ..policy() };
    cases.push(Case {
        name: "algorithm outside the policy",
        verifier: verifier_of(restricted),
        request: request(good.clone()),
        reason: Reason::AlgorithmNotAllowed,
    });
    cases.push(Case {
        name: "wrong typ",
        verifier: verifier_of(Policy { types: vec!["at+jwt".to_owned()], ..policy() }),
        request: request(good.clone()),
        reason: Reason::TypeMismatch,
    });
    let one = VerifierOptions { candidates_max: 1, ..VerifierOptions::default() };
    let twins = jwk_set(&[Signer::ed25519(1).jwk(None), Signer::ed25519(2).jwk(None)]);
    let twins = entry("main", policy(), IssuerKeys::fixed(key_set(&twins)));
    cases.push(Case {
        name: "two keys fit, one is tried",
        verifier: Verifier::new(vec![twins], one).unwrap(),
        request: request(signed(r#"{"alg":"EdDSA"}"#, &claims())),
        reason: Reason::TooManyMatchingKeys,
    });
    cases.push(Case {
        name: "the call names an unknown issuer",
        verifier: verifier_of(policy()),
        request: TokenRequest { issuer: Some("nobody".to_owned()), ..request(good.clone()) },
        reason: Reason::IssuerUnknown,
    });
    for (name, audience, reason) in [
        ("the call asks for another audience", "web.example", Reason::AudienceMismatch),
        ("the call asks for an empty audience", "", Reason::AudienceMismatch),
    ] {
        let request = TokenRequest { audience: Some(audience.to_owned()), ..request(good.clone()) };
        cases.push(Case { name, verifier: verifier_of(policy()), request, reason });
    }
    cases
}

#[test]
fn every_reason_is_reached_by_some_token_or_key() {
    let mut context = context();
    let mut reached = BTreeSet::new();
    for Case { name, verifier, request, reason } in rejected_cases() {
        let answer = verifier.verify(&mut context, &request, Instant::now());
        assert_eq!(rejection(&answer).reason, reason, "{name}");
        reached.insert(reason);
    }
    let bad_key = SignatureKey::from_jwk(br#"{"kty":"oct","k":"AAAA"}"#, Algorithm::Hs256).unwrap_err();
    assert_eq!(bad_key.reason, Reason::KeyInvalid);
    reached.insert(bad_key.reason);
    assert_eq!(reached, BTreeSet::from(Reason::ALL));
}

#[test]
fn a_good_token_is_accepted_with_its_facts() {
    let accepted = match verifier_of(policy()).verify(&mut context(), &request(good_token()), Instant::now()) {
        Ok(Verdict::Accepted(accepted)) => accepted,
        other => panic!("{other:?}"),
    };
    assert_eq!(accepted.algorithm, Algorithm::EdDsa);
    assert_eq!(accepted.key_id.as_deref(), Some("ed"));
    assert_eq!(&*accepted.issuer_name, "main");
    assert_eq!(accepted.issuer.as_deref(), Some(ISSUER));
    assert_eq!(accepted.subject.as_deref(), Some("u"));
    assert_eq!(accepted.expires_at.map(|date| (date.seconds, date.nanos)), Some((NOW + 600, 0)));
    assert_eq!(accepted.payload, claims().as_bytes());
}

#[test]
fn examples_of_the_rfcs_verify_and_fail_with_any_bit_of_the_signature_flipped() {
    let mut context = context();
    for example in &EXAMPLES {
        let keys = IssuerKeys::fixed(key_set(example.jwk));
        let (issuer, now) = example.claims.map_or((None, 0), |(issuer, now)| (Some(issuer.to_owned()), now));
        let verifier =
            Verifier::new(vec![entry("rfc", Policy { issuer, ..Policy::default() }, keys)], VerifierOptions::default())
                .unwrap();
        let mut verify = |token: &str, now: i64| {
            let request = TokenRequest { now, ..request(token) };
            match example.claims {
                Some(_) => verifier.verify(&mut context, &request, Instant::now()),
                None => verifier.verify_jws(&mut context, &request, Instant::now()),
            }
        };
        let answer = verify(example.token, now);
        assert!(matches!(answer, Ok(Verdict::Accepted(_))), "{}: {answer:?}", example.name);
        if example.claims.is_some() {
            assert_eq!(rejection(&verify(example.token, now + 1)).reason, Reason::Expired, "{}", example.name);
        }
        let (input, signature) = example.token.rsplit_once('.').unwrap();
        let signature = base64url::decode(signature.as_bytes()).unwrap();
        for bit in (0..signature.len() * 8).step_by(37) {
            let mut flipped = signature.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let answer = verify(&format!("{input}.{}", base64url::encode(&flipped)), now);
            assert_eq!(rejection(&answer).reason, Reason::SignatureInvalid, "{} bit {bit}", example.name);
        }
    }
}

#[test]
fn the_first_fault_in_the_order_of_checks_names_the_reason() {
    // Each token has the fault of its line and those of all lines below it.
    let expired_elsewhere = r#"{"iss":"https://other.example","exp":1}"#;
    let stranger = Signer::ed25519(3);
    let tokens = [
        (Reason::Base64Invalid, format!("{}.e30.A", base64url::encode(br#"{"alg":"none"}"#))),
        (Reason::AlgorithmUnsupported, stranger.token(r#"{"alg":"none","typ":"x"}"#, expired_elsewhere)),
        (Reason::TypeMismatch, stranger.token(r#"{"alg":"EdDSA","kid":"?","typ":"x"}"#, expired_elsewhere)),
        (Reason::UnknownKeyId, stranger.token(r#"{"alg":"EdDSA","kid":"?","typ":"JWT"}"#, expired_elsewhere)),
        (Reason::SignatureInvalid, stranger.token(HEADER, expired_elsewhere)),
        (Reason::IssuerMismatch, signed(HEADER, expired_elsewhere)),
        (Reason::Expired, signed(HEADER, &format!(r#"{{"iss":"{ISSUER}","exp":1}}"#))),
    ];
    let verifier = verifier_of(Policy { types: vec!["jwt".to_owned()], ..policy() });
    let mut context = context();
    for (reason, token) in tokens {
        let answer = verifier.verify(&mut context, &request(token), Instant::now());
        assert_eq!(rejection(&answer).reason, reason);
    }
}

#[test]
fn base64_is_refused_with_segment_and_place_in_the_token() {
    let good = good_token();
    let starts = [0, good.find('.').unwrap() + 1, good.rfind('.').unwrap() + 1];
    let segments = [Segment::Header, Segment::Payload, Segment::Signature];
    let verifier = verifier_of(policy());
    for (start, segment) in starts.into_iter().zip(segments) {
        let mut token = good.clone();
        token.replace_range(start + 5..start + 6, "+");
        let answer = verifier.verify(&mut context(), &request(token), Instant::now());
        let place = rejection(&answer).place.expect("a place");
        assert_eq!((place.segment, place.position), (Some(segment), Some(start + 5)));
    }
}

#[test]
fn details_hold_nothing_of_the_token_or_of_expected_values() {
    let mut context = context();
    for Case { name, verifier, request, .. } in rejected_cases() {
        let answer = verifier.verify(&mut context, &request, Instant::now());
        let detail = &rejection(&answer).detail;
        for secret in ["issuer.example", "other.example", "api", "1700", "at+jwt", "ES256", "EdDSA\"", "stranger"] {
            assert!(!detail.contains(secret), "{name}: {detail}");
        }
        assert!(detail.ends_with('.') && !detail.contains('\n'), "{name}: one sentence, not {detail:?}");
    }
}

#[test]
fn the_tokens_own_issuer_selects_and_never_authorises() {
    let verifier = two_issuers();
    let mut context = context();
    let mut verify = |request: &TokenRequest| verifier.verify(&mut context, request, Instant::now());
    let other = with("iss", "\"https://other.example\"");

    assert!(matches!(verify(&request(good_token())), Ok(Verdict::Accepted(_))));
    let by_other = Signer::ed25519(9).token(HEADER, &other);
    assert!(matches!(verify(&request(by_other.clone())), Ok(Verdict::Accepted(_))));
    // Main's key under the other's name, and the other way round.
    assert_eq!(rejection(&verify(&request(signed(HEADER, &other)))).reason, Reason::SignatureInvalid);
    let forged = Signer::ed25519(9).token(HEADER, &claims());
    assert_eq!(rejection(&verify(&request(forged.clone()))).reason, Reason::SignatureInvalid);
    // The call's choice wins over the token's, by name and by iss, and the policy still looks at iss.
    for named in ["other", "https://other.example"] {
        let named = |token: &str| TokenRequest { issuer: Some(named.to_owned()), ..request(token) };
        assert!(matches!(verify(&named(&by_other)), Ok(Verdict::Accepted(_))));
        assert_eq!(rejection(&verify(&named(&forged))).reason, Reason::IssuerMismatch);
    }
    // A configured name is not a value of iss.
    let by_name = signed(HEADER, &with("iss", "\"main\""));
    assert_eq!(rejection(&verify(&request(by_name))).reason, Reason::IssuerUnknown);
}

#[test]
fn issuers_that_a_call_could_not_tell_apart_are_refused() {
    let build = |entries: [(&str, &str); 2]| {
        let entries = entries
            .map(|(name, issuer)| entry(name, Policy { issuer: Some(issuer.to_owned()), ..Policy::default() }, keys()));
        Verifier::new(entries.into(), VerifierOptions::default()).map(|_| ())
    };
    assert_eq!(build([("a", "https://a"), ("b", "https://b")]), Ok(()));
    assert_eq!(build([("https://a", "https://a"), ("b", "https://b")]), Ok(()));
    for entries in [
        [("a", "https://a"), ("a", "https://b")],
        [("a", "https://a"), ("b", "https://a")],
        [("a", "b"), ("b", "https://b")],
    ] {
        assert!(build(entries).is_err(), "{entries:?}");
    }
}

#[test]
fn without_kid_every_fitting_key_is_tried_and_the_right_one_is_named() {
    let jwks: Vec<String> = (0..16).map(|number| Signer::ed25519(number).jwk(Some(&format!("k{number}")))).collect();
    let keys = IssuerKeys::fixed(key_set(&jwk_set(&jwks)));
    let verifier = Verifier::new(vec![entry("main", policy(), keys)], VerifierOptions::default()).unwrap();
    let mut context = context();
    let mut answers = Vec::new();
    let requests: Vec<_> =
        (0..18).map(|number| request(Signer::ed25519(number).token(r#"{"alg":"Ed25519"}"#, &claims()))).collect();
    verifier.verify_batch(&mut context, &requests, Instant::now(), &mut answers);
    for (number, answer) in answers.iter().enumerate() {
        match answer {
            Ok(Verdict::Accepted(accepted)) => assert_eq!(accepted.key_id.as_deref(), Some(&*format!("k{number}"))),
            other => {
                assert!(number >= 16);
                assert_eq!(rejection(other).reason, Reason::SignatureInvalid);
            }
        }
    }
}

#[test]
fn a_batch_answers_each_token_as_it_is_answered_alone() {
    let verifier = two_issuers();
    let mut context = context();
    let mut requests: Vec<TokenRequest> = rejected_cases().into_iter().map(|case| case.request).collect();
    for number in 0..400_usize {
        let token = match number % 4 {
            0 => good_token(),
            1 => Signer::hs256(2).token(r#"{"alg":"HS256","kid":"hs"}"#, &claims()),
            2 => Signer::hs256(2).token(r#"{"alg":"HS256"}"#, &with("sub", &format!("\"{number}\""))),
            _ => Signer::ed25519(7).token(HEADER, &claims()),
        };
        requests.insert(number * 7 % (requests.len() + 1), request(token));
    }
    let wall = Instant::now();
    let alone: Vec<String> =
        requests.iter().map(|request| summary(&verifier.verify(&mut context, request, wall))).collect();
    for start in [0, 1, 15, 16, 17, 255, 256, 257] {
        let mut answers = Vec::new();
        verifier.verify_batch(&mut context, &requests[start..], wall, &mut answers);
        let batch: Vec<String> = answers.iter().map(summary).collect();
        assert_eq!(batch, alone[start..], "from {start}");
    }
    let mut answers = vec![Err(Error::Internal)];
    verifier.verify_batch(&mut context, &[], wall, &mut answers);
    assert_eq!(answers.len(), 1, "an empty batch adds nothing");
}

#[test]
fn no_change_to_a_good_token_is_accepted_or_panics() {
    let mut random = Random::from_environment("changed tokens");
    let verifier = verifier_of(policy());
    let mut context = context();
    let hs = Signer::hs256(2).token(r#"{"alg":"HS256","kid":"hs"}"#, &claims());
    let originals = [good_token().into_bytes(), hs.into_bytes()];
    for _ in 0..20_000 {
        let original = random.pick(&originals).clone();
        let mut token = original.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(token.len().max(1));
            match random.below(6) {
                0 if at < token.len() => token[at] ^= 1 << random.below(8),
                1 if at < token.len() => drop(token.remove(at)),
                2 => token.insert(at, *random.pick(b"A_-.=+/ {\"\0\n\xff")),
                3 => token.truncate(at),
                4 if at < token.len() => {
                    let other = random.below(token.len());
                    token.swap(at, other);
                }
                _ => token.extend_from_within(at..),
            }
        }
        let changed = token != original;
        let request = request(String::new());
        let request = TokenRequest { token: token.clone().into(), ..request };
        let accepted = match verifier.verify(&mut context, &request, Instant::now()) {
            Ok(Verdict::Accepted(_)) => true,
            Ok(Verdict::Rejected(rejection)) => {
                let position = rejection.place.and_then(|place| place.position);
                assert!(position.is_none_or(|position| position <= token.len()), "a place in the token");
                false
            }
            Err(error) => panic!("{error} for {:?}", String::from_utf8_lossy(&token)),
        };
        assert_eq!(accepted, !changed, "{:?}", String::from_utf8_lossy(&token));
    }
}

#[test]
fn an_explanation_has_the_same_verdict_and_tells_every_step() {
    let mut context = context();
    let wall = Instant::now();
    let mut cases: Vec<_> = rejected_cases().into_iter().map(|case| (case.name, case.verifier, case.request)).collect();
    cases.push(("good", verifier_of(policy()), request(good_token())));
    let late = TokenRequest { deadline: Some(wall), ..request(good_token()) };
    cases.push(("late", verifier_of(policy()), late));
    for (name, verifier, request) in cases {
        let explanation = verifier.explain(&mut context, &request, wall);
        let verdict = verifier.verify(&mut context, &request, wall);
        assert_eq!(summary(&explanation.verdict), summary(&verdict), "{name}");
        let statuses: Vec<StepStatus> = explanation.steps.iter().map(|step| step.status).collect();
        let passed = statuses.iter().take_while(|status| **status == StepStatus::Passed).count();
        let accepted = matches!(verdict, Ok(Verdict::Accepted(_)));
        assert_eq!(passed == statuses.len(), accepted, "{name}: {statuses:?}");
        if !accepted {
            assert_eq!(statuses[passed], StepStatus::Failed, "{name}");
            assert!(statuses[passed + 1..].iter().all(|status| *status == StepStatus::NotReached), "{name}");
            assert!(!explanation.steps[passed].detail.is_empty(), "{name}");
        }
        for step in &explanation.steps[..passed] {
            assert!(!step.detail.is_empty(), "{name}: {}", step.name);
        }
    }
    let explanation = verifier_of(policy()).explain(&mut context, &request(good_token()), wall);
    assert_eq!(explanation.header.as_deref(), Some(HEADER));
    assert_eq!(explanation.claims, Some(claims()));
}

#[test]
fn without_usable_keys_or_time_there_is_no_verdict() {
    let wall = Instant::now();
    let mut context = context();
    let never =
        Verifier::new(vec![entry("main", policy(), IssuerKeys::waiting("test"))], VerifierOptions::default()).unwrap();
    assert_eq!(never.verify(&mut context, &request(good_token()), wall).unwrap_err(), Error::KeysUnavailable);

    let aged = keys();
    aged.publish(key_set(&Signer::ed25519(1).jwk(Some("ed"))), Some(wall + Duration::from_secs(60)));
    let verifier = Verifier::new(vec![entry("main", policy(), aged)], VerifierOptions::default()).unwrap();
    let at = |seconds| wall + Duration::from_secs(seconds);
    assert!(matches!(verifier.verify(&mut context, &request(good_token()), at(59)), Ok(Verdict::Accepted(_))));
    let answer = verifier.verify(&mut context, &request(good_token()), at(61));
    assert_eq!(answer.unwrap_err(), Error::KeysUnavailable);

    let verifier = verifier_of(policy());
    let late = TokenRequest { deadline: Some(wall), ..request(good_token()) };
    assert_eq!(verifier.verify(&mut context, &late, wall).unwrap_err(), Error::DeadlineExceeded);
    // What needs no kernel is answered even so.
    let late = TokenRequest { deadline: Some(wall), ..request("x") };
    assert_eq!(rejection(&verifier.verify(&mut context, &late, wall)).reason, Reason::TokenMalformed);
}

#[test]
fn a_removed_key_stops_at_once() {
    let keys = keys();
    let verifier = Verifier::new(vec![entry("main", policy(), Arc::clone(&keys))], VerifierOptions::default()).unwrap();
    let mut context = context();
    let wall = Instant::now();
    assert!(matches!(verifier.verify(&mut context, &request(good_token()), wall), Ok(Verdict::Accepted(_))));
    keys.publish(key_set(&Signer::ed25519(5).jwk(Some("next"))), None);
    let answer = verifier.verify(&mut context, &request(good_token()), wall);
    assert_eq!(rejection(&answer).reason, Reason::UnknownKeyId);
}

#[test]
fn raw_signatures_are_answered_by_value_and_by_id() {
    let (ed, hs) = (Signer::ed25519(1), Signer::hs256(2));
    let by_value = |signer: &Signer, algorithm| SignatureKey::from_jwk(signer.jwk(None).as_bytes(), algorithm);
    let by_id = |issuer: Option<&str>, key_id: &str| {
        Ok(SignatureKey::Id { issuer: issuer.map(str::to_owned), key_id: key_id.to_owned() })
    };
    let message = b"any bytes at all \xff";
    let cases = [
        (Algorithm::EdDsa, by_value(&ed, Algorithm::EdDsa), ed.signature(message), None),
        (Algorithm::Ed25519, by_value(&ed, Algorithm::Ed25519), ed.signature(message), None),
        (Algorithm::Hs256, by_value(&hs, Algorithm::Hs256), hs.signature(message), None),
        (Algorithm::EdDsa, by_value(&ed, Algorithm::EdDsa), ed.signature(b"other"), Some(Reason::SignatureInvalid)),
        (Algorithm::EdDsa, by_value(&ed, Algorithm::EdDsa), Vec::new(), Some(Reason::SignatureInvalid)),
        (Algorithm::Hs256, by_value(&ed, Algorithm::Hs256), Vec::new(), Some(Reason::AlgorithmMismatch)),
        (Algorithm::Es256, by_value(&ed, Algorithm::EdDsa), vec![0; 64], Some(Reason::AlgorithmMismatch)),
        (Algorithm::EdDsa, by_id(Some("main"), "ed"), ed.signature(message), None),
        (Algorithm::EdDsa, by_id(Some(ISSUER), "ed"), ed.signature(message), None),
        (Algorithm::EdDsa, by_id(Some("other"), "ed"), ed.signature(message), Some(Reason::SignatureInvalid)),
        (Algorithm::EdDsa, by_id(Some("nobody"), "ed"), ed.signature(message), Some(Reason::IssuerUnknown)),
        (Algorithm::EdDsa, by_id(None, "ed"), ed.signature(message), Some(Reason::IssuerMissing)),
        (Algorithm::EdDsa, by_id(Some("main"), "no"), ed.signature(message), Some(Reason::UnknownKeyId)),
        (Algorithm::Hs256, by_id(Some("main"), "ed"), vec![0; 32], Some(Reason::AlgorithmMismatch)),
    ];
    let verifier = two_issuers();
    let mut context = context();
    let wall = Instant::now();
    let reason = |verdict: &Result<SignatureVerdict, Error>| match verdict.as_ref().unwrap() {
        SignatureVerdict::Accepted => None,
        SignatureVerdict::Rejected(rejection) => Some(rejection.reason),
    };
    let mut requests = Vec::new();
    let mut wanted = Vec::new();
    for (algorithm, key, signature, want) in cases {
        let key = match key {
            Ok(key) => key,
            Err(rejection) => {
                assert_eq!(Some(rejection.reason), want);
                continue;
            }
        };
        let request = SignatureRequest {
            algorithm,
            key,
            message: message.as_slice().into(),
            signature: signature.into(),
            deadline: None,
        };
        assert_eq!(reason(&verifier.verify_signature(&mut context, &request, wall)), want, "{request:?}");
        requests.push(request);
        wanted.push(want);
    }
    let mut answers = Vec::new();
    verifier.verify_signature_batch(&mut context, &requests, wall, &mut answers);
    assert_eq!(answers.iter().map(reason).collect::<Vec<_>>(), wanted);
}

#[cfg(feature = "server")]
mod table {
    use std::path::Path;

    use verilane::api::{ErrorRow, RequestFault, error_row, fault_row, reason_row};

    use super::*;

    fn retry(row: &ErrorRow) -> String {
        row.retry_after_s.map_or_else(|| "no".to_owned(), |seconds| format!("after {seconds} s"))
    }

    fn error_line(row: ErrorRow) -> String {
        let ErrorRow { code, http_status, grpc, title, .. } = row;
        format!("| `{code}` | {http_status} | {grpc:?} ({}) | {} | {title} |", grpc.number(), retry(&row))
    }

    fn rows() -> [Vec<String>; 3] {
        [
            Reason::ALL
                .map(|reason| {
                    let row = reason_row(reason);
                    let bearer = row.bearer_error.map_or_else(|| "none".to_owned(), |error| format!("`{error}`"));
                    format!("| `{}` | {} | {bearer} |", row.code, row.message)
                })
                .into(),
            Error::ALL.map(|error| error_line(error_row(error))).into(),
            RequestFault::ALL.map(|fault| error_line(fault_row(fault))).into(),
        ]
    }

    #[test]
    fn the_page_of_reasons_has_exactly_the_rows_of_the_table() {
        let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reasons.md")).unwrap();
        let found: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        let wanted: Vec<String> = rows().concat();
        assert_eq!(found, wanted, "docs/reasons.md should hold these rows:\n{}", wanted.join("\n"));
    }

    #[test]
    fn codes_are_unique_and_follow_the_names() {
        let mut codes: Vec<&str> = Reason::ALL.map(|reason| reason_row(reason).code).into();
        codes.extend(Error::ALL.map(|error| error_row(error).code));
        codes.extend(RequestFault::ALL.map(|fault| fault_row(fault).code));
        let unique: BTreeSet<&str> = codes.iter().copied().collect();
        assert_eq!(unique.len(), codes.len());
        for reason in Reason::ALL {
            let mut name = String::new();
            for character in format!("{reason:?}").chars() {
                if character.is_ascii_uppercase() && !name.is_empty() {
                    name.push('_');
                }
                name.extend(character.to_lowercase());
            }
            let wanted = if reason == Reason::UnknownKeyId { "unknown_kid" } else { &name };
            assert_eq!(reason_row(reason).code, wanted);
        }
    }
}

#[test]
fn a_request_in_a_log_line_shows_no_token() {
    let token = bytes::Bytes::from_static(b"header.payload.signature");
    let request = TokenRequest { token, issuer: None, audience: Some("api".to_owned()), now: 7, deadline: None };
    let shown = format!("{request:?}");
    assert!(shown.contains("24 bytes") && shown.contains("api"), "{shown}");
    assert!(!shown.contains("payload"), "{shown}");
}

#[test]
fn answers_and_jobs_in_a_log_line_show_no_content() {
    const MARK: &str = "whose-token-this-is";
    let marked = format!("\"{MARK}\"");
    let token = signed(HEADER, &with("sub", &marked));
    let explanation = verifier_of(policy()).explain(&mut context(), &request(token), Instant::now());
    assert!(explanation.claims.as_ref().is_some_and(|claims| claims.contains(MARK)));
    let Ok(Verdict::Accepted(accepted)) = &explanation.verdict else { panic!("{explanation:?}") };
    assert_eq!(accepted.subject.as_deref(), Some(MARK));
    // A token whose steps quote it: another issuer's.
    let foreign = signed(HEADER, &with("iss", &marked));
    let quoting = verifier_of(policy()).explain(&mut context(), &request(foreign), Instant::now());
    assert!(quoting.steps.iter().any(|step| step.detail.contains(MARK)));

    let (message, signature) = (bytes::Bytes::from_static(MARK.as_bytes()), MARK.as_bytes());
    let prepared = Arc::new(verilane::kernel::PreparedKey::hmac(&[7; 32]).expect("a secret"));
    let scheme = Algorithm::Hs256.scheme();
    let job =
        verilane::engine::Submission { scheme, key: &prepared, message: message.clone(), signature, deadline: None };
    let raw = SignatureRequest {
        algorithm: Algorithm::Hs256,
        key: SignatureKey::Value(Arc::clone(&prepared)),
        message,
        signature: bytes::Bytes::from_static(MARK.as_bytes()),
        deadline: None,
    };
    // Bytes show as text with escapes, so the mark would be seen.
    for shown in [format!("{explanation:?}"), format!("{quoting:?}"), format!("{job:?}"), format!("{raw:?}")] {
        assert!(!shown.contains(MARK), "{shown}");
    }
    assert!(format!("{:?}", job.message).contains(MARK));
    assert!(format!("{raw:?}").contains("19 bytes") && format!("{job:?}").contains("19 bytes"));
}
