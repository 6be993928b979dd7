//! The engine's frame with a kernel that checks nothing, and what the schedule makes of connections.
//!
//! `cargo bench --bench engine` measures the frame: from submitting a job to reading its outcome, at 1, 16 and 256 jobs
//! in flight. `flush` runs them on the caller's stack; `runner` goes through the runner's task and wakers.
//!
//! `cargo bench --bench engine -- schedule` prints fill and latency over loopback sockets, for both ways in which a runner
//! may step aside. The kernel takes 20 us a group, however many lanes are used, as a vector kernel does. Favours us:
//! one core for the clients, closed loop, no parsing. Leaves out: network, token, other shards.

use std::future::Future;
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::task::spawn_local;
use verilane::engine::{Engine, EngineConfig, Outcome, Shard, StatsSnapshot, Submission, Ticket};
use verilane::kernel::{GROUP_WIDTH, Job, Kernel, KernelTable, LaneMask, PreparedKey, Scheme, Scratch};

/// Accepts everything after a fixed time a group.
#[derive(Debug)]
struct Null {
    busy: Duration,
}

static NULL: Null = Null { busy: Duration::ZERO };
static TWENTY_US: Null = Null { busy: Duration::from_micros(20) };

impl Kernel for Null {
    fn lanes(&self) -> usize {
        GROUP_WIDTH
    }

    fn run(&self, _scratch: &mut Scratch, jobs: &[Job<'_>]) -> LaneMask {
        if !self.busy.is_zero() {
            let started = Instant::now();
            while started.elapsed() < self.busy {
                std::hint::spin_loop();
            }
        }
        black_box(jobs);
        LaneMask::first(jobs.len())
    }
}

fn engine(kernel: &'static Null) -> Engine {
    let mut kernels = KernelTable::select::<&str>(&[]).expect("the default selection exists");
    kernels.replace(Scheme::Ed25519, kernel);
    Engine::new(1, &kernels, &EngineConfig::default())
}

fn key() -> Arc<PreparedKey> {
    Arc::new(PreparedKey::hmac(&[7; 64]).expect("long enough"))
}

fn submit(shard: &Shard, key: &Arc<PreparedKey>, message: &Bytes) -> Ticket {
    let submission =
        Submission { scheme: Scheme::Ed25519, key, message: message.clone(), signature: &[1; 64], deadline: None };
    shard.submit(&submission).expect("a free slot")
}

fn frame(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("frame");
    let (key, message) = (key(), Bytes::from(vec![1; 400]));
    for in_flight in [1, GROUP_WIDTH, 256] {
        group.throughput(Throughput::Elements(in_flight as u64));
        let shard = engine(&NULL).shard(0);
        let mut tickets = Vec::with_capacity(in_flight);
        group.bench_function(BenchmarkId::new("flush", in_flight), |bencher| {
            bencher.iter(|| {
                tickets.extend((0..in_flight).map(|_| submit(&shard, &key, &message)));
                shard.flush();
                for mut ticket in tickets.drain(..) {
                    assert_eq!(ticket.outcome(), Some(Outcome::Good));
                }
            });
        });
        let shard = engine(&NULL).shard(0);
        let mut runner = pin!(shard.clone().run());
        let mut cx = Context::from_waker(Waker::noop());
        group.bench_function(BenchmarkId::new("runner", in_flight), |bencher| {
            bencher.iter(|| {
                for _ in 0..in_flight {
                    let mut ticket = submit(&shard, &key, &message);
                    assert!(Pin::new(&mut ticket).poll(&mut cx).is_pending());
                    tickets.push(ticket);
                }
                while tickets.last_mut().is_some_and(|ticket| Pin::new(ticket).poll(&mut cx).is_pending()) {
                    assert!(runner.as_mut().poll(&mut cx).is_pending());
                }
                for mut ticket in tickets.drain(..) {
                    assert!(Pin::new(&mut ticket).poll(&mut cx).is_ready());
                }
            });
        });
    }
    group.finish();
}

/// How the runner steps aside.
#[derive(Clone, Copy, Debug)]
enum Aside {
    /// Wakes itself at once.
    Wake,
    /// Comes back after the event loop has asked for new I/O.
    Tokio,
}

/// How a request gets from its connection to the engine.
#[derive(Clone, Copy, Debug)]
enum Hops {
    /// The connection's own task submits, as HTTP/1.1 does.
    One,
    /// The connection's task spawns one for each request, as HTTP/2 does.
    Two,
}

fn local_runtime() -> LocalRuntime {
    Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).expect("an event loop")
}

