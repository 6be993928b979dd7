//! The text formats: tables of what is refused and where, properties against independent readers, and every file of
//! the fuzzing corpus.

use proptest::prelude::*;
use verilane::jose::{
    Algorithm, Audience, JwkMaterial, Limits, MalformedKind, NumericDate, Segment, base64url, claims, compact, header,
    json, jwk,
};

#[path = "../../fuzz/src/reference.rs"]
mod reference;
#[path = "../../fuzz/src/targets.rs"]
mod targets;

const LIMITS: Limits = Limits::DEFAULT;

/// Segment, kind and position of what a table expects.
type Place = (MalformedKind, Option<Segment>, Option<usize>);

fn split(token: &str) -> Result<compact::Compact<'_>, Place> {
    compact::split(token.as_bytes(), &LIMITS).map_err(|error| (error.kind, error.segment, error.position))
}

fn parse_header(json: &str) -> Result<header::Header, (MalformedKind, Option<usize>)> {
    header::parse(json.as_bytes(), &LIMITS).map_err(|error| {
        assert_eq!(error.segment, Some(Segment::Header));
        (error.kind, error.position)
    })
}

fn parse_claims(json: &str) -> Result<claims::Claims<'_>, (MalformedKind, Option<usize>)> {
    claims::parse(json.as_bytes(), &LIMITS).map_err(|error| {
        assert_eq!(error.segment, Some(Segment::Payload));
        (error.kind, error.position)
    })
}

#[test]
fn a_token_is_three_segments() {
    let token = "aGVhZA.cGF5.c2ln";
    let compact = split(token).expect("three segments");
    assert_eq!((compact.header, compact.payload, compact.signature), (&b"aGVhZA"[..], &b"cGF5"[..], &b"c2ln"[..]));
    assert_eq!(compact.signing_input, b"aGVhZA.cGF5");
    assert_eq!(Segment::ALL.map(|segment| compact.offset(segment)), [0, 7, 12]);
    // A JWS may sign nothing; that there are then no claims is found later.
    assert_eq!(split("aGVhZA..c2ln").map(|compact| compact.payload), Ok(&b""[..]));
    assert!(parse_claims("").is_err());

    use MalformedKind::{Empty, JsonSerialization, Jwe, NotCompact};
    let header = Some(Segment::Header);
    let signature = Some(Segment::Signature);
    let cases: &[(&str, Place)] = &[
        ("", (Empty, None, None)),
        ("a", (NotCompact, None, None)),
        (".", (NotCompact, None, None)),
        ("a.b", (NotCompact, None, None)),
        ("..", (NotCompact, header, Some(0))),
        (".b.c", (NotCompact, header, Some(0))),
        ("a.b.", (NotCompact, signature, Some(4))),
        ("a..", (NotCompact, signature, Some(3))),
        ("a.b.c.", (NotCompact, None, Some(5))),
        ("a.b.c.d", (NotCompact, None, Some(5))),
        ("a.b.c.d.e", (Jwe, None, None)),
        ("....", (Jwe, None, None)),
        (".....", (NotCompact, None, Some(2))),
        ("a.b.c.d.e.f", (NotCompact, None, Some(5))),
        ("{\"payload\":\"a.b.c\"}", (JsonSerialization, None, None)),
        (" \r\n{}", (JsonSerialization, None, None)),
    ];
    for (token, expected) in cases {
        assert_eq!(split(token), Err(*expected), "{token:?}");
    }
}

#[test]
fn sizes_are_checked_before_anything_else() {
    let limits = Limits { token_bytes: 40, header_bytes: 6, payload_bytes: 9, ..LIMITS };
    let kind = |token: &str| compact::split(token.as_bytes(), &limits).map(drop).map_err(|error| error.kind);
    assert_eq!(kind("AAAAAAAA.AAAAAAAAAAAA.AAAAAAAAAAAAAAAAAA"), Ok(()));
    assert_eq!(kind("AAAAAAAA.AAAAAAAAAAAA.AAAAAAAAAAAAAAAAAAA"), Err(MalformedKind::TokenTooLarge));
    assert_eq!(kind(&"{".repeat(41)), Err(MalformedKind::TokenTooLarge));
    assert_eq!(kind("AAAAAAAAAA.AA.AA"), Err(MalformedKind::HeaderTooLarge));
    assert_eq!(kind("AAAAAAAA.AAAAAAAAAAAAAA.AA"), Err(MalformedKind::PayloadTooLarge));
    // The parsers keep the bound too, for who calls them without a token.
    let header = header::parse(b"{\"alg\":\"HS256\"}", &limits).map_err(|error| error.kind);
    assert_eq!(header, Err(MalformedKind::HeaderTooLarge));
    let claims = claims::parse(b"{\"a\":1234}", &limits).map(drop).map_err(|error| error.kind);
    assert_eq!(claims, Err(MalformedKind::PayloadTooLarge));
}

