//! One request as JSON: a token or a raw signature. Texts are borrowed from the body and kept as slices of it.

use std::borrow::Cow;
use std::time::Instant;

use bytes::Bytes;
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::faces::{KeySpec, SignatureSpec};
use crate::jose::base64url;
use crate::verify::TokenRequest;

/// Longest `id` that is returned with an answer, in bytes of JSON text.
const ID_BYTES_MAX: usize = 128;

/// The answer to what is no object where nothing else is taken.
const OBJECT_ONLY: &str = "A JSON object is expected here.";

/// Where an item stands, which decides whether it may carry an `id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The only one of its request.
    Single,
    /// One of many.
    InBatch,
}

/// A question read from a body.
#[derive(Debug)]
pub(super) enum Question {
    /// About a token.
    Token(TokenRequest),
    /// About a raw signature.
    Signature(SignatureSpec),
}

/// A question with the client's `id` for it, as JSON text.
#[derive(Debug)]
pub(super) struct Item {
    /// Returned with the answer.
    pub(super) id: Option<Bytes>,
    /// What is asked.
    pub(super) question: Question,
}

/// What is wrong with an item: one sentence, without what the client sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ItemFault {
    /// `id`, if that much could be read.
    pub(super) id: Option<Bytes>,
    /// The sentence.
    pub(super) detail: String,
}

/// How text becomes an item. One for tokens, one for raw signatures.
pub(super) type Reader = fn(&Bytes, Place, Option<Instant>) -> Result<Item, ItemFault>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenText<'a> {
    #[serde(borrow)]
    token: Cow<'a, str>,
    #[serde(default, deserialize_with = "given")]
    issuer: Option<String>,
    #[serde(default, deserialize_with = "given")]
    audience: Option<String>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignatureText<'a> {
    algorithm: String,
    #[serde(borrow, default, deserialize_with = "given_borrowed")]
    message: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "given_borrowed")]
    message_text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    signature: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "given_raw")]
    key: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "given")]
    key_id: Option<String>,
    #[serde(default, deserialize_with = "given")]
    issuer: Option<String>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
}

/// A member that is there has a value: `null` is most likely a fault of the client's, and reading it as absent would
/// silently leave out the check that was asked for.
fn given<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    String::deserialize(value).map(Some)
}

/// The same for a text that borrows where it can.
fn given_borrowed<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Cow<'de, str>>, D::Error> {
    BorrowedText::deserialize(value).map(|text| Some(text.0))
}

/// The same for JSON text.
fn given_raw<'de, D: Deserializer<'de>>(value: D) -> Result<Option<&'de RawValue>, D::Error> {
    let text = <&RawValue>::deserialize(value)?;
    if text.get() == "null" { Err(D::Error::invalid_type(Unexpected::Unit, &"a value")) } else { Ok(Some(text)) }
}

/// Reads `{"token": .., "issuer"?: .., "audience"?: ..}`, or in a batch also a bare string.
pub(super) fn read_token(text: &Bytes, place: Place, deadline: Option<Instant>) -> Result<Item, ItemFault> {
    if place == Place::InBatch && text.trim_ascii_start().first() == Some(&b'"') {
        let token: BorrowedText<'_> = serde_json::from_slice(text).map_err(|error| fault(&error))?;
        let request = crate::faces::token_request(share(text, token.0), None, None, deadline);
        return Ok(Item { id: None, question: Question::Token(request) });
    }
    let shape = match place {
        Place::Single => OBJECT_ONLY,
        Place::InBatch => "A JSON object, or a token as a JSON string in quotes, is expected here.",
    };
    let parsed: TokenText<'_> = parse_object(text, shape).map_err(|fault| with_id(fault, text, place))?;
    let id = read_id(text, parsed.id, place)?;
    let token = share(text, parsed.token);
    let request = crate::faces::token_request(token, parsed.issuer, parsed.audience, deadline);
    Ok(Item { id, question: Question::Token(request) })
}

