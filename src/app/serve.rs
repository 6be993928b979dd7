//! `verilane serve`: everything is put together here, and taken apart here, in one order each.
//!
//! Start: settings, logs, kernels and their self-test, key sources, verifier, engine, shards, listeners, readiness.
//! Stop: readiness says no, a pause if one is configured, listeners close, accepted work is finished within a bound, the
//! admin listener closes last.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::net::TcpListener;

use super::cli::ServeArguments;
use super::dev::Development;
use super::failure::{Failure, Outcome};
use super::{EXIT_ACCEPTED, cpu, limits, memory, sources};
use crate::admin::{self, AdminState, KernelReport, Readiness};
use crate::config::{self, FlagOverride, LogFormat, LogLevel, Settings};
use crate::engine::Engine;
use crate::faces::{Drain, DrainSwitch, FaceSettings, ShardState};
use crate::grpc::{self, ServingState};
use crate::http::{self, ConnectionSettings};
use crate::keys::remote::FetchHandle;
use crate::keys::tables::TableBuilder;
use crate::keys::watch::WatchHandle;
use crate::runtime::{self, Background, ConnectionGuard, Listener, Runtime, RuntimeConfig, ShardInit, StopSignals};
use crate::telemetry::{self, CheckMetrics, Metrics, MetricsSources};
use crate::verify::{IssuerEntry, ShardVerifier, Verifier, VerifierOptions};

/// What development starts from: the log would bury the curl line, and no load balancer has to be told of the end.
const DEV_SETTINGS: &str = "{telemetry: {log_level: warn}, shutdown: {announce: 0}}";
/// How often readiness is looked at until it is reached.
const READINESS_POLL: Duration = Duration::from_millis(50);

pub(super) fn run(arguments: &ServeArguments) -> Outcome {
    let mut settings = load_settings(arguments)?;
    if arguments.dev {
        require_loopback(&settings, arguments.dev_issuer)?;
    }
    let format = match settings.telemetry.log_format {
        LogFormat::Text => telemetry::LogFormat::Human,
        LogFormat::Json => telemetry::LogFormat::Json,
    };
    // Dropped last: how the end went is logged too.
    let logging = telemetry::init_logging(format, &log_filter(settings.telemetry.log_level)).map_err(Failure::new)?;
    for warning in config::warnings(&settings) {
        // In development the issuer is not in the configuration.
        if !arguments.dev || warning.path != "issuers" {
            tracing::warn!(setting = warning.path, "{}", warning.message);
        }
    }
    let (kernels, replaced) = cpu::tested_kernels(&settings.engine.kernels)?;
    for failure in &replaced {
        tracing::error!(%failure, "a kernel was replaced; this machine may be faulty");
    }
    settings.http.connections_max = limits::connections(settings.http.connections_max);

    let background = Background::start().map_err(|error| Failure::new(format!("cannot start a thread: {error}")))?;
    let dev = arguments.dev.then(|| Development::bind(&background, arguments.dev_issuer)).transpose()?;
    let mut issuers = Vec::with_capacity(settings.issuers.len() + 1);
    if let Some(dev) = &dev {
        issuers.push(dev.issuer.entry()?);
    }
    let mut keys = background.block_on(start_sources(&settings))?;
    issuers.append(&mut keys.issuers);

    let options = VerifierOptions { limits: settings.limits.limits(), candidates_max: settings.limits.candidates_max };
    let names: Vec<Arc<str>> = issuers.iter().map(|issuer| Arc::clone(&issuer.name)).collect();
    let verifier = Arc::new(ArcSwap::from_pointee(Verifier::new(issuers, options).map_err(Failure::new)?));
    log_memory(&memory::plan(&settings, runtime::cores(), &kernels));

    let keys_of_issuers = verifier.load().issuers().iter().map(|issuer| Arc::clone(&issuer.keys)).collect();
    let _tables = TableBuilder::spawn(keys_of_issuers, settings.keys.table_memory.bytes())
        .map_err(|error| Failure::new(format!("cannot start a thread: {error}")))?;

    let shards = settings.engine.shards.resolve(runtime::cores());
    let engine = Engine::new(shards, &kernels, &memory::engine_config(&settings));
    let checks = Arc::new(CheckMetrics::new(names, shards));
    let serving = background.block_on(ServingState::starting());
    let data = bind(settings.listen.data, "--listen")?;
    let admin_listener = bind_tokio(&background, settings.listen.admin, "--admin")?;
    let data_address = local_address(data.local_addr())?;
    let admin_address = local_address(admin_listener.local_addr())?;

    let shard_app = ShardParts {
        verifier: Arc::clone(&verifier),
        checks: Arc::clone(&checks),
        serving: serving.clone(),
        faces: Arc::new(face_settings(&settings)),
        connection: connection_settings(&settings),
        unknown_kid_wait: settings.keys.unknown_kid_wait.0,
        parked_max: settings.keys.parked_max,
    };
    let runtime_config = RuntimeConfig {
        pin: settings.engine.pin,
        connections_max: settings.http.connections_max,
        drain_timeout: settings.shutdown.drain_timeout.0,
    };
    let mut runtime = Runtime::start(&engine, &runtime_config, move |shard: &ShardInit| shard_app.start(shard))
        .map_err(|error| Failure::new(format!("cannot start the shards: {error}")))?;

    let readiness = Arc::new(Readiness::new(settings.keys.readiness_wait.0));
    let metrics =
        Metrics::new(MetricsSources { checks, verifier: Arc::clone(&verifier), engine, kernels: kernels.clone() });
    let metrics = metrics.with_connections(runtime.connections_reader());
    let metrics = Arc::new(metrics.with_lost_log_lines(logging.lost_lines_reader()));
    let (admin_stop, admin_drain) = Drain::channel();
    let admin_router = admin::router(AdminState {
        metrics,
        verifier: Arc::clone(&verifier),
        readiness: Arc::clone(&readiness),
        kernels: Arc::new(KernelReport::new(&kernels, &replaced)),
    });
    let admin_task = background.handle().spawn(admin::serve(admin_listener, admin_router, admin_drain));
    readiness.self_test_passed();
    // Before anybody is told that there is something to stop.
    let signals = background.block_on(async { StopSignals::watch() }).map_err(|error| no_signals(&error))?;
    runtime.listen(data, &background);
    background.handle().spawn(announce_ready(Arc::clone(&readiness), verifier, serving.clone()));
    tracing::info!(data = %data_address, admin = %admin_address, shards, "serving");

    if let Some(dev) = dev {
        dev.announce(data_address, admin_address)?;
        dev.serve(&background);
    }
    background.block_on(stop_on_signal(signals, settings, readiness, serving, runtime, admin_stop, admin_task))
}

