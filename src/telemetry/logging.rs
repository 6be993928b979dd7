//! Log lines on standard error.

use std::io::IsTerminal as _;

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

/// Sends log lines to standard error. `filter` is a level (`info`) or a filter of levels by module
/// (`info,verilane::keys=debug`).
///
/// # Errors
/// If the filter is ill-formed, or logging was set up before.
pub fn init_logging(format: LogFormat, filter: &str) -> Result<(), LoggingError> {
    use tracing_subscriber::util::SubscriberInitExt;

    let parsed = EnvFilter::builder()
        .parse(filter)
        .map_err(|source| LoggingError::Filter { filter: filter.to_owned(), source })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(parsed)
        .with_writer(std::io::stderr)
        // A line that cannot be written (a full disk, a collector that went away) is lost. The complaint about it would
        // go to the same place, and panic there.
        .log_internal_errors(false)
        // Colours are for terminals; in a file or a collector they are noise.
        .with_ansi(std::io::stderr().is_terminal());
    match format {
        LogFormat::Human => builder.finish().try_init()?,
        LogFormat::Json => builder.json().flatten_event(true).finish().try_init()?,
    }
    Ok(())
}
