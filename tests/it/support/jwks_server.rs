//! An issuer under a test's thumb: serves what it is told at each path, remembers what it was asked, can be held, and
//! speaks TLS with a certificate of the test's own.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::Frame;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// What is answered at one path.
#[derive(Clone, Debug)]
pub struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
    framing: Framing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    ContentLength,
    Chunked,
}

impl Reply {
    /// Status 200 with this body.
    pub fn ok(body: impl Into<Bytes>) -> Self {
        Self { status: StatusCode::OK, headers: HeaderMap::new(), body: body.into(), framing: Framing::ContentLength }
    }

    /// This status, no body.
    pub fn status(status: u16) -> Self {
        Self { status: StatusCode::from_u16(status).unwrap(), ..Self::ok("") }
    }

    /// A redirect.
    pub fn redirect(to: &str) -> Self {
        Self::status(302).header("location", to)
    }

    /// With one more header.
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.append(name, value.parse().unwrap());
        self
    }

    /// Sent in chunks, without its length ahead.
    pub fn chunked(mut self) -> Self {
        self.framing = Framing::Chunked;
        self
    }
}

#[derive(Debug)]
struct State {
    replies: Mutex<HashMap<String, Reply>>,
    seen: Mutex<Vec<(String, HeaderMap, u16)>>,
    held: watch::Sender<bool>,
}

/// The server. Stops when dropped.
#[derive(Debug)]
pub struct JwksServer {
    address: SocketAddr,
    scheme: &'static str,
    state: Arc<State>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for JwksServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl JwksServer {
    /// A server on a free loopback port.
    pub async fn start() -> Self {
        Self::listen(TcpListener::bind("127.0.0.1:0").await.unwrap(), None)
    }

    /// A server on this address, which was [`free_address`] before.
    pub async fn start_on(address: SocketAddr) -> Self {
        Self::listen(TcpListener::bind(address).await.unwrap(), None)
    }

    /// A TLS server with this certificate chain and key (PKCS#8 DER).
    pub async fn start_tls(chain: Vec<rustls_pki_types::CertificateDer<'static>>, key: Vec<u8>) -> Self {
        let key = rustls_pki_types::PrivateKeyDer::Pkcs8(key.into());
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::listen(listener, Some(TlsAcceptor::from(Arc::new(config))))
    }

    fn listen(listener: TcpListener, tls: Option<TlsAcceptor>) -> Self {
        let address = listener.local_addr().unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let state =
            Arc::new(State { replies: Mutex::default(), seen: Mutex::default(), held: watch::Sender::new(false) });
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            // Connections end with the accept loop.
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (state, tls) = (Arc::clone(&shared), tls.clone());
                connections.spawn(async move {
                    match tls {
                        None => serve(stream, state).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, state).await;
                            }
                        }
                    }
                });
            }
        });
        Self { address, scheme, state, task }
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }

    /// The URL of a path by the name `localhost`.
    pub fn url_by_name(&self, path: &str) -> String {
        format!("{}://localhost:{}{path}", self.scheme, self.address.port())
    }

    /// From now on answers so at this path. A reply with `etag` answers 304 to whoever has that.
    pub fn set(&self, path: &str, reply: Reply) {
        self.state.replies.lock().unwrap().insert(path.to_owned(), reply);
    }

    /// Takes requests and does not answer them.
    pub fn hold(&self) {
        self.state.held.send_replace(true);
    }

    /// Answers them.
    pub fn release(&self) {
        self.state.held.send_replace(false);
    }

    /// How often the path was asked for.
    pub fn count(&self, path: &str) -> usize {
        self.state.seen.lock().unwrap().iter().filter(|(seen, ..)| seen == path).count()
    }

    /// Requests for anything.
    pub fn total(&self) -> usize {
        self.state.seen.lock().unwrap().len()
    }

    /// How often the path was answered with this status.
    pub fn answered(&self, path: &str, status: u16) -> usize {
        self.state.seen.lock().unwrap().iter().filter(|(seen, _, code)| seen == path && *code == status).count()
    }

    /// Headers of the first request for anything.
    pub fn first_headers(&self) -> HeaderMap {
        self.state.seen.lock().unwrap().first().unwrap().1.clone()
    }
}

/// A loopback address nobody listens on.
pub async fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, state: Arc<State>) {
    let service = service_fn(move |request| answer(request, Arc::clone(&state)));
    // An error means that the client went away, which is its right.
    let _closed = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(request: Request<hyper::body::Incoming>, state: Arc<State>) -> Result<Response<Chunks>, Infallible> {
    let path = request.uri().path().to_owned();
    let position = {
        let mut seen = state.seen.lock().unwrap();
        seen.push((path.clone(), request.headers().clone(), 0));
        seen.len() - 1
    };
    let mut held = state.held.subscribe();
    held.wait_for(|held| !held).await.unwrap();
    let reply = state.replies.lock().unwrap().get(&path).cloned().unwrap_or_else(|| Reply::status(404));
    let etag = reply.headers.get("etag");
    let unchanged = etag.is_some() && etag == request.headers().get("if-none-match");
    let status = if unchanged { StatusCode::NOT_MODIFIED } else { reply.status };
    state.seen.lock().unwrap()[position].2 = status.as_u16();
    let body = if unchanged { Bytes::new() } else { reply.body };
    let known = (reply.framing == Framing::ContentLength).then_some(body.len() as u64);
    let mut response = Response::new(Chunks { rest: body, known });
    *response.status_mut() = status;
    *response.headers_mut() = reply.headers;
    Ok(response)
}

/// A body in pieces of 4 KiB.
struct Chunks {
    rest: Bytes,
    known: Option<u64>,
}

impl http_body::Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let next = self.rest.len().min(4096);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(next)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match self.known {
            Some(known) if known == self.rest.len() as u64 => http_body::SizeHint::with_exact(known),
            _ => http_body::SizeHint::default(),
        }
    }
}
