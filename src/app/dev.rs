//! The development issuer of `serve --dev`: fresh keys for every algorithm, discovery, a JWK Set and a minting endpoint.
//! It has a listener of its own, on loopback, so that the faces of the service are the same as in production.

use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;

use super::failure::Failure;
use super::minting::{SigningError, SigningKey};
use super::serve::{bind_tokio, local_address};
use crate::config::{AlgorithmName, Span};
use crate::faces::unix_now;
use crate::http::{MediaType, media_type};
use crate::jose::Algorithm;
use crate::keys::prepare::{self, DocumentLimits, Origin};
use crate::keys::{IssuerKeys, KeySetReport};
use crate::policy::Policy;
use crate::runtime::Background;
use crate::verify::IssuerEntry;

/// `aud` of minted tokens, and the audience the development issuer's policy asks for.
pub(super) const AUDIENCE: &str = "verilane-dev";
/// Configured name of the development issuer.
const NAME: &str = "dev";
/// How long the token in the printed curl line is valid.
const PRINTED_TTL: Span = Span::secs(24 * 3600);
/// How long a token is valid whose request says nothing.
const TTL: Span = Span::secs(3600);
/// The longest that a token may be valid: ten years.
const TTL_MAX: Span = Span::secs(10 * 366 * 24 * 3600);
/// The largest request to the minting endpoint.
const REQUEST_MAX: usize = 64 * 1024;

/// The development issuer.
pub(super) struct DevIssuer {
    issuer: String,
    keys: Vec<SigningKey>,
}

impl DevIssuer {
    /// Fresh keys, for an issuer that listens on `address`.
    pub(super) fn new(address: SocketAddr) -> Result<Self, SigningError> {
        // One key of each type; the RSA key serves six algorithms, the Ed25519 key two.
        let kinds = [
            Algorithm::EdDsa,
            Algorithm::Es256,
            Algorithm::Es384,
            Algorithm::Es512,
            Algorithm::Es256k,
            Algorithm::Hs256,
            Algorithm::Hs384,
            Algorithm::Hs512,
        ];
        let mut keys = Vec::with_capacity(kinds.len() + 1);
        for algorithm in kinds {
            keys.push(SigningKey::generate(algorithm, 2048)?);
        }
        keys.push(SigningKey::generate(Algorithm::Rs256, 2048)?.unpinned());
        Ok(Self { issuer: format!("http://{address}"), keys })
    }

    /// The issuer as the verifier knows it. The HMAC secrets are in its keys and nowhere else.
    pub(super) fn entry(&self) -> Result<IssuerEntry, Failure> {
        let jwks: Result<Vec<Value>, SigningError> =
            self.keys.iter().map(|key| key.public_jwk().map_or_else(|| key.private_jwk(), Ok)).collect();
        let document = zeroize::Zeroizing::new(json!({ "keys": jwks? }).to_string());
        let (set, _) = prepare::from_document(document.as_bytes(), Origin::Local, &DocumentLimits::default())
            .map_err(Failure::new)?;
        let keys = IssuerKeys::waiting("development keys");
        keys.publish_reported(set, KeySetReport::default(), None, std::time::Instant::now());
        Ok(IssuerEntry {
            name: Arc::from(NAME),
            policy: Policy {
                issuer: Some(self.issuer.clone()),
                audiences: vec![AUDIENCE.to_owned()],
                ..Policy::default()
            },
            keys,
        })
    }

    /// A token. Claims that are null in `claims` are left out, so that incomplete tokens can be made.
    pub(super) fn mint(
        &self,
        algorithm: Algorithm,
        claims: Map<String, Value>,
        ttl: Span,
        now: i64,
    ) -> Result<String, SigningError> {
        let expires_at = now.saturating_add(i64::try_from(ttl.0.as_secs()).unwrap_or(i64::MAX));
        let mut all = Map::new();
        all.insert("iss".to_owned(), self.issuer.as_str().into());
        all.insert("aud".to_owned(), AUDIENCE.into());
        all.insert("sub".to_owned(), "developer".into());
        all.insert("iat".to_owned(), now.into());
        all.insert("exp".to_owned(), expires_at.into());
        all.extend(claims);
        all.retain(|_, value| !value.is_null());

        // The pinned key comes first: three secrets fit all HMAC algorithms by type.
        let key = self.keys.iter().find(|key| key.algorithm().scheme() == algorithm.scheme());
        let key = key.or_else(|| self.keys.iter().find(|key| key.fits(algorithm))).ok_or(SigningError::Rejected)?;
        let mut header = Map::new();
        header.insert("typ".to_owned(), "JWT".into());
        if let Some(key_id) = key.key_id() {
            header.insert("kid".to_owned(), key_id.into());
        }
        key.mint_as(algorithm, header, &all)
    }

