//! The HTTP client below a fetcher: reqwest on rustls with AWS-LC. No cookies, no decompression, no proxy unless asked
//! for, no redirect to another host.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{self, HeaderMap};
use reqwest::{Client, Url, redirect};
use rustls::RootCertStore;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

use super::{FetchError, GetRequest, GetResponse, Getting, ProxyUse, RemoteConfig, RemoteError, Transport};

/// Redirects that are followed, all to the same scheme, host and port.
const REDIRECTS_MAX: usize = 3;

/// Longest validator that is kept and sent back.
const ETAG_MAX: usize = 1024;

/// Gets documents over HTTP/1.1 or HTTP/2.
#[derive(Clone, Debug)]
pub struct HttpTransport {
    client: Client,
}

impl HttpTransport {
    /// A client with its own connection, for this source.
    ///
    /// # Errors
    /// If the CA bundle or the proxy cannot be used.
    pub fn new(config: &RemoteConfig) -> Result<Self, RemoteError> {
        let client = Client::builder()
            .user_agent(concat!("verilane/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(tls(config)?)
            .redirect(redirect::Policy::custom(same_origin))
            .referer(false)
            .connect_timeout(config.connect_timeout)
            .timeout(config.total_timeout)
            .pool_max_idle_per_host(1)
            .pool_idle_timeout(Duration::from_secs(30));
        let client = match &config.proxy {
            ProxyUse::Direct => client.no_proxy(),
            ProxyUse::Environment => client,
            ProxyUse::Url(url) => {
                // The text of the error would show the URL, which may hold a password.
                let proxy =
                    reqwest::Proxy::all(url).map_err(|_| RemoteError::Client("the proxy URL is invalid".to_owned()))?;
                client.no_proxy().proxy(proxy)
            }
        };
        let client = client.build().map_err(|error| RemoteError::Client(chain(&error)))?;
        Ok(Self { client })
    }
}

impl Transport for HttpTransport {
    fn get<'a>(&'a self, request: GetRequest<'a>) -> Getting<'a> {
        Box::pin(get(&self.client, request))
    }
}

async fn get(client: &Client, request: GetRequest<'_>) -> Result<GetResponse, FetchError> {
    let mut get = client
        .get(request.url.clone())
        .header(header::ACCEPT, "application/jwk-set+json, application/json;q=0.9, */*;q=0.1");
    if let Some(etag) = request.etag {
        get = get.header(header::IF_NONE_MATCH, etag);
    }
    let failed = |error: reqwest::Error| FetchError::Transport(chain(&error.without_url()));
    let mut answer = get.send().await.map_err(failed)?;
    let headers = answer.headers();
    let mut response = GetResponse {
        status: answer.status().as_u16(),
        body: Vec::new(),
        etag: text(headers, header::ETAG).filter(|etag| etag.len() <= ETAG_MAX).map(str::to_owned),
        cache_control: joined(headers, header::CACHE_CONTROL),
        age: text(headers, header::AGE).and_then(|age| age.trim().parse().ok()),
        retry_after: text(headers, header::RETRY_AFTER)
            .and_then(|after| after.trim().parse().ok())
            .map(Duration::from_secs),
    };
    if response.status != 200 {
        return Ok(response);
    }
    let max = request.max_bytes;
    let too_large = |length: u64| usize::try_from(length).map_or(true, |length| length > max);
    if answer.content_length().is_some_and(too_large) {
        return Err(FetchError::TooLarge { max });
    }
    while let Some(chunk) = answer.chunk().await.map_err(failed)? {
        if chunk.len() > max - response.body.len() {
            return Err(FetchError::TooLarge { max });
        }
        response.body.extend_from_slice(&chunk);
    }
    Ok(response)
}

/// Follows a redirect only within the origin of the first request.
fn same_origin(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let origin = |url: &Url| (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port_or_known_default());
    match attempt.previous().first() {
        Some(first) if origin(first) != origin(attempt.url()) => {
            attempt.error("redirected to another origin, which is not followed")
        }
        _ if attempt.previous().len() > REDIRECTS_MAX => attempt.error("too many redirects"),
        _ => attempt.follow(),
    }
}

fn tls(config: &RemoteConfig) -> Result<rustls::ClientConfig, RemoteError> {
    let roots = match &config.ca_bundle {
        Some(bundle) => bundled_roots(bundle)?,
        None => system_roots(),
    };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| RemoteError::Client(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(tls)
}

fn bundled_roots(bundle: &[u8]) -> Result<RootCertStore, RemoteError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(bundle) {
        let certificate = certificate.map_err(|error| RemoteError::CaBundle(error.to_string()))?;
        roots.add(certificate).map_err(|error| RemoteError::CaBundle(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(RemoteError::CaBundle("no certificate in it".to_owned()));
    }
    Ok(roots)
}

/// The system's trusted certificates. Without any, every https fetch fails and says so.
fn system_roots() -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _ignored) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        tracing::warn!("no trusted certificates on this system; install ca-certificates or configure a CA bundle");
    }
    roots
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn joined(headers: &HeaderMap, name: header::HeaderName) -> Option<String> {
    let values: Vec<&str> = headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
    if values.is_empty() { None } else { Some(values.join(", ")) }
}

/// An error with its causes, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.ends_with(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}
