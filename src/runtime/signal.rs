//! The signals that ask the process to stop.

use std::io;

use tokio::signal::unix::{self, SignalKind, signal};

/// Which signal came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM: what supervisors send.
    Terminate,
    /// SIGINT: Ctrl-C.
    Interrupt,
}

/// Watches for the signals that ask the process to stop.
#[derive(Debug)]
pub struct StopSignals {
    terminate: unix::Signal,
    interrupt: unix::Signal,
}

impl StopSignals {
    /// Watches from now on: these signals no longer end the process by themselves, and one that comes before
    /// [`StopSignals::next`] is not lost. Call it on an event loop.
    ///
    /// # Errors
    /// If the handlers cannot be installed.
    pub fn watch() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Completes when the process is asked to stop.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::Terminate,
            _ = self.interrupt.recv() => Signal::Interrupt,
        }
    }
}