/// Serves `connections` closed-loop clients for a while. Latencies come sorted.
fn serve(connections: usize, aside: Aside, hops: Hops) -> (StatsSnapshot, Vec<Duration>) {
    let engine = engine(&TWENTY_US);
    let (address, bound) = std::sync::mpsc::channel();
    let latencies = std::thread::scope(|scope| {
        scope.spawn(|| {
            local_runtime().block_on(async {
                let shard = engine.shard(0);
                let runner = match aside {
                    Aside::Wake => spawn_local(shard.clone().run()),
                    Aside::Tokio => spawn_local(shard.clone().run_with(tokio::task::yield_now)),
                };
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
                address.send(listener.local_addr().expect("an address")).expect("somebody waits");
                let shared = Rc::new((shard, key(), Bytes::from(vec![1; 400])));
                for _ in 0..connections {
                    let (mut stream, _) = listener.accept().await.expect("a client");
                    stream.set_nodelay(true).expect("an option");
                    let shared = Rc::clone(&shared);
                    spawn_local(async move {
                        let mut request = [0; 400];
                        while stream.read_exact(&mut request).await.is_ok() {
                            let answer = match hops {
                                Hops::One => submit(&shared.0, &shared.1, &shared.2).await,
                                Hops::Two => {
                                    let shared = Rc::clone(&shared);
                                    let request =
                                        spawn_local(async move { submit(&shared.0, &shared.1, &shared.2).await });
                                    request.await.expect("no panic")
                                }
                            };
                            if stream.write_all(&[u8::from(answer == Outcome::Good)]).await.is_err() {
                                return;
                            }
                        }
                    });
                }
                runner.await.expect("the runner ends when the engine closes");
            });
        });
        let address = bound.recv().expect("an address");
        let latencies = local_runtime().block_on(async move {
            let until = Instant::now() + Duration::from_secs(2);
            let mut clients = Vec::new();
            for _ in 0..connections {
                let mut stream = TcpStream::connect(address).await.expect("the listener accepts");
                stream.set_nodelay(true).expect("an option");
                clients.push(spawn_local(async move {
                    let mut latencies = Vec::new();
                    while Instant::now() < until {
                        let asked = Instant::now();
                        stream.write_all(&[1; 400]).await.expect("written");
                        stream.read_u8().await.expect("an answer");
                        latencies.push(asked.elapsed());
                    }
                    latencies
                }));
            }
            let mut all = Vec::new();
            for client in clients {
                all.extend(client.await.expect("no panic"));
            }
            all.sort_unstable();
            all
        });
        engine.close();
        latencies
    });
    (engine.stats(0).snapshot(), latencies)
}

fn schedule() {
    println!("aside  hops  connections  answers/s  jobs/group  p50 us  p99 us");
    for connections in [1, 4, 16, 64, 256] {
        for hops in [Hops::One, Hops::Two] {
            for aside in [Aside::Wake, Aside::Tokio] {
                let (stats, latencies) = serve(connections, aside, hops);
                let scheme = stats.schemes[Scheme::Ed25519.index()];
                let fill = scheme.jobs as f64 / scheme.groups as f64;
                let at = |share: f64| latencies[(latencies.len() as f64 * share) as usize].as_micros();
                let (aside, hops) = (format!("{aside:?}"), format!("{hops:?}"));
                println!(
                    "{aside:<6} {hops:<5} {connections:>11} {:>10} {fill:>11.2} {:>7} {:>7}",
                    latencies.len() / 2,
                    at(0.5),
                    at(0.99),
                );
            }
        }
    }
}

fn main() {
    if std::env::args().any(|argument| argument == "schedule") {
        schedule();
        return;
    }
    let mut criterion = Criterion::default().configure_from_args();
    frame(&mut criterion);
    criterion.final_summary();
}
