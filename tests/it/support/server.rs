//! The real stack in this process: engine, verifier, faces and admin listener on free ports of the loopback.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::{Once, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use verilane::admin::{self, AdminState, KernelReport, Readiness};
use verilane::engine::{Engine, EngineConfig};
use verilane::faces::{Drain, DrainSwitch, FaceSettings, ShardState};
use verilane::grpc::{self, ServingState};
use verilane::http::{self, ConnectionSettings, serve_connection};
use verilane::jose::{Limits, jwk};
use verilane::kernel::{self, KernelTable};
use verilane::keys::{IssuerKeys, KeySet, prepare};
use verilane::policy::Policy;
use verilane::telemetry::{CheckMetrics, Metrics, MetricsSources};
use verilane::verify::{IssuerEntry, ShardVerifier, Verifier, VerifierOptions};

use super::tokens::{Signer, jwk_set};

/// `iss` of the one issuer.
pub const ISSUER: &str = "https://issuer.example";
/// Its configured name.
pub const ISSUER_NAME: &str = "main";
/// `kid` of its Ed25519 key.
pub const KEY_ID: &str = "key-1";

/// What a test may want otherwise.
#[derive(Clone)]
pub struct Options {
    pub faces: FaceSettings,
    pub connection: ConnectionSettings,
    pub slots: usize,
    /// Whether the engine waits for [`Server::release`] before it runs anything: a way to fill its slots.
    pub held: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { faces: FaceSettings::default(), connection: ConnectionSettings::default(), slots: 1024, held: false }
    }
}

/// A running server. Stops when dropped.
pub struct Server {
    pub address: SocketAddr,
    pub admin: SocketAddr,
    pub signer: Signer,
    pub readiness: Arc<Readiness>,
    drain: Option<DrainSwitch>,
    release: Arc<Notify>,
    abandon: Arc<Notify>,
    engine: Engine,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts with the defaults.
    pub fn start() -> Self {
        Self::start_with(Options::default())
    }

    /// Starts with `options`.
    pub fn start_with(options: Options) -> Self {
        let signer = Signer::ed25519(1);
        let mut kernels = KernelTable::select::<&str>(&[]).unwrap();
        let failures = kernel::self_test(&mut kernels).unwrap();
        let config = EngineConfig { slots_per_shard: options.slots, ..EngineConfig::default() };
        let engine = Engine::new(1, &kernels, &config);
        let verifier = Arc::new(ArcSwap::from_pointee(verifier(&signer)));
        let checks = Arc::new(CheckMetrics::new([Arc::from(ISSUER_NAME)], 1));
        let readiness = Arc::new(Readiness::new(Duration::from_secs(60)));
        readiness.self_test_passed();
        let metrics = Metrics::new(MetricsSources {
            checks: Arc::clone(&checks),
            verifier: Arc::clone(&verifier),
            engine: engine.clone(),
            kernels: kernels.clone(),
        });
        let admin_state = AdminState {
            metrics: Arc::new(metrics),
            verifier: Arc::clone(&verifier),
            readiness: Arc::clone(&readiness),
            kernels: Arc::new(KernelReport::new(&kernels, &failures)),
        };
        let (switch, drain) = Drain::channel();
        let release = Arc::new(Notify::new());
        let abandon = Arc::new(Notify::new());
        let (send, receive) = mpsc::channel();
        let thread = std::thread::spawn({
            let engine = engine.clone();
            let signals = Signals { drain, release: Arc::clone(&release), abandon: Arc::clone(&abandon) };
            move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let local = tokio::task::LocalSet::new();
                local.block_on(&runtime, run(options, engine, verifier, checks, admin_state, signals, &send));
            }
        });
        let (address, admin) = receive.recv().expect("the server starts");
        Self { address, admin, signer, readiness, drain: Some(switch), release, abandon, engine, thread: Some(thread) }
    }

    /// `http://` and the address of the faces, with `path`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// `http://` and the address of the admin listener, with `path`.
    pub fn admin_url(&self, path: &str) -> String {
        format!("http://{}{path}", self.admin)
    }

    /// A good token for `subject`.
    pub fn token(&self, subject: &str) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let header = format!(r#"{{"alg":"EdDSA","kid":"{KEY_ID}","typ":"JWT"}}"#);
        let payload = format!(r#"{{"iss":"{ISSUER}","sub":"{subject}","exp":{},"aud":"api"}}"#, now + 600);
        self.signer.token(&header, &payload)
    }

    /// Lets a held engine run.
    pub fn release(&self) {
        self.release.notify_one();
    }

    /// Begins the drain.
    pub fn begin_drain(&mut self) {
        self.drain = None;
    }

    /// Waits until the server has ended.
    pub fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server ends without a panic");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.begin_drain();
        self.release();
        // A client on the thread of the test cannot close its connection while the test waits here.
        self.abandon.notify_one();
        self.engine.close();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the server panicked");
        }
    }
}

