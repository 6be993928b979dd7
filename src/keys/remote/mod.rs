//! Remote key sets: a JWK Set at a URL, or found by OIDC discovery. One background task an issuer; no token ever waits
//! for a fetch it does not ask for with an unknown `kid`, and even then only for as long as its caller allows.
//!
//! Until the first good answer the task retries fast, with exponential and jittered waits. After it, it refreshes ahead
//! of the answer's expiry (`Cache-Control`, between a floor and a ceiling). While the issuer is down or answers
//! nonsense the last good set serves, up to a hard age. Each issuer has its own task, timers, budget and connection, so
//! one that hangs or fails does nothing to another.

mod client;
mod discovery;
mod schedule;

use std::collections::hash_map::RandomState;
use std::future::Future;
use std::hash::BuildHasher;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::prepare::{self, DocumentLimits, Origin, PrepareError};
use super::refetch::Landed;
use super::{IssuerKeys, RefetchLimits};

pub use client::HttpTransport;
pub use reqwest::Url;
pub use schedule::Schedule;

/// What is fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// The URL of the JWK Set.
    Jwks {
        /// The URL.
        url: String,
    },
    /// The issuer whose `/.well-known/openid-configuration` names the JWK Set (OpenID Connect Discovery 1.0 section 4).
    Discovery {
        /// Issuer identifier, exactly as in `iss`.
        issuer: String,
    },
}

/// Whether keys may travel unprotected. Whoever can change them on the way can sign any token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlainHttp {
    /// `https` only.
    #[default]
    Refused,
    /// `http` to this machine itself (`localhost`, 127.0.0.0/8, ::1), for development.
    LoopbackOnly,
    /// `http` to any host: only where the network below is authenticated by other means.
    Anywhere,
}

/// How connections leave.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum ProxyUse {
    /// Directly; the environment is not looked at.
    #[default]
    Direct,
    /// As `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` say.
    Environment,
    /// By this proxy. The URL may hold a password and is never shown.
    Url(String),
}

impl std::fmt::Debug for ProxyUse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Direct => "Direct",
            Self::Environment => "Environment",
            Self::Url(_) => "Url(..)",
        })
    }
}

/// Settings of one remote source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteConfig {
    /// What is fetched.
    pub endpoint: Endpoint,
    /// Whether `http` is allowed. Default: refused.
    pub plain_http: PlainHttp,
    /// Certificates (PEM) that are trusted *instead of* the system's, for an issuer behind a private CA.
    pub ca_bundle: Option<Vec<u8>>,
    /// How connections leave. Default: directly.
    pub proxy: ProxyUse,
    /// Until a connection stands. Default 3 s.
    pub connect_timeout: Duration,
    /// For one request with its answer, redirects included. Default 10 s.
    pub total_timeout: Duration,
    /// Bounds on the document. Default 1 MiB, 256 keys.
    pub limits: DocumentLimits,
    /// When to fetch.
    pub schedule: Schedule,
    /// What tokens with unknown key ids may cause.
    pub refetch: RefetchLimits,
    /// After how long the discovery document is read again. It is also read again after a failed fetch of the keys.
    /// Default 1 h.
    pub discovery_max_age: Duration,
}

impl RemoteConfig {
    /// Defaults for this endpoint.
    #[must_use]
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            plain_http: PlainHttp::default(),
            ca_bundle: None,
            proxy: ProxyUse::default(),
            connect_timeout: Duration::from_secs(3),
            total_timeout: Duration::from_secs(10),
            limits: DocumentLimits::default(),
            schedule: Schedule::default(),
            refetch: RefetchLimits::default(),
            discovery_max_age: Duration::from_secs(3600),
        }
    }

    /// The source for a person, without query, user or password.
    #[must_use]
    pub fn describe(&self) -> String {
        match &self.endpoint {
            Endpoint::Jwks { url } => match Url::parse(url) {
                Ok(url) => shown(&url),
                Err(_) => "an invalid URL".to_owned(),
            },
            Endpoint::Discovery { issuer } => match Url::parse(issuer) {
                Ok(url) => format!("discovery of {}", shown(&url)),
                Err(_) => "discovery of an invalid URL".to_owned(),
            },
        }
    }

    /// Checks what can be checked without the network.
    ///
    /// # Errors
    /// The first thing that cannot work.
    pub fn check(&self) -> Result<(), RemoteError> {
        self.first_url()?;
        self.schedule.check().map_err(RemoteError::Schedule)?;
        if self.connect_timeout.is_zero() || self.total_timeout.is_zero() {
            return Err(RemoteError::Schedule("timeouts must be longer than zero"));
        }
        let refetch = &self.refetch;
        let times = [self.connect_timeout, self.total_timeout, refetch.interval, refetch.negative_ttl];
        if times.iter().any(|&time| time > schedule::LONGEST) {
            return Err(RemoteError::Schedule("a time of more than ten years"));
        }
        Ok(())
    }

    /// The URL of the first request.
    fn first_url(&self) -> Result<Url, RemoteError> {
        match &self.endpoint {
            Endpoint::Jwks { url } => parse_url(url, self.plain_http).map_err(RemoteError::Url),
            Endpoint::Discovery { issuer } => {
                let issuer_url = parse_url(issuer, self.plain_http).map_err(RemoteError::Url)?;
                discovery::document_url(issuer, &issuer_url).map_err(RemoteError::Url)
            }
        }
    }
}

