//! The settings of the service, typed. Sections mirror modules; every default is safe to run with.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::Deserialize;

use super::issuer::IssuerSettings;
use super::units::{ShardCount, Size, Span};
use crate::jose::Limits;

/// Everything that can be configured.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "Verilane configuration")]
pub struct Settings {
    /// Where the service listens.
    pub listen: ListenSettings,
    /// Shards, slots and kernels.
    pub engine: EngineSettings,
    /// How much of a token is looked at before it is refused.
    pub limits: LimitSettings,
    /// Bounds on connections and request bodies.
    pub http: HttpSettings,
    /// How key sets are fetched and kept, for all issuers; an issuer may override the refresh settings.
    pub keys: KeySettings,
    /// Whose tokens are verified.
    pub issuers: Vec<IssuerSettings>,
    /// Logs.
    pub telemetry: TelemetrySettings,
    /// What happens when the process is asked to stop.
    pub shutdown: ShutdownSettings,
}

/// Where the service listens.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListenSettings {
    /// HTTP/1.1, HTTP/2 without TLS and gRPC, on one port. Port 0 takes a free one.
    #[schemars(with = "String")]
    pub data: SocketAddr,
    /// Liveness, readiness, metrics and kernel information. Not for clients.
    #[schemars(with = "String")]
    pub admin: SocketAddr,
}

impl Default for ListenSettings {
    fn default() -> Self {
        Self { data: SocketAddr::from(([127, 0, 0, 1], 8080)), admin: SocketAddr::from(([127, 0, 0, 1], 9090)) }
    }
}

/// Shards, slots and kernels.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EngineSettings {
    /// How many shards: each is one thread with its own event loop and connections.
    pub shards: ShardCount,
    /// Signature checks one shard can hold at once, 32 to 65536. A check without a slot is refused as overloaded.
    pub slots_per_shard: usize,
    /// How long a shard may run kernels before it looks at its connections again, 10us to 10ms.
    pub turn_budget: Span,
    /// Whether full lane groups may be handed to an idle shard.
    pub spill: bool,
    /// Whether each shard's thread is bound to one core. Useful when the process has its cores for itself.
    pub pin: bool,
    /// Kernels to use instead of the fastest: `portable` everywhere, or `scheme/backend` for one scheme.
    pub kernels: Vec<String>,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            shards: ShardCount::Auto,
            slots_per_shard: 4096,
            turn_budget: Span(std::time::Duration::from_micros(100)),
            spill: true,
            pin: false,
            kernels: Vec::new(),
        }
    }
}

/// How much of a token is looked at before it is refused. All are inclusive maxima.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitSettings {
    /// The compact serialization.
    pub token: Size,
    /// The decoded header.
    pub header: Size,
    /// The decoded payload.
    pub payload: Size,
    /// Nesting of JSON objects and arrays, the outermost being 1.
    pub json_depth: usize,
    /// Members and elements of one JSON document, all together.
    pub json_members: usize,
    /// Characters of one JSON number.
    pub number_chars: usize,
    /// Keys a token without `kid` is tried with, 1 to 16; they are tried together.
    pub candidates_max: usize,
}

impl Default for LimitSettings {
    fn default() -> Self {
        let limits = Limits::DEFAULT;
        Self {
            token: Size(limits.token_bytes as u64),
            header: Size(limits.header_bytes as u64),
            payload: Size(limits.payload_bytes as u64),
            json_depth: limits.json_depth,
            json_members: limits.json_members,
            number_chars: limits.number_chars,
            candidates_max: 16,
        }
    }
}

impl LimitSettings {
    /// The limits for `jose`.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits {
            token_bytes: self.token.bytes(),
            header_bytes: self.header.bytes(),
            payload_bytes: self.payload.bytes(),
            json_depth: self.json_depth,
            json_members: self.json_members,
            number_chars: self.number_chars,
        }
    }
}

