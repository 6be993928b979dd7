//! OpenID Connect Discovery 1.0, as far as keys need it: where the document is, and what it says about the keys.

use reqwest::Url;

use super::{PlainHttp, parse_url};

/// What is read of the document; the rest is none of our business.
#[derive(serde::Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
}

/// The URL of the document of `issuer` (section 4.1: a slash at its end is cut before the path is added).
pub(super) fn document_url(issuer: &str, parsed: &Url) -> Result<Url, String> {
    if parsed.query().is_some() || parsed.fragment().is_some() {
        return Err("an issuer for discovery has no query and no fragment".to_owned());
    }
    let base = issuer.strip_suffix('/').unwrap_or(issuer);
    Url::parse(&format!("{base}/.well-known/openid-configuration")).map_err(|error| format!("not a URL: {error}"))
}

/// `jwks_uri` of a document that belongs to `issuer`, character by character (section 4.3).
pub(super) fn jwks_uri(document: &[u8], issuer: &str, plain_http: PlainHttp) -> Result<Url, String> {
    let metadata: Metadata =
        serde_json::from_slice(document).map_err(|error| format!("not a discovery document: {error}"))?;
    if metadata.issuer != issuer {
        return Err("the document is for another issuer than the configured one".to_owned());
    }
    parse_url(&metadata.jwks_uri, plain_http).map_err(|error| format!("jwks_uri: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_is_below_the_issuer() {
        for (issuer, expected) in [
            ("https://a.example", "https://a.example/.well-known/openid-configuration"),
            ("https://a.example/", "https://a.example/.well-known/openid-configuration"),
            ("https://a.example/t/1", "https://a.example/t/1/.well-known/openid-configuration"),
            ("https://a.example/t/1/", "https://a.example/t/1/.well-known/openid-configuration"),
        ] {
            let parsed = Url::parse(issuer).unwrap();
            assert_eq!(document_url(issuer, &parsed).unwrap().as_str(), expected);
        }
        for issuer in ["https://a.example/?x", "https://a.example/#x"] {
            assert!(document_url(issuer, &Url::parse(issuer).unwrap()).is_err(), "{issuer}");
        }
    }

    #[test]
    fn only_a_document_of_exactly_this_issuer_counts() {
        let read = |document: &str| jwks_uri(document.as_bytes(), "https://a.example", PlainHttp::Refused);
        let good = r#"{"issuer":"https://a.example","jwks_uri":"https://keys.example/jwks","x":{"y":[1]}}"#;
        assert_eq!(read(good).unwrap().as_str(), "https://keys.example/jwks");
        for bad in [
            r#"{"issuer":"https://a.example/","jwks_uri":"https://keys.example/jwks"}"#,
            r#"{"issuer":"https://A.example","jwks_uri":"https://keys.example/jwks"}"#,
            r#"{"issuer":"https://a.example","jwks_uri":"http://keys.example/jwks"}"#,
            r#"{"issuer":"https://a.example","jwks_uri":"http://127.0.0.1/jwks"}"#,
            r#"{"issuer":"https://a.example","jwks_uri":"file:///etc/passwd"}"#,
            r#"{"issuer":"https://a.example","jwks_uri":"https://u:p@keys.example/jwks"}"#,
            r#"{"issuer":"https://a.example","issuer":"https://a.example","jwks_uri":"https://keys.example/jwks"}"#,
            r#"{"issuer":"https://a.example"}"#,
            r#"{"jwks_uri":"https://keys.example/jwks"}"#,
            "<html>",
            "",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