/// Reads `{"algorithm": .., "message" or "message_text": .., "signature": .., "key" or "key_id": .., "issuer"?: ..}`.
pub(super) fn read_signature(text: &Bytes, place: Place, deadline: Option<Instant>) -> Result<Item, ItemFault> {
    let parsed: SignatureText<'_> = parse_object(text, OBJECT_ONLY).map_err(|fault| with_id(fault, text, place))?;
    let id = read_id(text, parsed.id, place)?;
    let fail = |detail: &str| ItemFault { id: id.clone(), detail: detail.to_owned() };
    let decode = |what: &str, value: &str| {
        base64url::decode(value.as_bytes()).map(Bytes::from).map_err(|error| {
            fail(&format!("`{what}` is not base64url without padding, see its character {}.", error.position))
        })
    };
    let message = match (parsed.message, parsed.message_text) {
        (Some(encoded), None) => decode("message", &encoded)?,
        (None, Some(plain)) => share(text, plain),
        (None, None) => return Err(fail("One of `message` (base64url) and `message_text` is needed.")),
        (Some(_), Some(_)) => return Err(fail("Only one of `message` and `message_text` may be given.")),
    };
    let signature = decode("signature", &parsed.signature)?;
    let key = match (parsed.key, parsed.key_id) {
        (Some(_), None) if parsed.issuer.is_some() => return Err(fail("`issuer` goes with `key_id`, not with `key`.")),
        (Some(jwk), None) => KeySpec::Jwk(text.slice_ref(jwk.get().as_bytes())),
        (None, Some(key_id)) => KeySpec::Id { issuer: parsed.issuer, key_id },
        (None, None) => return Err(fail("One of `key` (a JWK) and `key_id` is needed.")),
        (Some(_), Some(_)) => return Err(fail("Only one of `key` and `key_id` may be given.")),
    };
    let spec = SignatureSpec { algorithm: parsed.algorithm, message, signature, key, deadline };
    Ok(Item { id, question: Question::Signature(spec) })
}

/// A string that borrows where it can.
#[derive(Deserialize)]
struct BorrowedText<'a>(#[serde(borrow)] Cow<'a, str>);

/// The string as bytes: a slice of the body where it stands there literally.
fn share(body: &Bytes, text: Cow<'_, str>) -> Bytes {
    match text {
        Cow::Borrowed(text) => body.slice_ref(text.as_bytes()),
        Cow::Owned(text) => Bytes::from(text),
    }
}

/// `id` may be a string or a number of bounded length.
fn read_id(body: &Bytes, id: Option<&RawValue>, place: Place) -> Result<Option<Bytes>, ItemFault> {
    let Some(text) = id.map(RawValue::get) else { return Ok(None) };
    let fail = |detail: &str| Err(ItemFault { id: None, detail: detail.to_owned() });
    if place == Place::Single {
        return fail("`id` belongs in a batch.");
    }
    if !matches!(text.as_bytes().first(), Some(b'"' | b'-' | b'0'..=b'9')) {
        return fail("`id` must be a string or a number.");
    }
    if text.len() > ID_BYTES_MAX {
        return fail("`id` is longer than 128 bytes.");
    }
    // It comes back as it stands, so it must be what every parser of the answer can read.
    if text.starts_with('"') && serde_json::from_str::<Cow<'_, str>>(text).is_err() {
        return fail("`id` holds half a character.");
    }
    if !text.starts_with('"') && serde_json::from_str::<f64>(text).is_err() {
        return fail("`id` is a number out of range.");
    }
    Ok(Some(body.slice_ref(text.as_bytes())))
}