#[test]
fn base64_faults_are_placed_in_the_token() {
    let cases: &[(&str, Segment, usize)] = &[
        ("Bearer AAAA.AAAA.AAAA", Segment::Header, 6),
        ("\u{feff}AAAA.AAAA.AAAA", Segment::Header, 0),
        (" AAAA.AAAA.AAAA", Segment::Header, 0),
        ("AAAA=.AAAA.AAAA", Segment::Header, 4),
        ("AAAA.AA==.AAAA", Segment::Payload, 7),
        ("AAAA.AA+A.AAAA", Segment::Payload, 7),
        ("AAAA.AAAA.AAAA\n", Segment::Signature, 14),
        ("AAAA.AAAA.AAAAA", Segment::Signature, 14),
        ("AAAA.AAAA.AB", Segment::Signature, 11),
        ("AAAA.AAAA.AA\0A", Segment::Signature, 12),
    ];
    for (token, segment, position) in cases {
        let compact = compact::split(token.as_bytes(), &LIMITS).expect("three segments");
        let mut out = Vec::new();
        let error = Segment::ALL.into_iter().find_map(|segment| compact.decode_into(segment, &mut out).err());
        let error = error.unwrap_or_else(|| panic!("{token:?} is not base64url"));
        assert_eq!((error.kind, error.segment), (MalformedKind::Base64, Some(*segment)), "{token:?}");
        assert_eq!(error.position, Some(*position), "{token:?}");
    }
}

#[test]
fn every_algorithm_is_read_by_its_exact_name_only() {
    for algorithm in Algorithm::ALL {
        let name = algorithm.name();
        let read = |alg: &str| parse_header(&format!("{{\"alg\":\"{alg}\"}}")).map(|header| header.algorithm);
        assert_eq!(read(name), Ok(algorithm));
        let unknown = Err((MalformedKind::AlgorithmUnknown, Some(7)));
        for other in [name.to_lowercase(), format!("{name} "), format!(" {name}"), format!("{name}\\u0000")] {
            assert_eq!(read(&other), unknown, "{other:?}");
        }
    }
    for casing in 0..16_u32 {
        let none: String = "none"
            .chars()
            .enumerate()
            .map(|(bit, letter)| if casing >> bit & 1 == 1 { letter.to_ascii_uppercase() } else { letter })
            .collect();
        let found = parse_header(&format!("{{\"alg\":\"{none}\"}}")).map_err(|(kind, _)| kind);
        assert_eq!(found, Err(MalformedKind::AlgorithmUnknown), "{none}");
    }
}

#[test]
fn a_header_gives_what_matters_and_ignores_key_sources() {
    let header = parse_header(
        r#" {"\u0061lg":"EdDSA","kid":"k\u0000\ud83d\ude00","typ":"at+jwt","cty":"text/plain","jku":"https://a.example",
            "x5u":7,"jwk":{"kty":"oct","k":"AAAA"},"x5c":[null],"Crit":["x"],"b64":true,"x":[{}]} "#,
    )
    .expect("a header");
    assert_eq!(header.algorithm, Algorithm::EdDsa);
    assert_eq!(header.key_id.as_deref(), Some("k\0\u{1f600}"));
    assert_eq!(header.typ.as_deref(), Some("at+jwt"));
    let header = parse_header(r#"{"alg":"RS256"}"#).expect("a header");
    assert_eq!((header.key_id, header.typ), (None, None));
}

