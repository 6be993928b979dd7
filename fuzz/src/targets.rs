//! One function for each fuzz target. Each takes any bytes, and panics only where the code under test breaks a promise.

use serde_json::value::RawValue;
use verilane::jose::{
    Claims, Header, Limits, Malformed, MalformedKind, Segment, base64url, claims, compact, header, json, jwk,
};
use verilane::policy::{Policy, Violation};

use super::reference::{self, Refused};

/// A clock for the policies below; the corpus has tokens around it.
const NOW: i64 = 1_700_000_000;

/// A whole token: split, base64url, header, claims, policy.
pub fn token(data: &[u8]) {
    let limits = Limits::DEFAULT;
    let compact = match compact::split(data, &limits) {
        Ok(compact) => compact,
        Err(error) => return check_position(&error, data.len()),
    };
    assert!(data.len() <= limits.token_bytes);
    assert!(!compact.header.is_empty() && !compact.signature.is_empty());
    assert_eq!([compact.header, compact.payload, compact.signature].join(&b'.'), data);
    assert_eq!([compact.header, compact.payload].join(&b'.'), compact.signing_input);

    let mut decoded = Vec::new();
    let mut ends = Vec::new();
    for segment in [Segment::Header, Segment::Payload, Segment::Signature] {
        let text = compact.segment(segment);
        assert_eq!(&data[compact.offset(segment)..][..text.len()], text);
        let start = decoded.len();
        match compact.decode_into(segment, &mut decoded) {
            Ok(()) => assert_eq!(base64url::encode(&decoded[start..]).as_bytes(), text, "one text for one value"),
            Err(error) => {
                assert_eq!(error.kind, MalformedKind::Base64);
                assert_eq!(decoded.len(), start);
                return check_position(&error, data.len());
            }
        }
        ends.push(decoded.len());
    }
    let (head, payload) = (&decoded[..ends[0]], &decoded[ends[0]..ends[1]]);
    assert!(head.len() <= limits.header_bytes && payload.len() <= limits.payload_bytes);
    let header = header::parse(head, &limits);
    let claims = claims::parse(payload, &limits);
    if let Err(error) = &header {
        check_position(error, head.len());
    }
    if let Err(error) = &claims {
        check_position(error, payload.len());
    }
    if let (Ok(header), Ok(claims)) = (header, claims) {
        judge(&header, &claims);
    }
}

/// A decoded header.
pub fn header(data: &[u8]) {
    match header::parse(data, &Limits::DEFAULT) {
        Err(error) => check_position(&error, data.len()),
        Ok(header) => {
            let members = reference::object(data, &Limits::DEFAULT.json()).expect("what we read the reference reads");
            let get = |name: &str| members.iter().find(|(member, _)| member == name).map(|(_, value)| value.get());
            let text = |name: &str| get(name).map(|value| serde_json::from_str::<String>(value).expect("a string"));
            assert_eq!(text("alg").as_deref(), Some(header.algorithm.name()));
            assert_eq!(text("kid"), header.key_id);
            assert_eq!(text("typ"), header.typ);
            assert!(text("cty").is_none_or(|content| !content.eq_ignore_ascii_case("jwt")));
            assert_eq!([get("crit"), get("enc"), get("zip")], [None; 3]);
            assert!(get("b64").is_none_or(|value| value == "true"));
        }
    }
}

