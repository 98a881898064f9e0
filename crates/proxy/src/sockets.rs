//! Sockets to listen on: one for each worker on the same port, so that the kernel spreads
//! connections and workers never wait for each other.

use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

/// Connections that may wait to be accepted; the kernel cuts it to its own bound.
const BACKLOG: i32 = 4096;

/// A socket to listen on.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) socket: TcpListener,
    /// It came from elsewhere, and is open there as well.
    pub(crate) lent: bool,
}

/// So many sockets on one address, and the address with its port.
///
/// # Errors
/// Somebody listens there already, or it is not an address of this machine.
pub(crate) fn bind(address: SocketAddr, count: usize) -> io::Result<(SocketAddr, Vec<Opened>)> {
    if address.port() != 0 {
        // Sockets that share a port would share it with those of another process of the same user,
        // too: that should be a mistake and not half of the connections.
        drop(open(address, false)?);
    }
    bind_beside(address, count)
}

/// The same where a listener of one's own has the port at an overlapping address for a moment more.
///
/// # Errors
/// Somebody listens there who does not share, or it is not an address of this machine.
pub(crate) fn bind_beside(
    address: SocketAddr,
    count: usize,
) -> io::Result<(SocketAddr, Vec<Opened>)> {
    // A single one is shared as well: a reload may move it to an address that overlaps.
    let first = open(address, true)?;
    let address = first.local_addr()?;
    let own = |socket| Opened { socket, lent: false };
    let mut all = vec![own(first)];
    while all.len() < count {
        all.push(own(open(address, true)?));
    }
    Ok((address, all))
}

/// The same socket for each worker: it came from elsewhere.
pub(crate) fn share(socket: TcpListener, count: usize) -> io::Result<(SocketAddr, Vec<Opened>)> {
    socket.set_nonblocking(true)?;
    let address = socket.local_addr()?;
    let mut all = Vec::with_capacity(count);
    let lent = |socket| Opened { socket, lent: true };
    while all.len() + 1 < count {
        all.push(lent(socket.try_clone()?));
    }
    all.push(lent(socket));
    Ok((address, all))
}

/// Sockets that systemd, or whoever started this process, has opened for it (`LISTEN_FDS`).
#[must_use]
pub fn given() -> Vec<TcpListener> {
    let mut all = listenfd::ListenFd::from_env();
    (0..all.len()).filter_map(|at| all.take_tcp_listener(at).ok().flatten()).collect()
}

fn open(address: SocketAddr, shared: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(shared)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_share_a_port_and_strangers_do_not() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let (address, sockets) = bind(any, 3).unwrap();
        assert_eq!(sockets.len(), 3);
        assert!(sockets.iter().all(|s| s.socket.local_addr().unwrap() == address));
        for count in [1, 2] {
            let taken = bind(address, count).unwrap_err();
            assert_eq!(taken.kind(), io::ErrorKind::AddrInUse, "{count}");
        }
        drop(sockets);
        let (same, one) = bind(address, 1).unwrap();
        assert_eq!(same, address);
        // A reload may take it from one address to all of them, and back.
        let all = SocketAddr::from(([0, 0, 0, 0], address.port()));
        assert_eq!(bind(all, 1).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        let (_, beside) = bind_beside(all, 2).unwrap();
        drop(one);
        assert_eq!(bind(address, 1).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert_eq!(bind_beside(address, 1).unwrap().0, address);
        drop(beside);
    }
}