/// Why a fetcher cannot be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// The URL cannot be used.
    #[error("{0}")]
    Url(String),
    /// The times do not go together.
    #[error("{0}")]
    Schedule(&'static str),
    /// The CA bundle has no certificate, or one that cannot be read.
    #[error("CA bundle: {0}")]
    CaBundle(String),
    /// The HTTP client cannot be built.
    #[error("HTTP client: {0}")]
    Client(String),
    /// Not called on a tokio runtime.
    #[error("no tokio runtime to fetch on")]
    NoRuntime,
}

/// Why a fetch brought no keys. The text is for the operator's log and status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// No answer in time.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// Connection, TLS or redirect trouble.
    #[error("{0}")]
    Transport(String),
    /// Another status than 200 (or 304 to a conditional request).
    #[error("the issuer answered HTTP status {status}")]
    Status {
        /// The status.
        status: u16,
        /// `Retry-After`, in seconds.
        retry_after: Option<Duration>,
    },
    /// The answer is larger than allowed.
    #[error("the answer is larger than {max} bytes")]
    TooLarge {
        /// The bound.
        max: usize,
    },
    /// The discovery document cannot be used.
    #[error("discovery: {0}")]
    Discovery(String),
    /// The JWK Set cannot be used.
    #[error("{0}")]
    Keys(#[from] PrepareError),
}

/// One conditional GET.
#[derive(Clone, Copy, Debug)]
pub struct GetRequest<'a> {
    /// What to get.
    pub url: &'a Url,
    /// `If-None-Match`.
    pub etag: Option<&'a str>,
    /// Longest body that is read.
    pub max_bytes: usize,
}

/// The answer to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetResponse {
    /// Status code.
    pub status: u16,
    /// The body, for status 200.
    pub body: Vec<u8>,
    /// `ETag`.
    pub etag: Option<String>,
    /// `Cache-Control`; several are joined by commas.
    pub cache_control: Option<String>,
    /// `Age`, in seconds.
    pub age: Option<u64>,
    /// `Retry-After`, if in seconds.
    pub retry_after: Option<Duration>,
}

/// A running GET.
pub type Getting<'a> = Pin<Box<dyn Future<Output = Result<GetResponse, FetchError>> + Send + 'a>>;

/// How documents are fetched: [`HttpTransport`], or what a program or a test puts in its place.
pub trait Transport: Send + Sync + 'static {
    /// Gets one document. Redirects to another host must not be followed.
    fn get<'a>(&'a self, request: GetRequest<'a>) -> Getting<'a>;
}

/// Starts fetching tasks.
#[derive(Debug)]
pub struct Fetcher;

/// Owns a fetching task: dropping it ends the task. The keys stay as they are until their hard age.
#[derive(Debug)]
pub struct FetchHandle {
    task: tokio::task::JoinHandle<()>,
}

impl Drop for FetchHandle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Fetcher {
    /// Starts fetching into `keys` on the current tokio runtime.
    ///
    /// # Errors
    /// If the configuration cannot work or there is no runtime.
    pub fn spawn(config: RemoteConfig, keys: Arc<IssuerKeys>) -> Result<FetchHandle, RemoteError> {
        let transport = HttpTransport::new(&config)?;
        Self::spawn_with(config, keys, transport)
    }

