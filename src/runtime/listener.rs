//! Where connections come in.

use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

use super::connection::Accepted;

/// Connections the operating system may hold until they are accepted.
const BACKLOG: i32 = 1024;

/// A bound socket that takes connections.
#[derive(Debug)]
#[non_exhaustive]
pub enum Listener {
    /// A TCP socket, not blocking.
    Tcp(TcpListener),
}

impl Listener {
    /// Listens at `address`; port 0 takes a free one. The address may be in use by connections of an earlier process,
    /// not by another listener.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub fn bind_tcp(address: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        Ok(Self::Tcp(socket.into()))
    }

    /// The address it is bound to.
    ///
    /// # Errors
    /// If the operating system does not tell.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let Self::Tcp(listener) = self;
        listener.local_addr()
    }

    /// Binds the listener to the event loop of the calling thread.
    pub(super) fn attach(self) -> io::Result<Attached> {
        match self {
            Self::Tcp(listener) => tokio::net::TcpListener::from_std(listener).map(Attached::Tcp),
        }
    }
}

/// A listener on an event loop.
#[derive(Debug)]
pub(super) enum Attached {
    Tcp(tokio::net::TcpListener),
}

impl Attached {
    /// The next connection, not bound to this event loop any more. Losing the future loses no connection.
    pub(super) async fn accept(&self) -> io::Result<Accepted> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                // Answers are small and complete: waiting to fill a packet only delays them.
                stream.set_nodelay(true)?;
                Ok(Accepted::Tcp(stream.into_std()?, peer))
            }
        }
    }
}
