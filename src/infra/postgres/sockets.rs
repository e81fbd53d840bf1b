//! Closes connections to a server that hangs. sqlx waits for a response without a timeout, and a frozen
//! or lost server never sends one. sqlx does not expose the socket of a connection, so the socket is
//! found among the process's file descriptors.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::path::PathBuf;

use nix::sys::socket::{Shutdown, SockaddrStorage, UnixAddr, getpeername, getsockname, shutdown};
use sqlx::postgres::PgConnectOptions;

/// Maximum number of remembered addresses: one name may lead to different servers over time.
const REMEMBERED: usize = 64;

#[derive(Default)]
pub struct Peers {
    addresses: HashSet<SocketAddr>,
    socket: Option<PathBuf>,
}

pub struct OpenSocket {
    descriptor: RawFd,
    local: Option<SocketAddr>,
}

impl Peers {
    pub async fn resolve(options: &PgConnectOptions) -> Self {
        if let Some(folder) = options.get_socket() {
            let socket = folder.join(format!(".s.PGSQL.{}", options.get_port()));
            return Self { addresses: HashSet::new(), socket: Some(socket) };
        }
        let host = options.get_host().trim_matches(['[', ']']);
        let found = tokio::net::lookup_host((host, options.get_port())).await;
        Self { addresses: found.map(Iterator::collect).unwrap_or_default(), socket: None }
    }

    pub fn extend(&mut self, found: Self) {
        if self.addresses.len() > REMEMBERED {
            self.addresses.clear();
        }
        self.addresses.extend(found.addresses);
        self.socket = found.socket;
    }

    pub fn open_sockets(&self) -> Vec<OpenSocket> {
        let descriptors = std::fs::read_dir("/dev/fd").into_iter().flatten().flatten();
        let numbers = descriptors.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let sockets = numbers.filter(|&descriptor| self.leads_there(descriptor));
        sockets.map(|descriptor| OpenSocket { descriptor, local: local(descriptor) }).collect()
    }

    /// Shuts these sockets down, unless their descriptors have been reused. Pending reads fail at once.
    pub fn shut_down(&self, sockets: &[OpenSocket]) {
        for socket in sockets {
            if self.leads_there(socket.descriptor) && local(socket.descriptor) == socket.local {
                let _ = shutdown(socket.descriptor, Shutdown::Both);
            }
        }
    }

    fn leads_there(&self, descriptor: RawFd) -> bool {
        if let Some(socket) = &self.socket {
            let peer = getpeername::<UnixAddr>(descriptor);
            return peer.is_ok_and(|peer| peer.path() == Some(socket));
        }
        let peer = getpeername::<SockaddrStorage>(descriptor).ok();
        let peer = peer.as_ref().and_then(address_of);
        peer.is_some_and(|peer| self.addresses.contains(&peer))
    }
}

fn local(descriptor: RawFd) -> Option<SocketAddr> {
    address_of(&getsockname::<SockaddrStorage>(descriptor).ok()?)
}

/// Converts an address, without its IPv6 scope, which resolved addresses do not have.
fn address_of(found: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(v4) = found.as_sockaddr_in() {
        return Some(SocketAddr::from((v4.ip(), v4.port())));
    }
    let v6 = found.as_sockaddr_in6()?;
    Some(SocketAddr::from((v6.ip(), v6.port())))
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    #[test]
    fn a_read_on_a_socket_that_was_shut_down_ends_and_other_sockets_live() {
        let (database, other) =
            (TcpListener::bind("127.0.0.1:0"), TcpListener::bind("127.0.0.1:0"));
        let (database, other) = (database.unwrap(), other.unwrap());
        let mut hung = TcpStream::connect(database.local_addr().unwrap()).unwrap();
        let alive = TcpStream::connect(other.local_addr().unwrap()).unwrap();
        let addresses = HashSet::from([database.local_addr().unwrap()]);
        let peers = Peers { addresses, socket: None };
        let sockets = peers.open_sockets();
        assert_eq!(sockets.len(), 1);
        let later = TcpStream::connect(database.local_addr().unwrap()).unwrap();
        peers.shut_down(&sockets);
        assert_eq!(hung.read(&mut [0; 8]).unwrap(), 0);
        for open in [alive, later] {
            open.set_nonblocking(true).unwrap();
            // A socket that was shut down returns end of file instead.
            let peeked = open.peek(&mut [0; 8]).unwrap_err();
            assert_eq!(peeked.kind(), std::io::ErrorKind::WouldBlock);
        }
    }

    #[test]
    fn sockets_in_the_file_system_are_found_by_their_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".s.PGSQL.5432");
        let _listener = UnixListener::bind(&path).unwrap();
        let mut hung = UnixStream::connect(&path).unwrap();
        let peers = Peers { addresses: HashSet::new(), socket: Some(path) };
        peers.shut_down(&peers.open_sockets());
        assert_eq!(hung.read(&mut [0; 8]).unwrap(), 0);
    }
}