#[test]
fn headers_that_are_refused() {
    use MalformedKind::*;
    let cases: &[(&str, (MalformedKind, Option<usize>))] = &[
        ("", (Json, Some(0))),
        ("null", (Json, Some(0))),
        ("[{\"alg\":\"HS256\"}]", (Json, Some(0))),
        ("{\"alg\":\"HS256\"}x", (Json, Some(15))),
        ("\u{feff}{\"alg\":\"HS256\"}", (Json, Some(0))),
        ("{}", (AlgorithmMissing, None)),
        ("{\"Alg\":\"HS256\"}", (AlgorithmMissing, None)),
        ("{\"alg\":\"\"}", (AlgorithmUnknown, Some(7))),
        ("{\"alg\":null}", (MemberType, Some(7))),
        ("{\"alg\":256}", (MemberType, Some(7))),
        ("{\"alg\":[\"HS256\"]}", (MemberType, Some(7))),
        ("{\"alg\":\"HS256\",\"alg\":\"HS256\"}", (DuplicateMember, Some(15))),
        ("{\"alg\":\"HS256\",\"\\u0061lg\":\"none\"}", (DuplicateMember, Some(15))),
        ("{\"alg\":\"HS256\",\"x\":{\"a\":1,\"a\":1}}", (DuplicateMember, Some(26))),
        ("{\"alg\":\"HS256\",\"kid\":1}", (MemberType, Some(21))),
        ("{\"alg\":\"HS256\",\"kid\":null}", (MemberType, Some(21))),
        ("{\"alg\":\"HS256\",\"typ\":[\"JWT\"]}", (MemberType, Some(21))),
        ("{\"alg\":\"HS256\",\"cty\":true}", (MemberType, Some(21))),
        ("{\"alg\":\"HS256\",\"cty\":\"jwt\"}", (Nested, Some(21))),
        ("{\"alg\":\"HS256\",\"cty\":\"application/JWT\"}", (Nested, Some(21))),
        ("{\"alg\":\"HS256\",\"crit\":[\"exp\"],\"exp\":1}", (Critical, Some(23))),
        ("{\"alg\":\"HS256\",\"crit\":[\"b64\"],\"b64\":true}", (Critical, Some(23))),
        ("{\"alg\":\"HS256\",\"crit\":[]}", (Critical, Some(22))),
        ("{\"alg\":\"HS256\",\"crit\":null}", (Critical, Some(22))),
        ("{\"alg\":\"HS256\",\"crit\":{\"a\":1}}", (Critical, Some(22))),
        ("{\"alg\":\"HS256\",\"b64\":false}", (UnencodedPayload, Some(21))),
        ("{\"alg\":\"HS256\",\"b64\":false,\"crit\":[\"b64\"]}", (UnencodedPayload, Some(21))),
        ("{\"alg\":\"HS256\",\"b64\":\"true\"}", (MemberType, Some(21))),
        ("{\"alg\":\"HS256\",\"b64\":null}", (MemberType, Some(21))),
        ("{\"alg\":\"HS256\",\"enc\":\"A256GCM\"}", (Jwe, Some(21))),
        ("{\"alg\":\"dir\",\"enc\":null}", (Jwe, Some(19))),
        ("{\"alg\":\"HS256\",\"zip\":\"DEF\"}", (Jwe, Some(21))),
    ];
    for (json, expected) in cases {
        assert_eq!(parse_header(json), Err(*expected), "{json}");
    }
    let not_utf8 = header::parse(b"{\"alg\":\"HS256\",\"kid\":\"\xff\"}", &LIMITS).map_err(|e| (e.kind, e.position));
    assert_eq!(not_utf8, Err((Utf8, Some(22))));
}

