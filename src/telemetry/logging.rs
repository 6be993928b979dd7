//! Log lines on standard error. A thread of its own writes them: whoever reads them may be slow or stop reading, and
//! the threads that answer requests must not wait for that.

use std::io::{self, IsTerminal as _, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::util::TryInitError;

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For a person.
    #[default]
    Human,
    /// One JSON object a line.
    Json,
}

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The filter is not one.
    #[error("log level `{filter}` is not understood: {source}")]
    Filter {
        /// What was given.
        filter: String,
        /// What is wrong with it.
        source: ParseError,
    },
    /// Something else in the process logs already.
    #[error("logging is already set up: {0}")]
    Taken(#[from] TryInitError),
}

/// Lines that wait to be written, at most. Further ones are lost, and counted.
const LINES_WAITING_MAX: usize = 8192;

/// Logging at work. Dropping it writes what waits, for about a second at most, and ends logging: keep it to the end of
/// the process.
#[must_use = "logging ends when this is dropped"]
#[derive(Debug)]
pub struct Logging {
    overflowed: ErrorCounter,
    failed: Arc<AtomicU64>,
    _guard: WorkerGuard,
}

impl Logging {
    /// Reads how many lines were lost, because too many waited or because they could not be written.
    pub fn lost_lines_reader(&self) -> impl Fn() -> u64 + Send + Sync + 'static {
        let (overflowed, failed) = (self.overflowed.clone(), Arc::clone(&self.failed));
        move || overflowed.dropped_lines() as u64 + failed.load(Ordering::Relaxed)
    }
}

/// Where the lines go. A line that cannot be written (a full disk, a collector that went away) is lost and counted.
struct Sink<W> {
    inner: W,
    failed: Arc<AtomicU64>,
}

impl<W: Write> Write for Sink<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write(bytes)
    }

    /// The writing thread gives each line in one call.
    fn write_all(&mut self, line: &[u8]) -> io::Result<()> {
        if self.inner.write_all(line).is_err() {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        // Standard error is not buffered, and a complaint about it would go to the same place.
        let _ = self.inner.flush();
        Ok(())
    }
}

/// Sends log lines to standard error. `filter` is a level (`info`) or a filter of levels by module
/// (`info,verilane::keys=debug`).
///
/// # Errors
/// If the filter is ill-formed, or logging was set up before.
pub fn init_logging(format: LogFormat, filter: &str) -> Result<Logging, LoggingError> {
    use tracing_subscriber::util::SubscriberInitExt;

    let parsed = EnvFilter::builder()
        .parse(filter)
        .map_err(|source| LoggingError::Filter { filter: filter.to_owned(), source })?;
    let failed = Arc::new(AtomicU64::new(0));
    let (writer, guard) = NonBlockingBuilder::default()
        .lossy(true)
        .buffered_lines_limit(LINES_WAITING_MAX)
        .thread_name("verilane-log")
        .finish(Sink { inner: io::stderr(), failed: Arc::clone(&failed) });
    let logging = Logging { overflowed: writer.error_counter(), failed, _guard: guard };
    let builder = tracing_subscriber::fmt()
        .with_env_filter(parsed)
        .with_writer(writer)
        // A complaint about a line would go to the same place as the line.
        .log_internal_errors(false)
        // Colours are for terminals; in a file or a collector they are noise.
        .with_ansi(io::stderr().is_terminal());
    match format {
        LogFormat::Human => builder.finish().try_init()?,
        LogFormat::Json => builder.json().flatten_event(true).finish().try_init()?,
    }
    Ok(logging)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    #[test]
    fn lines_that_cannot_be_written_are_counted_and_harm_nothing() {
        let failed = Arc::new(AtomicU64::new(0));
        let mut sink = Sink { inner: Full, failed: Arc::clone(&failed) };
        for _ in 0..3 {
            sink.write_all(b"a line\n").expect("the line is lost");
        }
        sink.flush().expect("nothing is held back");
        assert_eq!(failed.load(Ordering::Relaxed), 3);
    }
}
