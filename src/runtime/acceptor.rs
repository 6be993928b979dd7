//! Takes connections from one listener and gives each to the shard with the fewest.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;

use super::connection::Accepted;
use super::listener::{Attached, Listener};
use super::loads::{ConnectionGuard, Loads};

/// Connections on their way to a shard. The queue needs no bound of its own: each has a guard, and guards are limited.
pub(super) type Inbox = UnboundedSender<(Accepted, ConnectionGuard)>;

/// Pause after an error that the next attempt would meet again, such as no free file descriptor.
const PAUSE: Duration = Duration::from_millis(100);

/// Accepts until `drain` says `true` or is gone, then closes the listener.
pub(super) async fn accept(listener: Listener, loads: Arc<Loads>, inboxes: Arc<[Inbox]>, drain: watch::Receiver<bool>) {
    let listener = match listener.attach() {
        Ok(listener) => listener,
        Err(error) => super::abort(format_args!("the listener cannot be watched: {error}")),
    };
    let mut draining = drain;
    tokio::select! {
        biased;
        _ = draining.wait_for(|draining| *draining) => {}
        () = accept_all(&listener, &loads, &inboxes) => {}
    }
}

async fn accept_all(listener: &Attached, loads: &Arc<Loads>, inboxes: &[Inbox]) {
    loop {
        match listener.accept().await {
            Ok(connection) => hand_out(connection, loads, inboxes),
            Err(error) if concerns_one_connection(&error) => {
                tracing::debug!(%error, "a connection was gone before it was accepted");
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections, trying again");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

fn hand_out(connection: Accepted, loads: &Arc<Loads>, inboxes: &[Inbox]) {
    // At the limit the connection closes here: a client learns at once, instead of waiting for somebody to leave.
    let Some(guard) = loads.admit() else {
        tracing::debug!("connection refused: the limit on open connections is reached");
        return;
    };
    let shard = guard.shard();
    if inboxes[shard].send((connection, guard)).is_err() {
        tracing::debug!(shard, "connection closed: its shard has stopped");
    }
}

fn concerns_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted, InvalidInput};
    // `InvalidInput`: setting an option on a connection that the client has closed already.
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted | InvalidInput)
}
