//! An accepted connection, whatever it came over.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Who is at the other end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Peer {
    /// A TCP client.
    Tcp(SocketAddr),
}

impl std::fmt::Display for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
        }
    }
}

/// A connection on its way from the acceptor to a shard: not yet bound to an event loop.
#[derive(Debug)]
pub(super) enum Accepted {
    Tcp(std::net::TcpStream, SocketAddr),
}

impl Accepted {
    /// Binds the connection to the event loop of the calling thread.
    pub(super) fn attach(self) -> io::Result<Connection> {
        match self {
            Self::Tcp(stream, address) => {
                let stream = Stream::Tcp(TcpStream::from_std(stream)?);
                Ok(Connection { stream, peer: Peer::Tcp(address) })
            }
        }
    }
}

/// A byte stream to one client. Read and write it as such; which transport it is does not matter to a face.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    peer: Peer,
}

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
}

impl Connection {
    /// Who is at the other end.
    #[must_use]
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    fn tcp(self: Pin<&mut Self>) -> Pin<&mut TcpStream> {
        let Stream::Tcp(stream) = &mut self.get_mut().stream;
        Pin::new(stream)
    }
}

impl AsyncRead for Connection {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.tcp().poll_read(cx, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.tcp().poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.tcp().poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        let Stream::Tcp(stream) = &self.stream;
        stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.tcp().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.tcp().poll_shutdown(cx)
    }
}
