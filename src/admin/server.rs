//! The admin listener: HTTP/1.1, few connections, on the background runtime.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::faces::Drain;

/// Connections at once. Probes and scrapers need a handful.
const CONNECTIONS_MAX: usize = 64;
/// How long a client may take for a request, and a connection may be idle.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(30);
/// How long one connection may live in all. Nothing here streams.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(600);

/// Serves `router` until `stop` starts. Start it last of all when the process ends: readiness must be seen to fail
/// while the faces drain.
pub async fn serve(listener: TcpListener, router: Router, stop: Drain) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut stopped = std::pin::pin!(stop.clone().started());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped.as_mut() => return,
        };
        match accepted {
            Ok((stream, _)) => {
                // Beyond the bound a connection is closed at once: probes try again.
                if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
                    let connection = serve_connection(stream, router.clone(), stop.clone());
                    tokio::spawn(async move {
                        let _place = place;
                        // Ends in time by its own timeouts; what is left is a client that trickles.
                        let _ = tokio::time::timeout(CONNECTION_TIMEOUT, connection).await;
                    });
                }
            }
            Err(error) => {
                // Out of file descriptors, most likely. Trying again at once would spin.
                tracing::warn!(%error, "admin listener cannot accept");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, router: Router, stop: Drain) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_READ_TIMEOUT)
        .max_buf_size(16 * 1024)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.started() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "admin connection ended early");
    }
}