/// Signals this soon after the first are the same request: `timeout` and other wrappers send theirs to the process and
/// to its group, so it comes twice.
const SAME_REQUEST: Duration = Duration::from_millis(500);

/// Waits for a signal, then stops everything in order. A later signal ends the waiting.
async fn stop_on_signal(
    mut signals: StopSignals,
    settings: Settings,
    readiness: Arc<Readiness>,
    serving: ServingState,
    runtime: Runtime,
    admin_stop: DrainSwitch,
    admin_task: tokio::task::JoinHandle<()>,
) -> Outcome {
    let signal = signals.next().await;
    tracing::info!(?signal, "draining");
    readiness.drain();
    serving.not_serving().await;
    let stop = async {
        tokio::time::sleep(settings.shutdown.announce.0).await;
        let drained = runtime.drain().await;
        tracing::info!(connections_cut = drained.connections_cut, shards_left = drained.shards_left, "drained");
        admin_stop.start();
        // The admin listener ends by itself when it is told to; a panic in it would have been logged.
        let _ = admin_task.await;
    };
    let again = async {
        tokio::time::sleep(SAME_REQUEST).await;
        // Watching anew forgets the signals up to here.
        Ok(StopSignals::watch()?.next().await)
    };
    tokio::select! {
        () = stop => Ok(EXIT_ACCEPTED),
        again = again => {
            again.map_err(|error| no_signals(&error))?;
            Err(Failure::new("asked again to stop: connections were cut"))
        }
    }
}

fn no_signals(error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot wait for signals: {error}"))
}

