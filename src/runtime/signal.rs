//! The signals that ask the process to stop.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// Which signal came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM: what supervisors send.
    Terminate,
    /// SIGINT: Ctrl-C.
    Interrupt,
}

/// Completes when the process is asked to stop. Once it has been called, these signals no longer end the process by
/// themselves; calling it again waits for the next.
///
/// # Errors
/// If the handlers cannot be installed.
pub async fn shutdown_signal() -> io::Result<Signal> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(tokio::select! {
        _ = terminate.recv() => Signal::Terminate,
        _ = interrupt.recv() => Signal::Interrupt,
    })
}