    /// As [`Fetcher::spawn`], over the given transport.
    ///
    /// # Errors
    /// As [`Fetcher::spawn`].
    pub fn spawn_with(
        config: RemoteConfig,
        keys: Arc<IssuerKeys>,
        transport: impl Transport,
    ) -> Result<FetchHandle, RemoteError> {
        config.check()?;
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| RemoteError::NoRuntime)?;
        let source = config.describe();
        keys.describe(source.clone());
        let number = keys.refetch().open(config.refetch, now());
        let task = Task {
            config,
            keys,
            transport: Box::new(transport),
            source,
            number,
            jwks: None,
            last: None,
            hasher: RandomState::new(),
        };
        Ok(FetchHandle { task: runtime.spawn(task.run()) })
    }
}

/// The state of one fetching task.
struct Task {
    config: RemoteConfig,
    keys: Arc<IssuerKeys>,
    transport: Box<dyn Transport>,
    source: String,
    /// Number of this task at the gate.
    number: u64,
    /// Where the JWK Set is, and when that was learnt.
    jwks: Option<(Url, Instant)>,
    last: Option<LastGood>,
    hasher: RandomState,
}

/// The last answer that became the current set.
struct LastGood {
    etag: Option<String>,
    fingerprint: u64,
}

impl Drop for Task {
    fn drop(&mut self) {
        self.keys.refetch().close(self.number);
        if std::thread::panicking() {
            // The set serves up to its hard age; somebody has to be told well before.
            tracing::error!(source = %self.source, "fetching keys has ended by a fault of ours");
            self.keys.record_failure("fetching has ended by a fault of ours; restart the service", now());
        }
    }
}

impl Task {
    async fn run(mut self) {
        let mut failures = 0_u32;
        loop {
            self.keys.refetch().begin();
            let outcome = self.fetch().await;
            let now = now();
            let jitter = schedule::jitter();
            let (wait, landed) = match outcome {
                Ok(lifetime) => {
                    failures = 0;
                    (self.config.schedule.refresh_after(lifetime, jitter), Landed::Answered)
                }
                Err(error) => {
                    failures = failures.saturating_add(1);
                    self.failed(&error, failures, now);
                    let serving = self.keys.load(now).is_some();
                    let phase = if serving { schedule::Phase::Serving } else { schedule::Phase::First };
                    let asked = match error {
                        FetchError::Status { retry_after, .. } => retry_after,
                        _ => None,
                    };
                    (self.config.schedule.retry_after(phase, failures, asked, jitter), Landed::Failed)
                }
            };
            self.keys.record_next_refresh(Some(now + wait));
            self.keys.refetch().land(landed, self.keys.load(now).as_deref(), now);
            self.rest(wait).await;
        }
    }

    /// Waits for the clock or for a token with an unknown `kid`.
    async fn rest(&self, wait: Duration) {
        let refetch = self.keys.refetch();
        let clock = tokio::time::sleep(wait);
        tokio::pin!(clock);
        loop {
            tokio::select! {
                () = &mut clock => return,
                // A wish that the last fetch already served leaves its signal behind.
                () = refetch.wanted() => if refetch.is_wanted() { return },
            }
        }
    }

    /// One fetch: discovery if it is due, then the keys. Returns how long the answer is fresh.
    async fn fetch(&mut self) -> Result<Duration, FetchError> {
        let url = self.jwks_url().await?;
        let etag = self.last.as_ref().and_then(|last| last.etag.clone());
        let outcome = self.fetch_keys(&url, etag.as_deref()).await;
        if outcome.is_err() && matches!(self.config.endpoint, Endpoint::Discovery { .. }) {
            // The keys may have moved.
            self.jwks = None;
        }
        outcome
    }