/// The level is for this crate. Others say what they must and no more: at their lower levels transports show what they
/// carry, and tokens are never logged. What the HTTP/2 transport warns of is what clients do, who could fill the log
/// with it: only those who look for a fault are shown that.
fn log_filter(level: LogLevel) -> String {
    let transport = match level {
        LogLevel::Error | LogLevel::Warn | LogLevel::Info => LogLevel::Error,
        LogLevel::Debug | LogLevel::Trace => LogLevel::Warn,
    };
    let others = match level {
        LogLevel::Error => LogLevel::Error,
        LogLevel::Warn | LogLevel::Info | LogLevel::Debug | LogLevel::Trace => LogLevel::Warn,
    };
    format!("{},h2={},verilane={}", others.name(), transport.name(), level.name())
}

/// The sum at every start, its parts for those who ask.
fn log_memory(plan: &[memory::Line]) {
    if let Some((total, parts)) = plan.split_last() {
        for part in parts {
            tracing::debug!(what = part.what, at_most = %part.bytes, "memory: {}", part.how);
        }
        tracing::info!(at_most = %total.bytes, "memory by configuration, {}", total.how);
    }
}

fn load_settings(arguments: &ServeArguments) -> Result<Settings, Failure> {
    let address = |flag, path, address: Option<SocketAddr>| {
        address.map(|address| FlagOverride { flag, path, value: address.to_string() })
    };
    let flags: Vec<FlagOverride> = [
        address("--listen", &["listen", "data"], arguments.listen),
        address("--admin", &["listen", "admin"], arguments.admin),
    ]
    .into_iter()
    .flatten()
    .collect();
    if arguments.dev {
        return Ok(config::parse(DEV_SETTINGS, super::environment(), &flags)?);
    }
    let settings = config::load(arguments.config.as_deref(), super::environment(), &flags)?;
    if arguments.config.is_none() && settings.issuers.is_empty() {
        return Err(Failure::new("no configuration").hint(
            "`verilane serve --dev` needs none; else give --config FILE, or VERILANE__ISSUERS__0__... variables",
        ));
    }
    Ok(settings)
}

fn require_loopback(settings: &Settings, dev_issuer: SocketAddr) -> Result<(), Failure> {
    let listeners =
        [("--listen", settings.listen.data), ("--admin", settings.listen.admin), ("--dev-issuer", dev_issuer)];
    for (flag, address) in listeners {
        if !address.ip().is_loopback() {
            return Err(Failure::new(format!("--dev signs tokens for whoever asks, so {address} is refused"))
                .hint(format!("give {flag} an address on loopback, such as 127.0.0.1:{}", address.port())));
        }
    }
    Ok(())
}

/// The sources at work. Dropping the handles ends refreshing.
struct Sources {
    issuers: Vec<IssuerEntry>,
    _watching: WatchHandle,
    _fetching: Vec<FetchHandle>,
}

/// Starts every source of keys. What can never heal (text in the configuration, a missing variable) ends the start;
/// files and addresses are tried again, and their issuers answer `keys_unavailable` until then.
async fn start_sources(settings: &Settings) -> Result<Sources, Failure> {
    use crate::keys::IssuerKeys;
    use crate::keys::remote::Fetcher;
    use crate::keys::watch::{self, WatchOptions, Watched};

    let limits = sources::document_limits(settings);
    let (mut issuers, mut watched, mut fetching) = (Vec::new(), Vec::new(), Vec::new());
    for issuer in &settings.issuers {
        let named = |error: &dyn std::fmt::Display| Failure::new(format!("issuer {}: {error}", issuer.name));
        let keys = match sources::local_source(issuer) {
            Some(source) if source.path().is_some() => {
                let keys = IssuerKeys::waiting(source.describe());
                watched.push(Watched { source, keys: Arc::clone(&keys) });
                keys
            }
            Some(source) => source.fixed(&limits).map_err(|error| named(&error))?,
            None => IssuerKeys::waiting("not fetched yet"),
        };
        if let Some(remote) = sources::remote_source(settings, issuer)? {
            fetching.push(Fetcher::spawn(remote, Arc::clone(&keys)).map_err(|error| named(&error))?);
        }
        issuers.push(IssuerEntry { name: Arc::from(issuer.name.as_str()), policy: issuer.policy(), keys });
    }
    let options = WatchOptions { poll: settings.keys.file_poll.0, limits, ..WatchOptions::default() };
    let watching = watch::spawn(watched, options).await;
    Ok(Sources { issuers, _watching: watching, _fetching: fetching })
}

