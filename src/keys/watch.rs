//! Reloads local sources when their files change. One task and one file watch serve all of them.
//!
//! The *directory* of a file is watched, not the file: editors replace files, and Kubernetes swaps a symlink beside
//! them (`..data`). A slow poll stands in where notices do not come (network file systems, links to elsewhere). A
//! file that cannot be read or has no usable key never replaces a good set; the fault is in the log and in the status.

use std::collections::BTreeSet;
use std::hash::RandomState;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

use super::IssuerKeys;
use super::prepare::DocumentLimits;
use super::source::Source;

/// A source and what it fills.
#[derive(Clone, Debug)]
pub struct Watched {
    /// The source.
    pub source: Source,
    /// The keys of its issuer.
    pub keys: Arc<IssuerKeys>,
}

/// Settings for all watched sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchOptions {
    /// How often files are read without a notice of change. Default 30 s.
    pub poll: Duration,
    /// How long changes must be quiet before files are read. Default 100 ms.
    pub settle: Duration,
    /// Bounds on each file.
    pub limits: DocumentLimits,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self { poll: Duration::from_secs(30), settle: Duration::from_millis(100), limits: DocumentLimits::default() }
    }
}

/// Owns the watching task: dropping it ends the task. The keys stay.
#[derive(Debug)]
pub struct WatchHandle {
    task: tokio::task::JoinHandle<()>,
}

impl Drop for WatchHandle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Loads every source now, and again whenever its file changes. Must be called on a tokio runtime; returns when the
/// first load of each was tried, so that good files are usable then.
pub async fn spawn(watched: Vec<Watched>, options: WatchOptions) -> WatchHandle {
    let changed = Arc::new(Notify::new());
    let mut sources: Vec<Reloading> = watched.into_iter().map(Reloading::new).collect();
    // Watch first and read after, so that no change falls between.
    let mut directories = Directories::new(&sources, Arc::clone(&changed));
    directories.watch();
    reload_all(&mut sources, &options).await;
    let task = tokio::spawn(async move {
        loop {
            tokio::select! {
                () = tokio::time::sleep(options.poll) => directories.watch(),
                () = changed.notified() => settle(&changed, options.settle).await,
            }
            reload_all(&mut sources, &options).await;
        }
    });
    WatchHandle { task }
}

/// Waits until no change was noticed for `quiet`, at most ten times as long.
async fn settle(changed: &Notify, quiet: Duration) {
    for _ in 0..10 {
        if tokio::time::timeout(quiet, changed.notified()).await.is_err() {
            return;
        }
    }
}

/// The watch on the directories of all files.
struct Directories {
    watcher: Option<RecommendedWatcher>,
    /// Not watched yet; tried again with every poll.
    missing: BTreeSet<PathBuf>,
}

impl Directories {
    fn new(sources: &[Reloading], changed: Arc<Notify>) -> Self {
        let missing: BTreeSet<PathBuf> = sources.iter().filter_map(|one| one.source.path()).map(directory).collect();
        if missing.is_empty() {
            return Self { watcher: None, missing };
        }
        let notice = move |event: notify::Result<notify::Event>| {
            // Our own reading is an event as well; it changes nothing.
            if event.is_ok_and(|event| event.kind.is_access()) {
                return;
            }
            changed.notify_one();
        };
        let watcher = notify::recommended_watcher(notice);
        if let Err(error) = &watcher {
            tracing::warn!(%error, "cannot watch key files for changes; they are polled");
        }
        Self { watcher: watcher.ok(), missing }
    }

    fn watch(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        self.missing.retain(|directory| match watcher.watch(directory, RecursiveMode::NonRecursive) {
            Ok(()) => false,
            Err(error) => {
                tracing::debug!(directory = %directory.display(), %error, "cannot watch yet");
                true
            }
        });
    }
}

fn directory(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// One source with what was last read of it.
struct Reloading {
    source: Arc<Source>,
    keys: Arc<IssuerKeys>,
    last: Option<(u64, Outcome)>,
    hasher: RandomState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Good,
    Bad,
}

impl Reloading {
    fn new(watched: Watched) -> Self {
        watched.keys.describe(watched.source.describe());
        Self { source: Arc::new(watched.source), keys: watched.keys, last: None, hasher: RandomState::new() }
    }

    /// Reads the source and publishes its keys if they changed. On the blocking pool: disks are slow.
    async fn reload(&mut self, limits: DocumentLimits) {
        let (source, hasher, last) = (Arc::clone(&self.source), self.hasher.clone(), self.last);
        let read = tokio::task::spawn_blocking(move || {
            let reading = source.read(&limits)?;
            let fingerprint = reading.fingerprint(&hasher);
            let known = last.is_some_and(|(before, _)| before == fingerprint);
            let loaded = if known { None } else { Some(source.prepare(&reading, &limits)) };
            Ok((fingerprint, loaded))
        });
        let now = Instant::now();
        match read.await {
            Ok(Ok((_, None))) => {
                if self.last.is_some_and(|(_, outcome)| outcome == Outcome::Good) {
                    self.keys.confirm(None, now);
                }
            }
            Ok(Ok((fingerprint, Some(Ok((set, report)))))) => {
                let source = self.source.describe();
                tracing::info!(%source, keys = set.keys().len(), skipped = report.skipped.len(), "keys loaded");
                for warning in &report.warnings {
                    tracing::warn!(%source, %warning, "key set");
                }
                self.keys.publish_reported(set, report, None, now);
                self.last = Some((fingerprint, Outcome::Good));
            }
            Ok(Ok((fingerprint, Some(Err(error))))) => {
                self.failed(&error, now);
                self.last = Some((fingerprint, Outcome::Bad));
            }
            Ok(Err(error)) => self.failed(&error, now),
            // The runtime is going down, or reading panicked; the set stays either way.
            Err(error) => self.keys.record_failure(format!("reading was cut short: {error}"), now),
        }
    }

    fn failed(&self, error: &super::source::SourceError, now: Instant) {
        if self.keys.status().last_error.is_none() {
            tracing::warn!(%error, "cannot load keys; the keys before stay in use");
        }
        self.keys.record_failure(error.to_string(), now);
    }
}

async fn reload_all(sources: &mut [Reloading], options: &WatchOptions) {
    for one in sources {
        one.reload(options.limits).await;
    }
}