/// A client that goes through no proxy of the machine.
pub fn http_client() -> reqwest::ClientBuilder {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Another test may have been first; there is only one provider either can have installed.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    });
    reqwest::Client::builder().no_proxy()
}

/// Changes a character in the middle of the signature.
pub fn break_signature(token: &str) -> String {
    let mut bytes = token.as_bytes().to_vec();
    let at = bytes.len() - 40;
    bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
    String::from_utf8(bytes).unwrap()
}

fn verifier(signer: &Signer) -> Verifier {
    let document = jwk_set(&[signer.jwk(Some(KEY_ID))]);
    let set = jwk::parse_set(document.as_bytes(), &Limits::DEFAULT, 16).unwrap();
    let keys = set.keys.iter().map(|key| prepare::from_jwk(key).unwrap()).collect();
    let issuer = IssuerEntry {
        name: Arc::from(ISSUER_NAME),
        policy: Policy { issuer: Some(ISSUER.to_owned()), ..Policy::default() },
        keys: IssuerKeys::fixed(KeySet::new(keys)),
    };
    Verifier::new(vec![issuer], VerifierOptions::default()).unwrap()
}

/// What the test tells the server's thread.
struct Signals {
    drain: Drain,
    release: Arc<Notify>,
    abandon: Arc<Notify>,
}

async fn run(
    options: Options,
    engine: Engine,
    verifier: Arc<ArcSwap<Verifier>>,
    checks: Arc<CheckMetrics>,
    admin_state: AdminState,
    signals: Signals,
    started: &mpsc::Sender<(SocketAddr, SocketAddr)>,
) {
    let Signals { drain, release, abandon } = signals;
    let shard = engine.shard(0);
    tokio::task::spawn_local({
        let shard = shard.clone();
        async move {
            if options.held {
                release.notified().await;
            }
            shard.run_with(tokio::task::yield_now).await;
        }
    });
    let observer: Rc<verilane::telemetry::ShardObserver> = checks.observer(0);
    let single = ShardVerifier::new(Arc::clone(&verifier), shard.clone(), observer.clone(), Duration::ZERO, 0);
    let bulk = ShardVerifier::new(verifier, shard.for_bulk(), observer, Duration::ZERO, 0);
    let state = ShardState::new(single, bulk, Arc::new(options.faces), drain.clone());
    let serving = ServingState::starting().await;
    serving.serving().await;
    let router = http::router(state.clone()).merge(grpc::router(state, &serving).unwrap());

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let admin_listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    started.send((listener.local_addr().unwrap(), admin_listener.local_addr().unwrap())).unwrap();
    tokio::task::spawn_local(admin::serve(admin_listener, admin::router(admin_state), drain.clone()));

    let mut connections = tokio::task::JoinSet::new();
    let mut drained = std::pin::pin!(drain.clone().started());
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, _) = accepted.unwrap();
                stream.set_nodelay(true).unwrap();
                let (router, settings, drain) = (router.clone(), options.connection.clone(), drain.clone());
                connections.spawn_local(async move { serve_connection(stream, router, &settings, drain).await });
            }
            () = drained.as_mut() => break,
        }
    }
    drop(listener);
    serving.not_serving().await;
    let all = async { while connections.join_next().await.is_some() {} };
    tokio::select! {
        () = all => {}
        () = abandon.notified() => {}
    }
}