/// Tells gRPC health once readiness is reached.
async fn announce_ready(readiness: Arc<Readiness>, verifier: Arc<ArcSwap<Verifier>>, serving: ServingState) {
    while !readiness.report(verifier.load().issuers()).ready {
        tokio::time::sleep(READINESS_POLL).await;
    }
    serving.serving().await;
    // The drain may have begun in between; it says "draining" first and turns health after that.
    if !readiness.report(verifier.load().issuers()).ready {
        serving.not_serving().await;
        return;
    }
    tracing::info!("ready");
}

/// What every shard's thread is given to build its faces from.
struct ShardParts {
    verifier: Arc<ArcSwap<Verifier>>,
    checks: Arc<CheckMetrics>,
    serving: ServingState,
    faces: Arc<FaceSettings>,
    connection: ConnectionSettings,
    unknown_kid_wait: Duration,
    parked_max: usize,
}

impl ShardParts {
    /// On the shard's own thread: its verifier, its routes, and how it serves a connection.
    fn start(&self, init: &ShardInit) -> runtime::ConnectionHandler {
        let observer = self.checks.observer(init.index);
        let single = ShardVerifier::new(
            Arc::clone(&self.verifier),
            init.shard.clone(),
            observer,
            self.unknown_kid_wait,
            self.parked_max,
        );
        let bulk = single.for_bulk();
        let drain = Drain::from_watch(init.drain.clone()).on_this_thread();
        let state = ShardState::new(single, bulk, Arc::clone(&self.faces), drain.clone());
        // The descriptors are compiled in: if they cannot be read the build is broken, and no shard must start.
        let grpc = grpc::router(state.clone(), &self.serving)
            .unwrap_or_else(|error| panic!("the gRPC descriptors of this build cannot be read: {error}"));
        let router = http::router(state).merge(grpc);
        let connection = self.connection.clone();
        Rc::new(move |io, guard: ConnectionGuard| {
            let (router, connection, drain) = (router.clone(), connection.clone(), drain.clone());
            tokio::task::spawn_local(async move {
                http::serve_connection(io, router, &connection, drain).await;
                drop(guard);
            });
        })
    }
}

fn face_settings(settings: &Settings) -> FaceSettings {
    let http = &settings.http;
    FaceSettings {
        body_bytes_max: http.body.bytes(),
        signature_body_bytes_max: http.signature_body.bytes(),
        batch_bytes_max: http.batch_body.bytes(),
        batch_items_max: http.batch_items_max,
        line_bytes_max: http.line.bytes(),
        window: http.window,
        bulk_in_flight_max: http.bulk_in_flight_max,
        held_bytes_max: http.held_per_shard.bytes(),
        request_timeout: http.request_timeout.0,
        body_timeout: http.body_timeout.0,
        stream_idle_timeout: http.stream_idle_timeout.0,
    }
}

fn connection_settings(settings: &Settings) -> ConnectionSettings {
    ConnectionSettings {
        header_read_timeout: settings.http.header_timeout.0,
        idle_timeout: settings.http.idle_timeout.0,
        write_timeout: settings.http.write_timeout.0,
        header_bytes_max: settings.http.headers.bytes(),
        streams_max: settings.http.streams_per_connection,
        ..ConnectionSettings::default()
    }
}

fn bind(address: SocketAddr, flag: &str) -> Result<Listener, Failure> {
    Listener::bind_tcp(address).map_err(|error| cannot_listen(address, flag, &error))
}

pub(super) fn bind_tokio(background: &Background, address: SocketAddr, flag: &str) -> Result<TcpListener, Failure> {
    background.block_on(TcpListener::bind(address)).map_err(|error| cannot_listen(address, flag, &error))
}

fn cannot_listen(address: SocketAddr, flag: &str, error: &std::io::Error) -> Failure {
    let failure = Failure::new(format!("cannot listen on {address}: {error}"));
    match error.kind() {
        std::io::ErrorKind::AddrInUse => failure.hint(format!("{flag} {}:0 takes a free port", address.ip())),
        _ => failure,
    }
}

pub(super) fn local_address(address: std::io::Result<SocketAddr>) -> Result<SocketAddr, Failure> {
    address.map_err(|error| Failure::new(format!("a listener has no address: {error}")))
}