    /// Routes of its listener.
    pub(super) fn router(self: Arc<Self>) -> Router {
        Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/jwks.json", get(jwks))
            .route("/dev/mint", post(mint))
            .fallback(async || {
                let text = "Here are /.well-known/openid-configuration, /jwks.json and POST /dev/mint.\n";
                (StatusCode::NOT_FOUND, text)
            })
            .layer(DefaultBodyLimit::max(REQUEST_MAX))
            .with_state(self)
    }
}

async fn discovery(State(issuer): State<Arc<DevIssuer>>) -> Response {
    let names: Vec<&str> =
        Algorithm::ALL.into_iter().filter(|algorithm| !algorithm.is_symmetric()).map(Algorithm::name).collect();
    axum::Json(json!({
        "issuer": issuer.issuer,
        "jwks_uri": format!("{}/jwks.json", issuer.issuer),
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": names,
    }))
    .into_response()
}

async fn jwks(State(issuer): State<Arc<DevIssuer>>) -> Response {
    let keys: Vec<Value> = issuer.keys.iter().filter_map(SigningKey::public_jwk).collect();
    axum::Json(json!({ "keys": keys })).into_response()
}

/// Body of `POST /dev/mint`; everything is optional.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct MintRequest {
    alg: Option<AlgorithmName>,
    claims: Map<String, Value>,
    ttl: Option<Span>,
}

/// What a page from elsewhere, open in the developer's browser, must not get past: it can send a request here without
/// asking only as a form or as plain text, and it cannot hide where it is from.
fn refuse_other_sites(headers: &HeaderMap) -> Result<(), (StatusCode, &'static str)> {
    if !headers.get_all(header::ORIGIN).iter().all(|origin| is_loopback_origin(origin.as_bytes())) {
        return Err((StatusCode::FORBIDDEN, "only pages from this machine may mint tokens"));
    }
    match media_type(headers) {
        Ok(MediaType::Json) => Ok(()),
        Ok(_) => Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "send `content-type: application/json`")),
        Err(_) => Err((StatusCode::BAD_REQUEST, "more than one `Content-Type` field was sent")),
    }
}

