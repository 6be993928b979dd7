//! One shard's thread: its event loop, its runner, and the connections it is given.

use std::io;
use std::rc::Rc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::spawn_local;

use super::affinity::pin_current_thread;
use super::connection::{Accepted, Connection};
use super::loads::ConnectionGuard;
use crate::engine::{Engine, Shard};

/// Serves one connection: spawns a task on the calling thread and returns. The guard is dropped when it is served.
pub type ConnectionHandler = Rc<dyn Fn(Connection, ConnectionGuard)>;

/// What a shard's thread starts with.
#[derive(Clone, Debug)]
pub struct ShardInit {
    /// Position among the shards, from 0.
    pub index: usize,
    /// This thread's engine.
    pub shard: Shard,
    /// Becomes `true` when connections shall finish what they have begun and close.
    pub drain: watch::Receiver<bool>,
}

/// What the threads run besides the engine.
pub trait ShardApp: Send + Sync + 'static {
    /// Called once on each shard's thread, inside its event loop (`tokio::task::spawn_local` works): builds what
    /// connections need, and tells how to serve one.
    fn start(&self, shard: &ShardInit) -> ConnectionHandler;
}

impl<F> ShardApp for F
where
    F: Fn(&ShardInit) -> ConnectionHandler + Send + Sync + 'static,
{
    fn start(&self, shard: &ShardInit) -> ConnectionHandler {
        self(shard)
    }
}

/// What a thread is made of.
pub(super) struct Plan<A> {
    pub(super) index: usize,
    pub(super) engine: Engine,
    pub(super) pin: bool,
    pub(super) app: A,
    pub(super) connections: UnboundedReceiver<(Accepted, ConnectionGuard)>,
    pub(super) drain: watch::Receiver<bool>,
    /// Learns when the thread is ready for connections, or why it will never be.
    pub(super) ready: Sender<io::Result<()>>,
}

pub(super) fn spawn<A: ShardApp>(plan: Plan<A>) -> io::Result<JoinHandle<()>> {
    let name = format!("shard-{}", plan.index);
    std::thread::Builder::new().name(name).spawn(move || {
        let _watch = AbortOnPanic { index: plan.index };
        if plan.pin {
            match pin_current_thread(plan.index) {
                Some(core) => tracing::debug!(shard = plan.index, core, "shard pinned"),
                None => tracing::warn!(shard = plan.index, "the shard's thread cannot be pinned to a core"),
            }
        }
        match event_loop(&plan.engine, plan.index) {
            Ok(event_loop) => {
                event_loop.block_on(serve(plan));
                event_loop.shutdown_background();
            }
            Err(error) => {
                // Nobody listens if starting was given up already.
                let _ = plan.ready.send(Err(error));
            }
        }
    })
}

fn event_loop(engine: &Engine, index: usize) -> io::Result<LocalRuntime> {
    let (sleeper, riser) = (engine.clone(), engine.clone());
    Builder::new_current_thread()
        .enable_all()
        .on_thread_park(move || sleeper.thread_parked(index))
        .on_thread_unpark(move || riser.thread_unparked(index))
        .build_local(LocalOptions::default())
}

/// Runs until the engine is closed and its accepted jobs are answered.
async fn serve<A: ShardApp>(plan: Plan<A>) {
    let Plan { index, engine, app, mut connections, drain, ready, .. } = plan;
    let shard = engine.shard(index);
    // `yield_now` comes back after the I/O driver has been asked, behind every task that it made ready. That is what
    // lets a lane group fill; see docs/engine.md.
    let mut runner = spawn_local(shard.clone().run_with(tokio::task::yield_now));
    let handler = app.start(&ShardInit { index, shard, drain });
    let _ = ready.send(Ok(()));
    drop(ready);
    let mut accepting = true;
    loop {
        tokio::select! {
            biased;
            ended = &mut runner => {
                if let Err(error) = ended {
                    super::abort(format_args!("the runner of shard {index} ended: {error}"));
                }
                return;
            }
            arrived = connections.recv(), if accepting => match arrived {
                Some((accepted, guard)) => match accepted.attach() {
                    Ok(connection) => handler(connection, guard),
                    Err(error) => tracing::warn!(%error, "a connection cannot be served"),
                },
                None => accepting = false,
            },
        }
    }
}

/// A shard's thread that panics cannot answer what it has accepted, and others may wait for it: the process ends.
struct AbortOnPanic {
    index: usize,
}

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            super::abort(format_args!("shard {} panicked", self.index));
        }
    }
}
