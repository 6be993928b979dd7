//! Threads and listeners, with an app that answers one byte for each byte: whether a job with that signature is good.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;
use verilane::engine::{Engine, EngineConfig, Outcome, Shard, Submission};
use verilane::kernel::{KernelTable, PreparedKey, Scheme};
use verilane::runtime::{
    Background, Connection, ConnectionGuard, ConnectionHandler, Drained, Listener, Runtime, RuntimeConfig, ShardInit,
};

use crate::support::null_kernel::{any_key, null_kernels, panicking_kernels, slow_null_kernels};

/// What a client sends to be told the shard it is on.
const WHICH_SHARD: u8 = 0xff;

fn app(init: &ShardInit) -> ConnectionHandler {
    let key = any_key();
    let ShardInit { index, shard, drain } = init.clone();
    Rc::new(move |connection, guard| {
        let work = serve(connection, guard, index, shard.clone(), Arc::clone(&key), drain.clone());
        tokio::task::spawn_local(work);
    })
}

async fn serve(
    mut connection: Connection,
    guard: ConnectionGuard,
    index: usize,
    shard: Shard,
    key: Arc<PreparedKey>,
    mut drain: watch::Receiver<bool>,
) {
    assert_eq!(guard.shard(), index);
    loop {
        let asked = tokio::select! {
            _ = drain.wait_for(|draining| *draining) => return,
            byte = connection.read_u8() => byte,
        };
        let Ok(byte) = asked else { return };
        let answer = if byte == WHICH_SHARD {
            index as u8
        } else {
            let signature = &[byte][..];
            let message = Bytes::from_static(b"message");
            let job = Submission { scheme: Scheme::Ed25519, key: &key, message, signature, deadline: None };
            u8::from(shard.submit(&job).expect("a free slot").await == Outcome::Good)
        };
        if connection.write_all(&[answer]).await.is_err() {
            return;
        }
    }
}

struct Service {
    runtime: Runtime,
    background: Background,
    address: SocketAddr,
    engine: Engine,
}

fn start(shards: usize, kernels: &KernelTable, config: &RuntimeConfig) -> Service {
    let engine = Engine::new(shards, kernels, &EngineConfig::default());
    let background = Background::start().expect("a background thread");
    let mut runtime = Runtime::start(&engine, config, app).expect("shard threads");
    let listener = Listener::bind_tcp(([127, 0, 0, 1], 0).into()).expect("a free port");
    let address = listener.local_addr().expect("an address");
    runtime.listen(listener, &background);
    Service { runtime, background, address, engine }
}

impl Service {
    fn drain(self) -> Drained {
        let Self { runtime, background, .. } = self;
        background.block_on(runtime.drain())
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the listener accepts");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    stream
}

fn ask(stream: &mut TcpStream, byte: u8) -> u8 {
    stream.write_all(&[byte]).expect("written");
    let mut answer = [0];
    stream.read_exact(&mut answer).expect("an answer");
    answer[0]
}

/// Whether the other side has closed: end of stream, or a reset.
fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(read) => read == 0,
        Err(error) => matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe),
    }
}