/// Whether the value of `Origin` is a page served by this machine.
fn is_loopback_origin(origin: &[u8]) -> bool {
    let Ok(uri) = Uri::try_from(origin) else { return false };
    let Some(host) = uri.host().filter(|_| uri.scheme().is_some()) else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || address.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

fn refusal(status: StatusCode, detail: &str) -> Response {
    (status, axum::Json(json!({ "error": detail }))).into_response()
}

async fn mint(State(issuer): State<Arc<DevIssuer>>, headers: HeaderMap, body: Bytes) -> Response {
    if let Err((status, detail)) = refuse_other_sites(&headers) {
        return refusal(status, detail);
    }
    let request = if body.trim_ascii().is_empty() { Ok(MintRequest::default()) } else { serde_json::from_slice(&body) };
    let request = match request {
        Ok(request) => request,
        Err(error) => {
            let detail =
                format!("{error}; send {{\"alg\": \"ES256\", \"claims\": {{\"sub\": \"alice\"}}, \"ttl\": \"5m\"}}");
            return refusal(StatusCode::BAD_REQUEST, &detail);
        }
    };
    let ttl = request.ttl.unwrap_or(TTL);
    if ttl > TTL_MAX {
        return refusal(StatusCode::BAD_REQUEST, &format!("a ttl of {ttl} is above {TTL_MAX}"));
    }
    let algorithm = request.alg.map_or(Algorithm::EdDsa, |name| name.0);
    match issuer.mint(algorithm, request.claims, ttl, unix_now()) {
        Ok(token) => axum::Json(json!({ "token": token, "alg": algorithm.name() })).into_response(),
        Err(error) => refusal(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// The token with another first character in its signature.
fn forge(token: &str) -> String {
    let Some((input, signature)) = token.rsplit_once('.') else { return token.to_owned() };
    let first = if signature.starts_with('A') { 'B' } else { 'A' };
    format!("{input}.{first}{}", signature.get(1..).unwrap_or_default())
}

/// The development issuer and its listener.
pub(super) struct Development {
    pub(super) issuer: Arc<DevIssuer>,
    listener: TcpListener,
    address: SocketAddr,
}

impl Development {
    /// The listener comes first: its port is part of the issuer's name.
    pub(super) fn bind(background: &Background, address: SocketAddr) -> Result<Self, Failure> {
        let listener = bind_tokio(background, address, "--dev-issuer")?;
        let address = local_address(listener.local_addr())?;
        Ok(Self { issuer: Arc::new(DevIssuer::new(address)?), listener, address })
    }

    pub(super) fn serve(self, background: &Background) {
        let Self { issuer, listener, .. } = self;
        background.handle().spawn(async move {
            if let Err(error) = axum::serve(listener, issuer.router()).await {
                tracing::error!(%error, "the development issuer ended");
            }
        });
    }

    /// Says where everything is, with a command that works as it stands.
    pub(super) fn announce(&self, data: SocketAddr, admin: SocketAddr) -> Result<(), Failure> {
        let token = self.issuer.mint(Algorithm::EdDsa, Map::new(), PRINTED_TTL, unix_now())?;
        let forged = forge(&token);
        let issuer = self.address;
        let audience = AUDIENCE;
        let text = format!(
            r#"Verilane, development mode: fresh keys at every start, loopback only.

  data    http://{data}   POST /v1/verify and /v1/verify:batch, POST /v1/signatures:verify and :batch,
          gRPC verilane.v1.Verifier (no TLS), GET /openapi.json
  admin   http://{admin}   GET /livez /readyz /metrics /kernels
  issuer  http://{issuer}   GET /.well-known/openid-configuration /jwks.json, POST /dev/mint
          audience {audience}

Verify a token (good for 24 hours):

curl -s http://{data}/v1/verify -H 'content-type: application/json' -d '{{"token":"{token}"}}'

The same with one byte of its signature changed:

curl -s http://{data}/v1/verify -H 'content-type: application/json' -d '{{"token":"{forged}"}}'

Mint another, with any algorithm and any claims:

curl -s http://{issuer}/dev/mint -H 'content-type: application/json' -d '{{"alg":"ES256","claims":{{"sub":"alice"}},"ttl":"5m"}}'

Ctrl-C stops.
"#
        );
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| Failure::output(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Context;
    use crate::kernel::KernelTable;
    use crate::verify::{TokenRequest, Verdict, Verifier, VerifierOptions};

    #[test]
    fn tokens_of_every_algorithm_are_accepted_by_the_issuers_entry() {
        let issuer = DevIssuer::new(SocketAddr::from(([127, 0, 0, 1], 8081))).expect("keys can be made");
        let entry = issuer.entry().expect("the keys are usable");
        let verifier = Verifier::new(vec![entry], VerifierOptions::default()).expect("one issuer");
        let kernels = KernelTable::select::<&str>(&[]).expect("nothing is forced");
        let mut context = Context::new(&kernels);
        let now = 1_700_000_000;
        for algorithm in Algorithm::ALL {
            let token = issuer.mint(algorithm, Map::new(), TTL, now).expect("it signs");
            let request = TokenRequest { token: token.into(), issuer: None, audience: None, now, deadline: None };
            let verdict = verifier.verify(&mut context, &request, std::time::Instant::now());
            assert!(matches!(verdict, Ok(Verdict::Accepted(_))), "{algorithm}: {verdict:?}");
        }
    }

    #[test]
    fn only_pages_of_this_machine_and_programs_may_mint() {
        let json = ("content-type", "application/json");
        type Field = (&'static str, &'static str);
        let cases: [(&[Field], Option<u16>); 13] = [
            (&[json], None),
            (&[json, ("origin", "http://localhost:3000")], None),
            (&[json, ("origin", "https://127.0.0.1")], None),
            (&[json, ("origin", "http://[::1]:8081")], None),
            (&[json, ("origin", "https://evil.example")], Some(403)),
            (&[json, ("origin", "http://localhost.evil.example")], Some(403)),
            (&[json, ("origin", "http://127.0.0.1.evil.example")], Some(403)),
            (&[json, ("origin", "http://localhost@evil.example")], Some(403)),
            (&[json, ("origin", "null")], Some(403)),
            (&[json, ("origin", "http://localhost"), ("origin", "https://evil.example")], Some(403)),
            (&[("content-type", "text/plain")], Some(415)),
            (&[], Some(415)),
            (&[json, ("content-type", "text/plain")], Some(400)),
        ];
        for (fields, want) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in fields {
                headers.append(*name, axum::http::HeaderValue::from_static(value));
            }
            let got = refuse_other_sites(&headers).err().map(|(status, _)| status.as_u16());
            assert_eq!(got, want, "{fields:?}");
        }
    }

    #[test]
    fn published_keys_hold_nothing_private() {
        let issuer = DevIssuer::new(SocketAddr::from(([127, 0, 0, 1], 8081))).expect("keys can be made");
        let published: Vec<Value> = issuer.keys.iter().filter_map(SigningKey::public_jwk).collect();
        assert_eq!(published.len(), 6);
        for key in published {
            let private = ["d", "p", "q", "dp", "dq", "qi", "k"].into_iter().find(|name| key.get(name).is_some());
            assert_eq!(private, None, "{}", key["kty"]);
        }
    }
}