/// The fault with the `id` of an item that is otherwise wrong, so that its sender can tell which one it was.
fn with_id(fault: ItemFault, body: &Bytes, place: Place) -> ItemFault {
    #[derive(Deserialize)]
    struct IdText<'a> {
        #[serde(borrow, default)]
        id: Option<&'a RawValue>,
    }
    if place == Place::Single {
        return fault;
    }
    let found: Option<IdText<'_>> = parse_object(body, OBJECT_ONLY).ok();
    let id = found.and_then(|text| read_id(body, text.id, place).ok().flatten());
    ItemFault { id, ..fault }
}

/// Parses an object, or answers with `otherwise`. Only an object: by itself the parser would also take an array as the
/// members in their order.
fn parse_object<'a, T: Deserialize<'a>>(text: &'a [u8], otherwise: &str) -> Result<T, ItemFault> {
    if text.trim_ascii_start().first() != Some(&b'{') {
        return Err(ItemFault { id: None, detail: otherwise.to_owned() });
    }
    serde_json::from_slice(text).map_err(|error| fault(&error))
}

fn fault(error: &serde_json::Error) -> ItemFault {
    ItemFault { id: None, detail: explain(error) }
}

/// The parser's complaint without the client's values: it quotes them when a member has the wrong type.
pub(super) fn explain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let names_only = ["missing field", "duplicate field"].iter().any(|start| text.starts_with(start));
    let (line, column) = (error.line(), error.column());
    match error.classify() {
        Category::Data if names_only => {
            let end = text.rfind(" at line").unwrap_or(text.len());
            format!("Not what is expected here: {}.", &text[..end])
        }
        // The name is the client's own; what would be accepted is more useful and is ours.
        Category::Data if text.starts_with("unknown field") => {
            let expected = text.find("expected ").map_or("", |at| &text[at..]);
            let end = expected.rfind(" at line").unwrap_or(expected.len());
            format!("Unknown member at line {line} column {column}: {}.", &expected[..end])
        }
        Category::Data if text.starts_with("invalid type: null") => {
            format!("A value is null at line {line} column {column}; leave out a member that has no value.")
        }
        Category::Data => format!("A value has the wrong type at line {line} column {column}."),
        Category::Syntax => format!("Not JSON at line {line} column {column}."),
        Category::Eof | Category::Io => "The JSON text ends early.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detail(reader: Reader, text: &'static str, place: Place) -> String {
        reader(&Bytes::from_static(text.as_bytes()), place, None).map(|_| ()).unwrap_err().detail
    }

    #[test]
    fn a_literal_token_is_a_slice_of_the_body() {
        let body = Bytes::from_static(br#"{"token":"a.b.c","id":7}"#);
        let item = read_token(&body, Place::InBatch, None).unwrap();
        let Question::Token(request) = item.question else { panic!("a token was asked about") };
        assert_eq!(request.token.as_ptr(), body[10..].as_ptr());
        assert_eq!(item.id.as_deref(), Some(&b"7"[..]));
    }

    #[test]
    fn an_escaped_token_is_unescaped() {
        let item = read_token(&Bytes::from_static(br#""a\u002eb""#), Place::InBatch, None).unwrap();
        let Question::Token(request) = item.question else { panic!("a token was asked about") };
        assert_eq!(&request.token[..], b"a.b");
    }

    #[test]
    fn faults_name_the_member_and_never_the_value() {
        for (text, want) in [
            (r#"{"tokne":"s3cret"}"#, "Unknown member at line 1 column 8: expected one of"),
            (r#"{"token":["s3cret"]}"#, "A value has the wrong type"),
            (r#"{"token":"s3cret","audience":null}"#, "A value is null at line 1 column"),
            (r#"{"token":"s3cret","issuer":null}"#, "A value is null at line 1 column"),
            (r#"{"token":"s3cret","token":"s3cret"}"#, "duplicate field `token`"),
            (r#"{"issuer":"s3cret"}"#, "missing field `token`"),
            (r#"{"token":"s3cret"} x"#, "Not JSON at line 1"),
            (r#"{"token":"s3cret""#, "ends early"),
            (r#"{"token":"s3cret","id":1}"#, "`id` belongs in a batch"),
            (r#""s3cret""#, "A JSON object is expected"),
            (r#"["s3cret",null,null,null]"#, "A JSON object is expected"),
        ] {
            let detail = detail(read_token, text, Place::Single);
            assert!(detail.contains(want), "{text}: {detail}");
            assert!(!detail.contains("s3cret"), "{text}: {detail}");
        }
    }

    #[test]
    fn a_bare_token_in_a_batch_is_told_about_its_quotes() {
        let detail = detail(read_token, "s3.cr.et", Place::InBatch);
        assert!(detail.contains("as a JSON string in quotes"), "{detail}");
    }

    #[test]
    fn ids_are_strings_or_numbers_of_bounded_length() {
        let long = format!(r#"{{"token":"t","id":"{}"}}"#, "x".repeat(127));
        for (text, fits) in [
            (r#"{"token":"t","id":"x"}"#, true),
            (r#"{"token":"t","id":-1}"#, true),
            (r#"{"token":"t","id":{}}"#, false),
            (r#"{"token":"t","id":true}"#, false),
            (long.as_str(), false),
            (r#"{"token":"t","id":"\ud800"}"#, false),
            (r#"{"token":"t","id":1e400}"#, false),
        ] {
            let text = Bytes::copy_from_slice(text.as_bytes());
            assert_eq!(read_token(&text, Place::InBatch, None).is_ok(), fits, "{text:?}");
        }
    }

    #[test]
    fn a_faulty_item_keeps_its_id_if_that_can_be_read() {
        for (text, want) in [
            (r#"{"id":"a","token":5}"#, Some(r#""a""#)),
            (r#"{"token":"s3cret","audience":null,"id":7}"#, Some("7")),
            (r#"{"tokne":"s3cret","id":"a"}"#, Some(r#""a""#)),
            (r#"{"id":"a"}"#, Some(r#""a""#)),
            (r#"{"token":5,"id":{}}"#, None),
            (r#"{"token":5,"id":1,"id":2}"#, None),
            (r#"{"id":"a","token":"s3cret""#, None),
            (r#"["a"]"#, None),
        ] {
            let text = Bytes::from_static(text.as_bytes());
            for reader in [read_token as Reader, read_signature] {
                let fault = reader(&text, Place::InBatch, None).map(|_| ()).unwrap_err();
                assert_eq!(fault.id.as_deref(), want.map(str::as_bytes), "{text:?}");
            }
        }
    }

    #[test]
    fn a_signature_needs_one_message_and_one_key() {
        let cases = [
            (r#"{"algorithm":"ES256","signature":"AA","key_id":"k"}"#, "One of `message`"),
            (
                r#"{"algorithm":"ES256","signature":"AA","message":"","message_text":"","key_id":"k"}"#,
                "Only one of `message`",
            ),
            (r#"{"algorithm":"ES256","signature":"AA","message":""}"#, "One of `key`"),
            (r#"{"algorithm":"ES256","signature":"AA","message":"","key":{},"key_id":"k"}"#, "Only one of `key`"),
            (r#"{"algorithm":"ES256","signature":"AA","message":"","key":{},"issuer":"i"}"#, "`issuer` goes with"),
            (
                r#"{"algorithm":"ES256","signature":"AA","message":null,"message_text":"","key_id":"k"}"#,
                "A value is null",
            ),
            (r#"{"algorithm":"ES256","signature":"AA","message":"","key":null,"key_id":"k"}"#, "A value is null"),
            (r#"{"algorithm":"ES256","signature":"A=","message":"","key_id":"k"}"#, "`signature` is not base64url"),
        ];
        for (text, want) in cases {
            let detail = detail(read_signature, text, Place::Single);
            assert!(detail.contains(want), "{text}: {detail}");
        }
    }
}
