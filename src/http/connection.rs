//! One accepted connection, from its first byte to its last: HTTP/1.1 or HTTP/2 with prior knowledge, whichever the
//! client speaks. HTTP and gRPC share it.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, Request, Version, header};
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::activity::Activity;
use super::takeup::{Answer, StreamExecutor};
use crate::faces::Drain;

/// How long a client may take to close a connection that it was told is over. A shorter idle timeout shortens it.
const GOODBYE_MAX: Duration = Duration::from_secs(10);

/// Bounds of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionSettings {
    /// How long a connection may be open before its first request; and for HTTP/1.1: how long a client may take for the
    /// header fields of a request, which includes the pause before the request on a kept-alive connection. Longer than
    /// the idle timeout of common proxies, so that they close first. Default 75 s.
    pub header_read_timeout: Duration,
    /// How long a connection may be open with no request in work: none being read, checked or answered, and no stream
    /// open. It is told goodbye then, and closed. Gateways keep connections for long on purpose, so this is generous;
    /// it is there so that clients who asked once do not hold their places for ever. Default 5 min.
    pub idle_timeout: Duration,
    /// How long answers may wait for a client that does not read them: the connection's writes as a whole, and over
    /// HTTP/2 each answer by itself. Default 30 s.
    pub write_timeout: Duration,
    /// Bytes of a request's header fields, at least 8 KiB. Room for a token of the largest size. Default 64 KiB.
    pub header_bytes_max: usize,
    /// Header fields of an HTTP/1.1 request. Default 100.
    pub header_fields_max: usize,
    /// HTTP/1.1: how long a connection without a request stays open when a drain begins. A client that reuses it may
    /// have sent its next request already, and would take its loss for a failure. Default 500 ms.
    pub drain_grace: Duration,
    /// HTTP/2: requests a connection has at once. Default 1024.
    pub streams_max: u32,
    /// HTTP/2: bytes a client may send ahead on one stream. Default 128 KiB.
    pub stream_window_bytes: u32,
    /// HTTP/2: bytes a client may send ahead on one connection. Default 256 KiB.
    pub connection_window_bytes: u32,
    /// HTTP/2: how often a silent connection is pinged, and how long the answer may take. Default 60 s and 20 s.
    pub ping_interval: Duration,
    /// See `ping_interval`.
    pub ping_timeout: Duration,
}

impl Default for ConnectionSettings {
    fn default() -> Self {
        Self {
            header_read_timeout: Duration::from_secs(75),
            idle_timeout: Duration::from_secs(300),
            write_timeout: Duration::from_secs(30),
            drain_grace: Duration::from_millis(500),
            header_bytes_max: 64 * 1024,
            header_fields_max: 100,
            streams_max: 1024,
            stream_window_bytes: 128 * 1024,
            connection_window_bytes: 256 * 1024,
            ping_interval: Duration::from_secs(60),
            ping_timeout: Duration::from_secs(20),
        }
    }
}