    async fn fetch_keys(&mut self, url: &Url, etag: Option<&str>) -> Result<Duration, FetchError> {
        let response = self.get(url, etag).await?;
        let now = now();
        let lifetime = self.config.schedule.lifetime(response.cache_control.as_deref(), response.age);
        let usable_until = now.checked_add(self.config.schedule.hard_age);
        if response.status == 304 && etag.is_some() {
            self.keys.confirm(usable_until, now);
            return Ok(lifetime);
        }
        if response.status != 200 {
            return Err(FetchError::Status { status: response.status, retry_after: response.retry_after });
        }
        let fingerprint = self.hasher.hash_one(&response.body);
        let unchanged = self.last.as_ref().is_some_and(|last| last.fingerprint == fingerprint);
        if unchanged {
            self.keys.confirm(usable_until, now);
        } else {
            let (set, report) = prepare::from_document(&response.body, Origin::Published, &self.config.limits)?;
            tracing::info!(source = %self.source, keys = set.keys().len(), skipped = report.skipped.len(), "new key set");
            for warning in &report.warnings {
                tracing::warn!(source = %self.source, %warning, "key set");
            }
            self.keys.publish_reported(set, report, usable_until, now);
        }
        self.last = Some(LastGood { etag: response.etag, fingerprint });
        Ok(lifetime)
    }

    /// Where the keys are.
    async fn jwks_url(&mut self) -> Result<Url, FetchError> {
        let Endpoint::Discovery { issuer } = &self.config.endpoint else {
            return self.config.first_url().map_err(|error| FetchError::Transport(error.to_string()));
        };
        if let Some((url, learnt)) = &self.jwks
            && now().saturating_duration_since(*learnt) < self.config.discovery_max_age
        {
            return Ok(url.clone());
        }
        let url = self.config.first_url().map_err(|error| FetchError::Discovery(error.to_string()))?;
        let response = self.get(&url, None).await.map_err(|error| FetchError::Discovery(error.to_string()))?;
        if response.status != 200 {
            return Err(FetchError::Status { status: response.status, retry_after: response.retry_after });
        }
        let found = discovery::jwks_uri(&response.body, issuer, self.config.plain_http);
        let found = found.map_err(FetchError::Discovery)?;
        if let Some((before, _)) = &self.jwks
            && *before != found
            && let Some(last) = &mut self.last
        {
            // A validator belongs to the URL it came from.
            last.etag = None;
        }
        self.jwks = Some((found.clone(), now()));
        Ok(found)
    }

    async fn get(&self, url: &Url, etag: Option<&str>) -> Result<GetResponse, FetchError> {
        let max_bytes = self.config.limits.bytes;
        let request = GetRequest { url, etag, max_bytes };
        let total = self.config.total_timeout;
        let response = tokio::time::timeout(total, self.transport.get(request))
            .await
            .map_err(|_| FetchError::Timeout(total))??;
        if response.body.len() > max_bytes {
            return Err(FetchError::TooLarge { max: max_bytes });
        }
        Ok(response)
    }

    fn failed(&self, error: &FetchError, failures: u32, now: Instant) {
        self.keys.record_failure(error.to_string(), now);
        // Loud at first and then ever more rarely: an issuer that is down for a day must not fill the log.
        if failures.is_power_of_two() {
            tracing::warn!(source = %self.source, %error, failures, "cannot fetch keys");
        } else {
            tracing::debug!(source = %self.source, %error, failures, "cannot fetch keys");
        }
    }
}

/// The runtime's clock, which tests can hold.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Judges a URL that keys may come from, as the fetcher would.
///
/// # Errors
/// What stands against it, for a person.
pub fn check_url(text: &str, plain_http: PlainHttp) -> Result<(), String> {
    parse_url(text, plain_http).map(drop)
}

/// Parses and judges a URL that keys may come from. What is said never repeats it: it may hold a password.
fn parse_url(text: &str, plain_http: PlainHttp) -> Result<Url, String> {
    const NO_ADDRESS: &str = "not an https address such as https://id.example.com/jwks.json";
    let url = Url::parse(text).map_err(|_| NO_ADDRESS)?;
    if url.fragment().is_some() {
        return Err("an address here has no fragment".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("credentials do not belong in an address".to_owned());
    }
    match (url.scheme(), plain_http) {
        ("https", _) | ("http", PlainHttp::Anywhere) => Ok(url),
        ("http", PlainHttp::LoopbackOnly) if is_loopback(&url) => Ok(url),
        ("http", PlainHttp::LoopbackOnly) => Err("http, and the host is not this machine".to_owned()),
        ("http", PlainHttp::Refused) => Err("http would let anyone on the way choose the keys; use https, or set \
                                             plain_http where the way is yours"
            .to_owned()),
        _ => Err(NO_ADDRESS.to_owned()),
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A URL for logs: scheme, host, port and path.
fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}