/// A decoded payload.
pub fn claims(data: &[u8]) {
    match claims::parse(data, &Limits::DEFAULT) {
        Err(error) => check_position(&error, data.len()),
        Ok(claims) => {
            let expected = reference::object(data, &Limits::DEFAULT.json()).expect("what we read the reference reads");
            assert_eq!(claims.members.len(), expected.len());
            for ((name, value), (expected_name, expected_value)) in claims.members.iter().zip(&expected) {
                assert_eq!((&**name, *value), (&**expected_name, expected_value.get()));
                assert_eq!(claims.get(name), Some(*value));
            }
            for (name, date) in [("exp", claims.expires_at), ("nbf", claims.not_before), ("iat", claims.issued_at)] {
                assert_eq!(claims.get(name).is_some(), date.is_some(), "present means typed");
                let Some(date) = date else { continue };
                assert!(date.nanos < 1_000_000_000);
                let near: f64 = claims.get(name).and_then(|text| text.parse().ok()).expect("a number");
                let exact = date.seconds as f64 + f64::from(date.nanos) / 1e9;
                assert!((near - exact).abs() <= near.abs() * 1e-9 + 1e-8, "{near} {exact}");
            }
            for (name, text) in [("iss", &claims.issuer), ("sub", &claims.subject), ("jti", &claims.jwt_id)] {
                let expected = claims.get(name).map(|value| serde_json::from_str::<String>(value).expect("a string"));
                assert_eq!(text.as_deref(), expected.as_deref());
            }
            let header = header::parse(br#"{"alg":"EdDSA","typ":"at+jwt"}"#, &Limits::DEFAULT).expect("a header");
            judge(&header, &claims);
        }
    }
}

/// A JWK Set document.
pub fn jwks(data: &[u8]) {
    const KEYS_MAX: usize = 8;
    let Ok(set) = jwk::parse_set(data, &Limits::DEFAULT, KEYS_MAX) else { return };
    let limits = json::JsonLimits { members: usize::MAX, ..Limits::DEFAULT.json() };
    let members = reference::object(data, &limits).expect("what we read the reference reads");
    let count = match members.iter().find(|(name, _)| name == "keys") {
        Some((_, keys)) => serde_json::from_str::<Vec<&RawValue>>(keys.get()).expect("an array").len(),
        None => 1,
    };
    assert_eq!(set.keys.len() + set.skipped.len(), count, "each entry is a key or passed over");
    assert!(count <= KEYS_MAX);
    for skipped in &set.skipped {
        assert!(skipped.index < count && !skipped.reason.is_empty() && skipped.reason.len() < 512);
    }
    for key in &set.keys {
        assert_eq!(jwk::thumbprint(&key.material).len(), 43);
        match &key.material {
            jwk::JwkMaterial::Rsa { modulus, exponent } => {
                assert!(modulus.first().is_some_and(|byte| *byte != 0));
                assert!(exponent.first().is_some_and(|byte| *byte != 0));
            }
            jwk::JwkMaterial::Ec { x, y, .. } => assert!(!x.is_empty() && !y.is_empty()),
            jwk::JwkMaterial::Ed25519 { x } => assert!(!x.is_empty()),
            jwk::JwkMaterial::Oct { secret } => {
                assert!(!secret.is_empty());
                assert!(key.algorithm.is_none_or(verilane::jose::Algorithm::is_symmetric));
                assert_eq!(format!("{:?}", key.material), "Oct(<secret>)");
            }
        }
    }
}

/// base64url against a decoder of a dozen lines, in both directions.
pub fn base64url(data: &[u8]) {
    let mut out = b"before".to_vec();
    let result = base64url::decode_into(data, &mut out);
    match (result, reference::base64url(data)) {
        (Ok(()), Ok(expected)) => {
            assert_eq!(out.strip_prefix(b"before"), Some(&*expected));
            assert_eq!(expected.len(), base64url::decoded_len(data.len()));
            assert_eq!(base64url::encode(&expected).as_bytes(), data);
        }
        (Err(error), Err(position)) => {
            assert_eq!(error.position, position);
            assert_eq!(out, b"before");
        }
        (ours, theirs) => panic!("ours {ours:?}, reference {theirs:?}"),
    }
    assert_eq!(base64url::decode(base64url::encode(data).as_bytes()).as_deref(), Ok(data));
}

/// Our JSON reader against serde_json with our extra refusals, in both directions: under limits that small inputs
/// reach, and under the default ones.
pub fn json_diff(data: &[u8]) {
    json_diff_under(&json::JsonLimits { depth: 3, members: 8, number_chars: 6 }, data);
    json_diff_under(&Limits::DEFAULT.json(), data);
}

fn json_diff_under(limits: &json::JsonLimits, data: &[u8]) {
    match (json::object(data, limits), reference::object(data, limits)) {
        (Ok(ours), Ok(theirs)) => {
            assert_eq!(ours.len(), theirs.len());
            for (our, (name, value)) in ours.iter().zip(&theirs) {
                assert_eq!((&*our.name, our.value.text()), (&**name, value.get()));
                assert!(data[our.value.position()..].starts_with(our.value.text().as_bytes()));
                assert_eq!(data[our.name_position], b'"');
                check_value(our.value, &serde_json::from_str(value.get()));
            }
        }
        (Err(error), Err(refused)) => {
            assert!(error.position <= data.len());
            match refused {
                // Which of several faults is named may differ; a document whose only fault is one of ours may not be
                // called ill-formed, nor the other way round.
                Refused::IllFormed => {}
                Refused::Extra => assert!(
                    matches!(error.kind(), MalformedKind::DuplicateMember | MalformedKind::JsonLimit),
                    "{error:?}"
                ),
            }
        }
        (ours, theirs) => panic!("ours {ours:?}, reference {theirs:?}"),
    }
}

/// The values that are read from checked text, all the way down. A number that serde_json cannot hold is skipped.
fn check_value(ours: json::Value<'_>, theirs: &Result<serde_json::Value, serde_json::Error>) {
    use serde_json::Value;
    let Ok(theirs) = theirs else { return };
    match theirs {
        Value::Null => assert_eq!(ours.kind(), json::Kind::Null),
        Value::Bool(true) => assert_eq!(ours.kind(), json::Kind::True),
        Value::Bool(false) => assert_eq!(ours.kind(), json::Kind::False),
        Value::Number(_) => assert!(ours.number().is_some()),
        Value::String(text) => assert_eq!(ours.string().as_deref(), Some(&**text)),
        Value::Array(elements) => {
            assert_eq!(ours.elements().count(), elements.len());
            for (ours, theirs) in ours.elements().zip(elements) {
                check_value(ours, &Ok(theirs.clone()));
            }
        }
        Value::Object(members) => {
            assert_eq!(ours.members().count(), members.len());
            for ours in ours.members() {
                check_value(ours.value, &Ok(members[&*ours.name].clone()));
            }
        }
    }
}

fn check_position(error: &Malformed, len: usize) {
    assert!(error.position.is_none_or(|position| position <= len), "{error:?}");
}

/// Judges under policies from the laxest to the strictest, with clocks and leeways at their ends.
fn judge(header: &Header, claims: &Claims<'_>) {
    let lax = Policy { require_expiry: false, ..Policy::default() };
    let strict = Policy {
        issuer: Some("https://issuer.example".to_owned()),
        audiences: vec!["api.example".to_owned()],
        required_claims: vec!["sub".to_owned()],
        types: vec!["at+jwt".to_owned()],
        max_lifetime_s: Some(3600),
        ..Policy::default()
    };
    assert_eq!(lax.judge_header(header), Ok(()));
    let _ = strict.judge_header(header);
    for now in [i64::MIN, -1, 0, NOW, i64::MAX] {
        for leeway_s in [0, 60, u64::MAX] {
            let lax = lax.judge_claims(claims, now);
            let tolerant = Policy { leeway_s, ..strict.clone() };
            if tolerant.judge_claims(claims, now).is_ok() {
                assert!(claims.issuer.as_deref() == Some("https://issuer.example"));
                assert!(claims.audience.as_ref().is_some_and(|audience| audience.contains("api.example")));
                assert!(claims.subject.is_some() && claims.expires_at.is_some());
                assert!(leeway_s > 0 || lax.is_ok(), "a stricter policy accepts no more");
            }
            let forever = Policy { leeway_s: u64::MAX, require_expiry: false, ..Policy::default() };
            assert!(!matches!(
                forever.judge_claims(claims, 0),
                Err(Violation::Expired | Violation::NotYetValid | Violation::IssuedInFuture)
            ));
        }
    }
}