#[test]
fn of_several_faults_of_a_header_the_documented_first_is_named() {
    use MalformedKind::*;
    // Each step mends the fault that the step before it named.
    let steps: &[(&str, MalformedKind)] = &[
        (r#"{"alg":1,"kid":1,"typ":1,"cty":1,"crit":1,"b64":false,"enc":1,"enc":1}"#, DuplicateMember),
        (r#"{"alg":1,"kid":1,"typ":1,"cty":1,"crit":1,"b64":false,"enc":1}"#, Jwe),
        (r#"{"alg":1,"kid":1,"typ":1,"cty":1,"crit":1,"b64":false}"#, UnencodedPayload),
        (r#"{"alg":"none","kid":1,"typ":1,"cty":1,"crit":1,"b64":1}"#, Critical),
        (r#"{"alg":"none","kid":1,"typ":1,"cty":1,"b64":1}"#, MemberType),
        (r#"{"alg":"none","kid":1,"typ":1,"cty":1}"#, AlgorithmUnknown),
        (r#"{"alg":"HS256","kid":1,"cty":"JWT"}"#, MemberType),
        (r#"{"alg":"HS256","kid":"1","cty":"JWT"}"#, Nested),
    ];
    for (json, expected) in steps {
        assert_eq!(parse_header(json).map_err(|(kind, _)| kind), Err(*expected), "{json}");
    }
    assert!(parse_header(r#"{"alg":"HS256","kid":"1","cty":"JWS"}"#).is_ok());
}

#[test]
fn registered_claims_are_typed_and_the_rest_is_kept_as_text() {
    let json = r#"{"iss":"i\/","sub":"","aud":["a","b"],"exp":17e8,"nbf":-1,"iat":0.5,"jti":"\u0000",
        "scope":"a b","x" : { "y" : [ 1 , "}" ] } }"#;
    let claims = parse_claims(json).expect("claims");
    assert_eq!(claims.issuer.as_deref(), Some("i/"));
    assert_eq!(claims.subject.as_deref(), Some(""));
    assert_eq!(claims.audience, Some(Audience::Many(vec!["a".into(), "b".into()])));
    assert_eq!(claims.expires_at, Some(NumericDate { seconds: 1_700_000_000, nanos: 0 }));
    assert_eq!(claims.not_before, Some(NumericDate { seconds: -1, nanos: 0 }));
    assert_eq!(claims.issued_at, Some(NumericDate { seconds: 0, nanos: 500_000_000 }));
    assert_eq!(claims.jwt_id.as_deref(), Some("\0"));
    assert_eq!(claims.get("x"), Some(r#"{ "y" : [ 1 , "}" ] }"#));
    assert_eq!(claims.get("exp"), Some("17e8"));
    assert_eq!(claims.get("y"), None);
    assert_eq!(claims.members.len(), 9);
    let claims = parse_claims("{}").expect("claims");
    assert!(claims.members.is_empty() && claims.audience.is_none() && claims.expires_at.is_none());
}

#[test]
fn a_registered_claim_of_another_type_is_never_taken_as_absent() {
    for name in ["iss", "sub", "jti", "aud"] {
        for value in ["null", "1", "true", "{}"] {
            let json = format!("{{\"{name}\":{value}}}");
            assert_eq!(parse_claims(&json).map(drop), Err((MalformedKind::MemberType, Some(7))), "{json}");
        }
    }
    for (aud, position) in [("[1]", 8), ("[\"a\",null]", 12), ("[[\"a\"]]", 8), ("[\"a\",{}]", 12)] {
        let json = format!("{{\"aud\":{aud}}}");
        assert_eq!(parse_claims(&json).map(drop), Err((MalformedKind::MemberType, Some(position))), "{json}");
    }
    let dates = ["null", "true", "\"1700000000\"", "\"\"", "[]", "{}", "1e400", "9007199254740992", "-1e16"];
    for name in ["exp", "nbf", "iat"] {
        for value in dates {
            let json = format!("{{\"{name}\":{value}}}");
            assert_eq!(parse_claims(&json).map(drop), Err((MalformedKind::NumericDate, Some(7))), "{json}");
        }
    }
    let long = format!("{{\"exp\":{}}}", "9".repeat(65));
    assert_eq!(parse_claims(&long).map(drop), Err((MalformedKind::JsonLimit, Some(7))));
}

#[test]
fn json_is_refused_with_its_fault_and_place() {
    use json::JsonProblem::*;
    let limits = json::JsonLimits { depth: 3, members: 8, number_chars: 5 };
    let cases: &[(&[u8], json::JsonProblem, usize)] = &[
        (b"{\"a\":\xff}", Utf8, 5),
        (b"  17", NotAnObject, 2),
        (b"{\"a\":1,}", Expected("a member name"), 7),
        (b"{\"a\" 1}", Expected("a colon"), 5),
        (b"{\"a\":}", Expected("a value"), 5),
        (b"{\"a\":1 \"b\":2}", Expected("a comma or a closing brace"), 7),
        (b"{\"a\":[1 2]}", Expected("a comma or a closing bracket"), 8),
        (b"{\"a\":{\"b\":1]}", Expected("a comma or a closing brace"), 11),
        (b"{\"a\":[,1]}", Expected("a value"), 6),
        (b"{\"a\":\"", Expected("the end of a string"), 6),
        (b"{\"a\":\"\x1f\"}", Expected("no control character in a string"), 6),
        (b"{\"a\":\"\\x\"}", Expected("an escape"), 7),
        (b"{\"a\":\"\\u00g0\"}", Expected("a hexadecimal digit"), 10),
        (b"{\"a\":\"\\ud800\"}", LoneSurrogate, 6),
        (b"{\"a\":\"\\udc00\"}", LoneSurrogate, 6),
        (b"{\"a\":\"\\ud800\\ud800\"}", LoneSurrogate, 6),
        (b"{\"\\ud800\\n\":1}", LoneSurrogate, 2),
        (b"{\"a\":00}", Expected("no digit after a leading zero"), 6),
        (b"{\"a\":1.}", Expected("a digit"), 7),
        (b"{\"a\":-a}", Expected("a digit"), 6),
        (b"{\"a\":1e+}", Expected("a digit"), 8),
        (b"{\"a\":nul}", Expected("a value"), 5),
        (b"{}{}", Expected("the end"), 2),
        (b"{\"a\":123456}", NumberTooLong, 5),
        (b"{\"a\":[[[]]]}", TooDeep, 7),
        (b"{\"a\":[{\"b\":{}}]}", TooDeep, 11),
        (b"{\"a\":[1,2,3,4,5,6,7,8]}", TooManyMembers, 20),
        (b"{\"a\":{\"b\":1,\"c\":2,\"b\":3}}", DuplicateMember, 18),
    ];
    for (document, problem, position) in cases {
        let shown = String::from_utf8_lossy(document);
        let error = json::object(document, &limits).map(drop).map_err(|error| (error.problem, error.position));
        assert_eq!(error, Err((*problem, *position)), "{shown}");
    }
}

#[test]
fn duplicates_are_found_in_objects_of_any_size_and_at_any_depth() {
    let limits = json::JsonLimits { depth: 8, members: 10_000, number_chars: 8 };
    for count in [2, 15, 16, 17, 18, 19, 40, 3000] {
        for (first, second) in [(0, 1), (0, count - 1), (count / 2 - 1, count - 1)] {
            let names: Vec<String> = (0..count).map(|index| format!("\"name{index}\":0")).collect();
            let mut repeated = names.clone();
            repeated[second] = format!("\"\\u006eame{first}\":0");
            for (open, close) in [("{", "}"), ("{\"o\":{", "}}"), ("{\"o\":[0,{\"p\":{", "}}]}")] {
                let document = format!("{open}{}{close}", names.join(","));
                assert!(json::object(document.as_bytes(), &limits).is_ok(), "{count} {open}");
                let document = format!("{open}{}{close}", repeated.join(","));
                let position = document.find("\\u006e").expect("the second name") - 1;
                let error = json::object(document.as_bytes(), &limits).expect_err("a duplicate");
                assert_eq!((error.problem, error.position), (json::JsonProblem::DuplicateMember, position), "{count}");
            }
        }
    }
}

#[test]
fn nesting_costs_no_thread_stack() {
    let depth = 1_000_000;
    let limits = json::JsonLimits { depth: depth + 1, members: usize::MAX, number_chars: 8 };
    let (arrays, objects) = ("[".repeat(depth), "{\"a\":".repeat(depth));
    let documents = [
        (format!("{{\"a\":{arrays}{}}}", "]".repeat(depth)), true),
        (format!("{objects}0{}", "}".repeat(depth)), true),
        (format!("{{\"a\":{arrays}"), false),
        (objects, false),
    ];
    for (document, is_json) in &documents {
        let read = json::object(document.as_bytes(), &limits);
        assert_eq!(read.is_ok(), *is_json);
        if let Ok(members) = read {
            assert_eq!(members[0].value.elements().count() + members[0].value.members().count(), 1);
        }
        let error = json::object(document.as_bytes(), &LIMITS.json()).expect_err("deeper than the default");
        assert_eq!(error.problem, json::JsonProblem::TooDeep);
    }
}

#[test]
fn a_key_set_gives_its_signature_keys_and_says_why_not_the_others() {
    let document = br#"{"x":1,"keys":[
        {"kty":"RSA","n":"AAEC","e":"AAAB","kid":"r","alg":"PS256","use":"sig","x5c":7},
        {"kty":"EC","crv":"P-521","x":"AQ","y":"Ag","key_ops":["sign","verify"]},
        {"kty":"EC","crv":"secp256k1","x":"AQ","y":"Ag","alg":"ES256K"},
        {"kty":"OKP","crv":"Ed25519","x":"AQ","d":"c2VjcmV0","alg":"Ed25519"},
        {"kty":"oct","k":"c2VjcmV0","alg":"HS384"},
        {"kty":"AKP","alg":"ML-DSA-65","pub":"AA","kid":"pq"},
        {"kty":"OKP","crv":"X25519","x":"AQ"},
        {"kty":"OKP","crv":"Ed448","x":"AQ"},
        {"kty":"EC","crv":"p-256","x":"AQ","y":"Ag"},
        {"kty":"EC","crv":"P-256","x":"AQ"},
        {"kty":"RSA","n":"AQ","e":"AQAB","use":"enc"},
        {"kty":"RSA","n":"AQ","e":"AQAB","alg":"RSA-OAEP"},
        {"kty":"RSA","n":"AQ","e":"AQAB","alg":"HS256"},
        {"kty":"EC","crv":"P-256","x":"AQ","y":"Ag","alg":"ES384"},
        {"kty":"oct","k":"c2VjcmV0","alg":"RS256"},
        {"kty":"RSA","n":"AQ==","e":"AQAB"},
        {"kty":"RSA","n":"AB","e":"AQAB"},
        {"kty":"RSA","n":"AA","e":"AQAB"},
        {"kty":"oct","k":""},
        {"kty":"oct","k":"c2VjcmV0!"},
        {"kty":"OKP","crv":"Ed25519","x":"AQ","key_ops":["sign"]},
        {"kty":"OKP","crv":"Ed25519","x":"AQ","key_ops":"verify"},
        {"kty":"OKP","crv":"Ed25519","x":"AQ","use":["sig"]},
        {"kty":"OKP","crv":"Ed25519","x":"AQ","kid":5},
        {"kty":"OKP","crv":"Ed25519","x":"AQ","alg":5},
        {"kty":1},
        {},
        null
    ]}"#;
    let set = jwk::parse_set(document, &LIMITS, 64).expect("a key set");
    let keys: Vec<_> =
        set.keys.iter().map(|key| (key.key_id.as_deref(), key.algorithm, key.had_private_parts)).collect();
    assert_eq!(
        keys,
        [
            (Some("r"), Some(Algorithm::Ps256), false),
            (None, None, false),
            (None, Some(Algorithm::Es256k), false),
            (None, Some(Algorithm::Ed25519), true),
            (None, Some(Algorithm::Hs384), false),
        ]
    );
    // Leading zero bytes of an RSA number are dropped; coordinates stay as they are.
    assert!(set.keys[0].material == JwkMaterial::Rsa { modulus: vec![1, 2], exponent: vec![1] });
    assert!(set.keys[1].material == JwkMaterial::Ec { curve: "P-521", x: vec![1], y: vec![2] });
    assert!(set.keys[4].material == JwkMaterial::Oct { secret: b"secret".to_vec().into() });
    assert!(!format!("{set:?}").contains("115, 101"), "no secret in Debug");

    let expected = [
        (5, Some("pq"), "kty \"AKP\""),
        (6, None, "crv \"X25519\""),
        (7, None, "crv \"Ed448\""),
        (8, None, "crv \"p-256\""),
        (9, None, "y is missing"),
        (10, None, "use is \"enc\""),
        (11, None, "alg \"RSA-OAEP\""),
        (12, None, "alg HS256 does not fit"),
        (13, None, "alg ES384 does not fit"),
        (14, None, "alg RS256 does not fit"),
        (15, None, "n is not base64url"),
        (16, None, "n is not base64url"),
        (17, None, "n is zero"),
        (18, None, "k is empty"),
        (19, None, "k is not base64url"),
        (20, None, "key_ops does not hold"),
        (21, None, "key_ops is not an array"),
        (22, None, "use is not a string"),
        (23, None, "kid is not a string"),
        (24, None, "alg is not a string"),
        (25, None, "kty is not a string"),
        (26, None, "kty is missing"),
        (27, None, "not an object"),
    ];
    assert_eq!(set.skipped.len(), expected.len());
    for (skipped, (index, key_id, reason)) in set.skipped.iter().zip(expected) {
        assert_eq!((skipped.index, skipped.key_id.as_deref()), (index, key_id));
        assert!(skipped.reason.starts_with(reason), "{index}: {}", skipped.reason);
        assert!(!skipped.reason.contains("c2VjcmV0"), "no secret in a reason");
    }
}

#[test]
fn a_document_that_is_no_key_set_is_refused_whole() {
    use jwk::JwkSetError::{Json, NoKeys, TooManyKeys};
    let cases: &[(&str, jwk::JwkSetError)] = &[
        ("", Json("not JSON: expected an object at byte 0".to_owned())),
        ("<html>", Json("not JSON: expected an object at byte 0".to_owned())),
        ("{\"keys\":[]} x", Json("not JSON: expected the end at byte 12".to_owned())),
        (
            "{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAAA\",\"k\":\"AAAA\"}]}",
            Json("a member name occurs twice at byte 33".to_owned()),
        ),
        ("[]", NoKeys),
        ("null", NoKeys),
        ("{}", NoKeys),
        ("{\"Keys\":[]}", NoKeys),
        ("{\"keys\":{}}", NoKeys),
        ("{\"keys\":null}", NoKeys),
        ("{\"keys\":[1,2,3]}", TooManyKeys { count: 3, max: 2 }),
    ];
    for (document, expected) in cases {
        assert_eq!(jwk::parse_set(document.as_bytes(), &LIMITS, 2).map(drop), Err(expected.clone()), "{document}");
    }
    let empty = jwk::parse_set(b"{\"keys\":[]}", &LIMITS, 2).expect("a key set without keys");
    assert!(empty.keys.is_empty() && empty.skipped.is_empty());
    let single =
        jwk::parse_set(b"{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AQ\"}", &LIMITS, 2).expect("a single key");
    assert_eq!(single.keys.len(), 1);
}

#[test]
fn a_key_set_may_have_more_members_than_a_token() {
    let entry = r#"{"kty":"OKP","crv":"Ed25519","x":"AQ","kid":"k"}"#;
    let document = format!("{{\"keys\":[{}]}}", vec![entry; 500].join(","));
    assert_eq!(jwk::parse_set(document.as_bytes(), &LIMITS, 500).map(|set| set.keys.len()), Ok(500));
}

#[test]
fn thumbprints_are_those_of_the_rfcs() {
    let one = |document: &str| {
        let set = jwk::parse_set(document.as_bytes(), &LIMITS, 1).expect("a key");
        jwk::thumbprint(&set.keys[0].material)
    };
    // RFC 7638 section 3.1.
    let rsa = r#"{"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw","e":"AQAB","alg":"RS256","kid":"2011-04-29"}"#;
    assert_eq!(one(rsa), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
    // RFC 8037 appendix A.3.
    let okp = r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
    assert_eq!(one(okp), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    // The other two against the text that RFC 7638 section 3.2 prescribes, hashed by the test.
    let hash = |text: &str| {
        use sha2::Digest as _;
        base64url::encode(&sha2::Sha256::digest(text))
    };
    let ec = r#"{"y":"AQ","x":"_w","crv":"P-384","kty":"EC"}"#;
    assert_eq!(one(ec), hash(r#"{"crv":"P-384","kty":"EC","x":"_w","y":"AQ"}"#));
    let oct = r#"{"kty":"oct","alg":"HS256","k":"c2VjcmV0"}"#;
    assert_eq!(one(oct), hash(r#"{"k":"c2VjcmV0","kty":"oct"}"#));
}

#[test]
fn every_file_of_the_corpus_keeps_the_promises() {
    type Target = (&'static str, fn(&[u8]));
    let run: [Target; 6] = [
        ("token", targets::token),
        ("header", targets::header),
        ("claims", targets::claims),
        ("jwks", targets::jwks),
        ("base64url", targets::base64url),
        ("json_diff", targets::json_diff),
    ];
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (target, check) in run {
        let files = std::fs::read_dir(corpus.join(target)).expect("the corpus of each target");
        let mut count = 0;
        for file in files {
            let path = file.expect("a file").path();
            println!("{}", path.display());
            let data = std::fs::read(&path).expect("a readable file");
            check(&data);
            // And cut short: the end of the input at every place.
            for end in 0..data.len() {
                check(&data[..end]);
            }
            count += 1;
        }
        assert!(count >= 10, "the corpus of {target} has {count} files");
    }
}

/// JSON-like text: mostly documents, with white space, escapes, repeated names and the odd fault.
fn json_text() -> impl Strategy<Value = String> {
    let space = prop_oneof![8 => Just(""), 1 => Just(" "), 1 => Just("\n\t")];
    let string = prop_oneof![
        60 => prop::sample::select(vec!["a", "b", "c", "d", "e", "f", "\\u0061", "\\/", "/", "", "\\ud83d\\ude00", "\u{1f600}", "é", "\\n"]),
        1 => prop::sample::select(vec!["\\ud83d", "\\x", "\u{1}", "\\u12", "\\ude00\\ud83d", "\u{7f}"]),
    ]
    .prop_map(|text| format!("\"{text}\""));
    let number = prop_oneof![
        40 => "-?(0|[1-9][0-9]{0,5})(\\.[0-9]{1,4})?([eE][+-]?[0-9]{1,3})?",
        1 => "[-+]?[0-9.eE]{0,28}",
    ];
    let word = prop_oneof![
        30 => prop::sample::select(vec!["true", "false", "null"]),
        1 => prop::sample::select(vec!["nul", "True", ""]),
    ]
    .prop_map(str::to_owned);
    let leaf = prop_oneof![3 => string.clone(), 3 => number, 1 => word];
    let value = leaf.prop_recursive(7, 60, 6, move |inner| {
        let array = (space.clone(), prop::collection::vec(inner.clone(), 0..5))
            .prop_map(|(space, elements)| format!("[{space}{}{space}]", elements.join(&format!("{space},"))));
        let member = (string.clone(), space.clone(), inner)
            .prop_map(|(name, space, value)| format!("{name}{space}:{space}{value}"));
        let object = (space.clone(), prop::collection::vec(member, 0..6))
            .prop_map(|(space, members)| format!("{{{space}{}{space}}}", members.join(&format!(",{space}"))));
        prop_oneof![array, object]
    });
    prop_oneof![12 => value.clone().prop_map(|value| format!("{{\"top\":{value}}}")), 1 => value]
}

fn config(cases: u32) -> ProptestConfig {
    // A failing case is printed whole, smaller than its seed would make it; no file is written.
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(2000))]

    #[test]
    fn our_json_reader_and_serde_json_agree(text in json_text(), cut in any::<prop::sample::Index>(), byte in any::<u8>()) {
        targets::json_diff(text.as_bytes());
        // The same with one byte changed.
        let mut bytes = text.into_bytes();
        if !bytes.is_empty() {
            let at = cut.index(bytes.len());
            bytes[at] = byte;
        }
        targets::json_diff(&bytes);
    }

    #[test]
    fn base64url_agrees_with_a_reader_of_bits(data in prop::collection::vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        targets::base64url(&data);
        let mut text = base64url::encode(&data).into_bytes();
        targets::base64url(&text);
        if !text.is_empty() {
            let at = at.index(text.len());
            text[at] = byte;
            targets::base64url(&text);
        }
    }

    #[test]
    fn an_integer_date_is_itself(seconds in -NumericDate::SECONDS_MAX..=NumericDate::SECONDS_MAX) {
        prop_assert_eq!(NumericDate::from_json_number(&seconds.to_string()), Some(NumericDate { seconds, nanos: 0 }));
    }

    #[test]
    fn a_date_with_a_fraction_is_exact_and_the_exponent_only_moves_the_point(seconds in -1_000_000_000_000_i64..1_000_000_000_000, nanos in 0..1_000_000_000_u32, shift in -30_i32..30) {
        let total = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        let expected = Some(NumericDate { seconds, nanos });
        let sign = if total < 0 { "-" } else { "" };
        let magnitude = total.unsigned_abs();
        let (whole, fraction) = (magnitude / 1_000_000_000, magnitude % 1_000_000_000);
        let plain = format!("{sign}{whole}.{fraction:09}");
        prop_assert_eq!(NumericDate::from_json_number(&plain), expected, "{}", plain);
        let shifted = if shift < 0 {
            format!("{sign}0.{}{magnitude}e{}", "0".repeat(shift.unsigned_abs() as usize), magnitude.to_string().len() as i32 - shift - 9)
        } else {
            format!("{sign}{magnitude}{}E{}", "0".repeat(shift as usize), -9 - shift)
        };
        prop_assert_eq!(NumericDate::from_json_number(&shifted), expected, "{}", shifted);
    }

    #[test]
    fn any_bytes_are_answered(data in prop::collection::vec(any::<u8>(), 0..300)) {
        targets::token(&data);
        targets::header(&data);
        targets::claims(&data);
        targets::jwks(&data);
        targets::json_diff(&data);
    }
}