/// Bounds on connections and request bodies of the data listener. gRPC messages have the same bounds as bodies.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HttpSettings {
    /// Connections open at once, over all shards.
    pub connections_max: usize,
    /// HTTP/2 streams open at once on one connection.
    pub streams_per_connection: u32,
    /// The header fields of one request, with the token in `Authorization`.
    pub headers: Size,
    /// The body of a request for one token.
    pub body: Size,
    /// The body of a request for one raw signature.
    pub signature_body: Size,
    /// The body of a batch sent in one piece. NDJSON and gRPC streams have no such bound.
    pub batch_body: Size,
    /// Items of a batch sent in one piece.
    pub batch_items_max: usize,
    /// One line of NDJSON.
    pub line: Size,
    /// Requests of one batch or stream in work at once.
    pub window: usize,
    /// Slots that all batches and streams of one shard may take at once, the others wait: at most three quarters of
    /// `engine.slots_per_shard`, so that single checks find one. A token without `kid` takes one for each key it is
    /// tried with.
    pub bulk_in_flight_max: usize,
    /// Header fields, bodies and lines that one shard holds at once, over all connections. Beyond it requests are
    /// refused as overloaded.
    pub held_per_shard: Size,
    /// How long a check may take, and the longest deadline a client can ask for.
    pub request_timeout: Span,
    /// How long a client may be silent before a request, or take to send its header fields.
    pub header_timeout: Span,
    /// How long a connection may be open with no request or stream in work.
    pub idle_timeout: Span,
    /// How long a client may pause in a body, or take to send one that is read as a whole.
    pub body_timeout: Span,
    /// How long answers may wait for a client that does not read them.
    pub write_timeout: Span,
    /// How long a gRPC stream may be silent in both directions.
    pub stream_idle_timeout: Span,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            connections_max: 10_000,
            streams_per_connection: 1024,
            headers: Size::kib(64),
            body: Size::kib(40),
            signature_body: Size::mib(1),
            batch_body: Size::mib(16),
            batch_items_max: 65_536,
            line: Size::kib(40),
            window: 256,
            bulk_in_flight_max: 1024,
            held_per_shard: Size::mib(256),
            request_timeout: Span::secs(5),
            header_timeout: Span::secs(75),
            idle_timeout: Span::secs(300),
            body_timeout: Span::secs(30),
            write_timeout: Span::secs(30),
            stream_idle_timeout: Span::secs(3600),
        }
    }
}

/// How key sets are fetched and kept.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KeySettings {
    /// How long a token with an unknown `kid` may wait for the refetch it caused. 0 rejects at once.
    pub unknown_kid_wait: Span,
    /// Tokens of one shard that may wait so at once.
    pub parked_max: usize,
    /// How long readiness waits for the first keys of every issuer before it is granted without them.
    pub readiness_wait: Span,
    /// How long fetched keys are fresh when the publisher does not say.
    pub refresh_default: Span,
    /// Shortest time between two fetches, whatever the publisher's cache headers say.
    pub refresh_floor: Span,
    /// Longest time between two fetches, whatever the publisher's cache headers say.
    pub refresh_ceiling: Span,
    /// How long keys that cannot be refreshed are served before they count as unavailable.
    pub stale_max: Span,
    /// Refetches for unknown `kid`s that may start at once after a quiet time, for each issuer.
    pub refetch_burst: u32,
    /// One more may start after each such span.
    pub refetch_interval: Span,
    /// How long a `kid` that a refetch did not bring is refused without another.
    pub unknown_kid_memory: Span,
    /// Time to open a connection to a publisher.
    pub connect_timeout: Span,
    /// Time for a whole fetch.
    pub fetch_timeout: Span,
    /// Whether fetches go through the proxy that `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` name.
    pub proxy: Proxy,
    /// How often key files are read without a notice of change.
    pub file_poll: Span,
    /// Memory for tables that make keys with traffic faster, over all issuers. 0 keeps none.
    pub table_memory: Size,
    /// Largest key document, fetched or local.
    pub document: Size,
    /// Most keys of one issuer.
    pub keys_max: usize,
}

impl Default for KeySettings {
    fn default() -> Self {
        Self {
            unknown_kid_wait: Span::millis(500),
            parked_max: 1024,
            readiness_wait: Span::secs(30),
            refresh_default: Span::secs(300),
            refresh_floor: Span::secs(60),
            refresh_ceiling: Span::secs(3600),
            stale_max: Span::secs(12 * 3600),
            refetch_burst: 3,
            refetch_interval: Span::secs(10),
            unknown_kid_memory: Span::secs(30),
            connect_timeout: Span::secs(3),
            fetch_timeout: Span::secs(10),
            proxy: Proxy::Direct,
            file_poll: Span::secs(30),
            table_memory: Size(crate::keys::tables::TABLE_BYTES_DEFAULT as u64),
            document: Size::mib(1),
            keys_max: 256,
        }
    }
}

/// How connections to publishers leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Proxy {
    /// Directly.
    #[default]
    Direct,
    /// As `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` say.
    Environment,
}

/// Logs.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TelemetrySettings {
    /// How a log line looks.
    pub log_format: LogFormat,
    /// What is logged. Tokens, payloads and keys never are, at any level.
    pub log_level: LogLevel,
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For a person.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// The least severe level that is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Faults only.
    Error,
    /// And what an operator should look at.
    Warn,
    /// And changes of state.
    #[default]
    Info,
    /// And what happens.
    Debug,
    /// And everything.
    Trace,
}

impl LogLevel {
    /// The name, as in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// What happens when the process is asked to stop.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ShutdownSettings {
    /// How long readiness says no before listeners close, so that load balancers look elsewhere. Longer than the
    /// interval of their probes; 0 where nobody balances.
    pub announce: Span,
    /// How long accepted requests may take to finish.
    pub drain_timeout: Span,
}

impl Default for ShutdownSettings {
    fn default() -> Self {
        Self { announce: Span::secs(5), drain_timeout: Span::secs(30) }
    }
}