#[test]
fn connections_spread_evenly_and_reach_the_engine_of_their_shard() {
    let service = start(3, &null_kernels(), &RuntimeConfig { pin: true, ..RuntimeConfig::default() });
    let mut clients: Vec<_> = (0..9).map(|_| connect(service.address)).collect();
    let shards: Vec<_> = clients.iter_mut().map(|client| ask(client, WHICH_SHARD)).collect();
    assert_eq!(shards, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    for (byte, client) in (0..).zip(&mut clients) {
        assert_eq!(ask(client, byte), byte % 2);
    }
    let jobs: Vec<_> = (0..3).map(|index| service.engine.stats(index).snapshot().submitted).collect();
    assert_eq!(jobs, [3, 3, 3]);
    assert_eq!(service.runtime.connections().open, [3, 3, 3]);
    drop(clients);
    assert_eq!(service.drain(), Drained { connections_cut: 0, shards_left: 0 });
}

#[test]
fn a_connection_past_the_limit_is_closed_at_once() {
    let service = start(2, &null_kernels(), &RuntimeConfig { connections_max: 2, ..RuntimeConfig::default() });
    let mut clients = [connect(service.address), connect(service.address)];
    clients.iter_mut().for_each(|client| assert_eq!(ask(client, 1), 1));
    assert!(is_closed(&mut connect(service.address)));
    assert_eq!(service.runtime.connections().refused, 1);
    clients.iter_mut().for_each(|client| assert_eq!(ask(client, 2), 0));
    service.drain();
}

#[test]
fn draining_closes_idle_connections_and_refuses_newcomers() {
    let service = start(2, &slow_null_kernels(), &RuntimeConfig::default());
    let address = service.address;
    let mut idle = connect(address);
    assert_eq!(ask(&mut idle, 1), 1);
    assert_eq!(service.drain(), Drained { connections_cut: 0, shards_left: 0 });
    assert!(is_closed(&mut idle));
    assert!(TcpStream::connect(address).is_err(), "the listener is closed");
}

#[test]
fn a_connection_that_does_not_finish_is_cut() {
    let stubborn = |_: &ShardInit| -> ConnectionHandler {
        Rc::new(|connection, guard| {
            tokio::task::spawn_local(async move {
                let _held = (connection, guard);
                std::future::pending::<()>().await;
            });
        })
    };
    let engine = Engine::new(1, &null_kernels(), &EngineConfig::default());
    let background = Background::start().expect("a background thread");
    let config = RuntimeConfig { drain_timeout: Duration::from_millis(20), ..RuntimeConfig::default() };
    let mut runtime = Runtime::start(&engine, &config, stubborn).expect("a shard thread");
    let listener = Listener::bind_tcp(([127, 0, 0, 1], 0).into()).expect("a free port");
    let address = listener.local_addr().expect("an address");
    runtime.listen(listener, &background);
    let mut client = connect(address);
    while runtime.connections().accepted == 0 {
        std::thread::yield_now();
    }
    assert_eq!(background.block_on(runtime.drain()), Drained { connections_cut: 1, shards_left: 0 });
    assert!(is_closed(&mut client));
}

#[test]
fn a_request_that_panics_takes_no_other_with_it() {
    let fragile = |_: &ShardInit| -> ConnectionHandler {
        Rc::new(|mut connection, guard| {
            tokio::task::spawn_local(async move {
                let _guard = guard;
                while let Ok(byte) = connection.read_u8().await {
                    assert_ne!(byte, 0, "a fault in a handler, on purpose");
                    connection.write_all(&[byte]).await.expect("written");
                }
            });
        })
    };
    let engine = Engine::new(1, &null_kernels(), &EngineConfig::default());
    let background = Background::start().expect("a background thread");
    let mut runtime = Runtime::start(&engine, &RuntimeConfig::default(), fragile).expect("a shard thread");
    let listener = Listener::bind_tcp(([127, 0, 0, 1], 0).into()).expect("a free port");
    let address = listener.local_addr().expect("an address");
    runtime.listen(listener, &background);
    let (mut good, mut bad) = (connect(address), connect(address));
    assert_eq!(ask(&mut good, 7), 7);
    bad.write_all(&[0]).expect("written");
    assert!(is_closed(&mut bad));
    assert_eq!(ask(&mut good, 8), 8);
    drop((good, bad));
    assert_eq!(background.block_on(runtime.drain()).connections_cut, 0);
}

/// The signal of `abort`, on every system this runs on.
const SIGABRT: i32 = 6;

/// Set in the child process of the next test.
const CHILD: &str = "VERILANE_TEST_PANICKING_KERNEL";

#[test]
fn a_runner_that_panics_ends_the_process() {
    const NAME: &str = "runtime::a_runner_that_panics_ends_the_process";
    if std::env::var_os(CHILD).is_some() {
        let service = start(2, &panicking_kernels(), &RuntimeConfig::default());
        let mut client = connect(service.address);
        client.write_all(&[1]).expect("written");
        let _ = client.read(&mut [0]);
        return;
    }
    let executable = std::env::current_exe().expect("this test binary");
    let child = std::process::Command::new(executable).args(["--exact", NAME, "--nocapture"]).env(CHILD, "1").output();
    let child = child.expect("the child runs");
    let signal = std::os::unix::process::ExitStatusExt::signal(&child.status);
    assert_eq!(signal, Some(SIGABRT), "{child:?}");
    let said = String::from_utf8_lossy(&child.stderr);
    assert!(said.contains("the runner of shard 0 ended"), "{said}");
}

#[test]
fn a_port_is_taken_by_one_listener_only() {
    let first = Listener::bind_tcp(([127, 0, 0, 1], 0).into()).expect("a free port");
    let address = first.local_addr().expect("an address");
    let second = Listener::bind_tcp(address).expect_err("taken");
    assert_eq!(second.kind(), ErrorKind::AddrInUse);
}