/// Serves one connection until it ends. When `drain` starts, HTTP/2 gets a GOAWAY and HTTP/1.1 a `Connection: close` with
/// its next answer, or is closed after a short grace without a request; the future then ends when what was begun is
/// answered. The caller bounds how long it waits for that. So does a connection that has been idle for too long, without the grace.
///
/// Must run inside a `LocalSet` on the thread of the shard that `router` belongs to. Faults of a connection are the
/// client's or the network's, and are logged at debug only.
pub async fn serve_connection<I>(io: I, router: Router, settings: &ConnectionSettings, drain: Drain)
where
    I: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let mut builder = auto::Builder::new(StreamExecutor { patience: settings.write_timeout });
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(settings.header_read_timeout)
        .max_buf_size(settings.header_bytes_max.max(8 * 1024))
        .max_headers(settings.header_fields_max)
        .keep_alive(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(settings.streams_max)
        .initial_stream_window_size(settings.stream_window_bytes)
        .initial_connection_window_size(settings.connection_window_bytes)
        .max_header_list_size(u32::try_from(settings.header_bytes_max).unwrap_or(u32::MAX))
        .keep_alive_interval(settings.ping_interval)
        .keep_alive_timeout(settings.ping_timeout);
    let (asked, draining) = (Rc::new(Cell::new(None)), Rc::new(Cell::new(false)));
    let activity = Activity::new();
    let router = TowerToHyperService::new(router);
    let service = service_fn({
        let asked = Rc::clone(&asked);
        let (draining, activity) = (Rc::clone(&draining), Rc::clone(&activity));
        move |request: Request<Incoming>| {
            let version = request.version();
            asked.set(Some(version));
            let in_work = activity.begin();
            let answer = router.call(request);
            let draining = Rc::clone(&draining);
            async move {
                let mut response = answer.await?.map(|body| Answer::new(body, in_work));
                if draining.get() && version <= Version::HTTP_11 {
                    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Infallible>(response)
            }
        }
    });
    let io = TokioIo::new(WriteGuard::new(io, settings.write_timeout));
    let mut connection = std::pin::pin!(builder.serve_connection(io, service));
    let mut drained = std::pin::pin!(drain.started());
    // The library's own timeout begins only when it knows which protocol the client speaks.
    let mut patience = std::pin::pin!(tokio::time::sleep(settings.header_read_timeout));
    let mut grace = std::pin::pin!(tokio::time::sleep(Duration::ZERO));
    let mut idle = std::pin::pin!(tokio::time::sleep(settings.idle_timeout));
    let (mut graceful, mut patient, mut leaving) = (false, true, false);
    loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "connection ended early");
                }
                return;
            }
            () = drained.as_mut(), if !draining.get() => {
                draining.set(true);
                // HTTP/2 says which requests it still takes; HTTP/1.1 can only wait and see.
                let wait = if asked.get() == Some(Version::HTTP_2) { Duration::ZERO } else { settings.drain_grace };
                let now = tokio::time::Instant::now();
                grace.as_mut().reset(now.checked_add(wait).unwrap_or(now));
            }
            () = grace.as_mut(), if draining.get() && !graceful => {
                graceful = true;
                connection.as_mut().graceful_shutdown();
            }
            () = patience.as_mut(), if patient => {
                patient = false;
                if asked.get().is_none() {
                    tracing::debug!("connection closed: no request came in time");
                    return;
                }
            }
            () = idle.as_mut() => {
                let goodbye = settings.idle_timeout.min(GOODBYE_MAX);
                let mut next = activity.idle_at(if leaving { goodbye } else { settings.idle_timeout });
                if next <= Instant::now() {
                    if leaving {
                        tracing::debug!("connection closed: idle, and the goodbye was not answered");
                        return;
                    }
                    leaving = true;
                    connection.as_mut().graceful_shutdown();
                    next = Instant::now() + goodbye;
                }
                idle.as_mut().reset(next);
            }
        }
    }
}

/// A connection whose writes may not stand still for longer than a timeout: a client that does not read its answers
/// must not keep them here for ever.
struct WriteGuard<I> {
    io: I,
    timeout: Duration,
    /// Runs while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<I> WriteGuard<I> {
    const fn new(io: I, timeout: Duration) -> Self {
        Self { io, timeout, stalled: None }
    }

    fn judge<T>(&mut self, cx: &mut Context<'_>, progress: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if progress.is_ready() {
            self.stalled = None;
            return progress;
        }
        let timeout = self.timeout;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for WriteGuard<I> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for WriteGuard<I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.judge(cx, progress)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.io).poll_write_vectored(cx, slices);
        self.judge(cx, progress)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let progress = Pin::new(&mut self.io).poll_flush(cx);
        self.judge(cx, progress)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let progress = Pin::new(&mut self.io).poll_shutdown(cx);
        self.judge(cx, progress)
    }
}
