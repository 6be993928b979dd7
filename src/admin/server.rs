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

/// Bounds of the listener. Nothing here streams and every page is small, so all of them are short: a few slow clients
/// must not keep probes out.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Connections at once. Probes and scrapers need a handful.
    connections_max: usize,
    /// How long a client may take for a request's header fields, and a connection may be idle.
    header_read_timeout: Duration,
    /// How long one connection may take requests.
    connection_timeout: Duration,
    /// How long the answer that is being given then may take.
    goodbye: Duration,
}

impl Bounds {
    const DEFAULT: Self = Self {
        connections_max: 64,
        header_read_timeout: Duration::from_secs(10),
        connection_timeout: Duration::from_secs(50),
        goodbye: Duration::from_secs(10),
    };
}

/// Bytes of a request's header fields.
const HEADER_BYTES_MAX: usize = 16 * 1024;
/// Header fields of a request.
const HEADER_FIELDS_MAX: usize = 64;

/// Serves `router` until `stop` starts. Start it last of all when the process ends: readiness must be seen to fail
/// while the faces drain.
pub async fn serve(listener: TcpListener, router: Router, stop: Drain) {
    serve_within(listener, router, stop, Bounds::DEFAULT).await;
}

async fn serve_within(listener: TcpListener, router: Router, stop: Drain, bounds: Bounds) {
    let places = Arc::new(Semaphore::new(bounds.connections_max));
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
                    let connection = serve_connection(stream, router.clone(), stop.clone(), bounds);
                    tokio::spawn(async move {
                        let _place = place;
                        // What is left after the goodbye is a client that does not read.
                        let _ = tokio::time::timeout(bounds.connection_timeout + bounds.goodbye, connection).await;
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

async fn serve_connection(stream: TcpStream, router: Router, stop: Drain, bounds: Bounds) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.header_read_timeout)
        .max_buf_size(HEADER_BYTES_MAX)
        .max_headers(HEADER_FIELDS_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.started() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = tokio::time::sleep(bounds.connection_timeout) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "admin connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const ASK: &str = "GET /livez HTTP/1.1\r\nhost: x\r\n";

    async fn open(address: std::net::SocketAddr, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    /// What comes until the listener closes the connection.
    async fn rest(mut stream: TcpStream) -> String {
        let mut answer = Vec::new();
        // A reset is an end as well.
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[tokio::test]
    async fn slow_clients_give_their_places_back_to_probes() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let bounds = Bounds {
            connections_max: 1,
            header_read_timeout: Duration::from_secs(3600),
            connection_timeout: Duration::from_millis(50),
            goodbye: Duration::from_millis(50),
        };
        let (_switch, stop) = Drain::channel();
        let router = Router::new().route("/livez", get(async || "alive"));
        tokio::spawn(serve_within(listener, router, stop, bounds));
        let probe = async |request: &str| {
            loop {
                let answer = rest(open(address, request).await).await;
                // No answer: the place is not free yet.
                if !answer.is_empty() {
                    return answer;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        // One that never ends its request, and one that keeps its connection and asks no more.
        for holds in [ASK.to_owned(), format!("{ASK}\r\n")] {
            let holder = open(address, &holds).await;
            let last = format!("{ASK}connection: close\r\n\r\n");
            let alive = tokio::time::timeout(Duration::from_secs(20), probe(&last)).await.expect("a place is free");
            assert!(alive.ends_with("alive"), "{alive}");
            drop(holder);
        }
        let fields = "a: b\r\n".repeat(HEADER_FIELDS_MAX + 1);
        let refused = probe(&format!("{ASK}{fields}\r\n")).await;
        assert!(refused.starts_with("HTTP/1.1 431 "), "{refused}");
        let Bounds { connection_timeout, goodbye, .. } = Bounds::DEFAULT;
        assert!(connection_timeout + goodbye <= Duration::from_secs(60));
    }
}
