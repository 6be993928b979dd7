//! Start and stop of all threads, each in one place.

use std::io;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc as connections, watch};
use tokio::task::JoinHandle as Task;

use super::acceptor::{Inbox, accept};
use super::background::Background;
use super::listener::Listener;
use super::loads::{ConnectionStats, Loads};
use super::shard_thread::{Plan, ShardApp, spawn};
use crate::engine::Engine;

/// How long a stopping shard may take to answer its last jobs. Groups take milliseconds; this bounds a fault.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Bounds of the threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeConfig {
    /// Whether each shard's thread is bound to one core. Default false.
    pub pin: bool,
    /// Connections open at once, over all shards. Default 10,000.
    pub connections_max: usize,
    /// How long connections may take to finish when the service stops. Default 30 s.
    pub drain_timeout: Duration,
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        Self { pin: false, connections_max: 10_000, drain_timeout: Duration::from_secs(30) }
    }
}

/// How stopping went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Connections still open when the time was up; they were cut.
    pub connections_cut: usize,
    /// Shards whose thread had not ended when the time was up.
    pub shards_left: usize,
}

/// The running shards. One thread for each shard of the engine.
#[derive(Debug)]
pub struct Runtime {
    engine: Engine,
    config: RuntimeConfig,
    loads: Arc<Loads>,
    inboxes: Arc<[Inbox]>,
    drain: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
    acceptors: Vec<Task<()>>,
}

impl Runtime {
    /// Starts a thread for each shard of `engine` and returns when all are ready for connections. `app` is started on
    /// each.
    ///
    /// # Errors
    /// If a thread or its event loop cannot be made; threads that were made have ended then.
    pub fn start(engine: &Engine, config: &RuntimeConfig, app: impl ShardApp) -> io::Result<Self> {
        let loads = Loads::new(engine.shards(), config.connections_max);
        let (drain, draining) = watch::channel(false);
        let (ready, readiness) = mpsc::channel();
        let app = Arc::new(app);
        let mut inboxes = Vec::new();
        let mut threads = Vec::new();
        let mut started = Ok(());
        for index in 0..engine.shards() {
            let (inbox, connections) = connections::unbounded_channel();
            inboxes.push(inbox);
            let app = Arc::clone(&app);
            let plan = Plan {
                index,
                engine: engine.clone(),
                pin: config.pin,
                app: move |shard: &_| app.start(shard),
                connections,
                drain: draining.clone(),
                ready: ready.clone(),
            };
            match spawn(plan) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    started = Err(error);
                    break;
                }
            }
        }
        drop(ready);
        // Ends when every thread has spoken and dropped its sender.
        for answer in readiness {
            started = started.and(answer);
        }
        let runtime = Self {
            engine: engine.clone(),
            config: config.clone(),
            loads,
            inboxes: inboxes.into(),
            drain,
            threads,
            acceptors: Vec::new(),
        };
        match started {
            Ok(()) => Ok(runtime),
            Err(error) => {
                runtime.engine.close();
                runtime.join();
                Err(error)
            }
        }
    }

    /// Starts to accept connections from `listener`, on the background thread.
    pub fn listen(&mut self, listener: Listener, background: &Background) {
        let acceptor = accept(listener, Arc::clone(&self.loads), Arc::clone(&self.inboxes), self.drain.subscribe());
        self.acceptors.push(background.handle().spawn(acceptor));
    }

    /// Connections now and since start.
    #[must_use]
    pub fn connections(&self) -> ConnectionStats {
        self.loads.stats()
    }

    /// Reads [`Runtime::connections`] from wherever metrics are made.
    pub fn connections_reader(&self) -> impl Fn() -> ConnectionStats + Send + Sync + Clone + 'static {
        let loads = Arc::clone(&self.loads);
        move || loads.stats()
    }

    /// Stops everything, in this order: acceptors close their listeners; shards are told to drain and have
    /// `drain_timeout` to finish their connections; the engine closes and answers what it has accepted; threads end,
    /// cutting the connections that are left. Second of two steps for the service: the first is to announce on the
    /// admin listener that it is no longer ready.
    pub async fn drain(self) -> Drained {
        self.drain.send_replace(true);
        for acceptor in &self.acceptors {
            while !acceptor.is_finished() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        // A connection accepted a moment ago may lie in a shard's inbox; it is counted already, and served or cut below.
        let all_closed = tokio::time::timeout(self.config.drain_timeout, self.loads.none_open()).await;
        let connections_cut = if all_closed.is_ok() { 0 } else { self.loads.open() };
        self.engine.close();
        let until = Instant::now() + STOP_TIMEOUT;
        while self.threads.iter().any(|thread| !thread.is_finished()) && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let shards_left = self.threads.iter().filter(|thread| !thread.is_finished()).count();
        if shards_left == 0 {
            self.join();
        }
        Drained { connections_cut, shards_left }
    }

    fn join(self) {
        for thread in self.threads {
            // A thread that panicked has ended the process already.
            let _ = thread.join();
        }
    }
}
