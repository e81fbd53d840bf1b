//! A SOCKS5 proxy (RFC 1928) between a node's browser and the network. It resolves every name itself, and
//! refuses addresses that are not public.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use url::Url;

use crate::infra::fetch::guard::resolve_public;
use crate::infra::fetch::public_address::is_public;

/// Maximum number of simultaneous connections; a browser opens a few hundred at most.
const MAX_CONNECTIONS: usize = 512;
const HANDSHAKE: Duration = Duration::from_secs(5);
const CONNECT: Duration = Duration::from_secs(5);

const VERSION: u8 = 5;
const CONNECT_COMMAND: u8 = 1;
const SUCCEEDED: u8 = 0;
const NOT_ALLOWED: u8 = 2;
const UNREACHABLE: u8 = 4;

/// The addresses that may be reached besides public ones.
#[derive(Clone, Debug, Default)]
pub struct Exceptions {
    /// The service itself, by host and port.
    pub service: Option<(String, u16)>,
    /// Hosts with a fixed address (`INSTALL_CHECK_RESOLVE`).
    pub given: HashMap<String, SocketAddr>,
}

impl Exceptions {
    pub fn new(base_url: Option<&str>, given: &HashMap<String, SocketAddr>) -> Self {
        let service = base_url.and_then(|url| Url::parse(url).ok());
        let service = service
            .and_then(|url| Some((url.host_str()?.to_owned(), url.port_or_known_default()?)));
        Self { service, given: given.clone() }
    }
}

/// A listening proxy, which stops when dropped.
pub struct FilteringProxy {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl FilteringProxy {
    pub async fn open(exceptions: Exceptions) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let accepting = tokio::spawn(accept(listener, Arc::new(exceptions)));
        Ok(Self { address, accepting })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for FilteringProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, exceptions: Arc<Exceptions>) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let Ok((browser, _)) = listener.accept().await else { continue };
        let exceptions = Arc::clone(&exceptions);
        tokio::spawn(async move {
            let _permit = permit;
            let _ = pass(browser, &exceptions).await;
        });
    }
}

async fn pass(mut browser: TcpStream, exceptions: &Exceptions) -> io::Result<()> {
    let asked = timeout(HANDSHAKE, asked(&mut browser)).await;
    let (host, port) = asked.map_err(|_| io::ErrorKind::TimedOut)??;
    let addresses = allowed(&host, port, exceptions).await;
    if addresses.is_empty() {
        return answer(&mut browser, NOT_ALLOWED).await;
    }
    for address in addresses {
        if let Ok(Ok(mut server)) = timeout(CONNECT, TcpStream::connect(address)).await {
            answer(&mut browser, SUCCEEDED).await?;
            let _ = server.set_nodelay(true);
            return copy_bidirectional(&mut browser, &mut server).await.map(drop);
        }
    }
    answer(&mut browser, UNREACHABLE).await
}

/// The host and port to which the browser wants to connect.
async fn asked(browser: &mut TcpStream) -> io::Result<(String, u16)> {
    let malformed = || io::Error::from(io::ErrorKind::InvalidData);
    let (version, methods) = (browser.read_u8().await?, browser.read_u8().await?);
    if version != VERSION {
        return Err(malformed());
    }
    browser.read_exact(&mut vec![0; methods.into()]).await?;
    browser.write_all(&[VERSION, 0]).await?;
    let mut head = [0; 4];
    browser.read_exact(&mut head).await?;
    if head[..2] != [VERSION, CONNECT_COMMAND] {
        return Err(malformed());
    }
    let host = match head[3] {
        1 => Ipv4Addr::from_bits(browser.read_u32().await?).to_string(),
        4 => Ipv6Addr::from_bits(browser.read_u128().await?).to_string(),
        3 => {
            let mut name = vec![0; browser.read_u8().await?.into()];
            browser.read_exact(&mut name).await?;
            String::from_utf8(name).map_err(|_| malformed())?
        }
        _ => return Err(malformed()),
    };
    Ok((host.trim_end_matches('.').to_ascii_lowercase(), browser.read_u16().await?))
}

async fn answer(browser: &mut TcpStream, reply: u8) -> io::Result<()> {
    browser.write_all(&[VERSION, reply, 0, 1, 0, 0, 0, 0, 0, 0]).await
}

/// The addresses of a host that may be reached. Empty if any of them is not public.
async fn allowed(host: &str, port: u16, exceptions: &Exceptions) -> Vec<SocketAddr> {
    if let Some(&given) = exceptions.given.get(host) {
        return vec![given];
    }
    let bare = host.trim_matches(['[', ']']);
    let is_service = exceptions
        .service
        .as_ref()
        .is_some_and(|(name, own_port)| (name.trim_matches(['[', ']']), *own_port) == (bare, port));
    if is_service {
        return lookup_host((bare, port)).await.map(Iterator::collect).unwrap_or_default();
    }
    match bare.parse::<IpAddr>() {
        Ok(address) if is_public(address) => vec![SocketAddr::new(address, port)],
        Ok(_) => Vec::new(),
        Err(_) => resolve_public(host, port).await.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_public_addresses_the_service_and_given_hosts_are_reached() {
        let given = "127.0.0.1:8443".parse().unwrap();
        let exceptions = Exceptions::new(
            Some("http://localhost:8000"),
            &HashMap::from([("shop.example".to_owned(), given)]),
        );
        assert_eq!(allowed("shop.example", 443, &exceptions).await, [given]);
        assert_ne!(allowed("localhost", 8000, &exceptions).await, []);
        assert_eq!(allowed("1.1.1.1", 80, &exceptions).await.len(), 1);
        let refused = [
            ("localhost", 8001),
            ("127.0.0.1", 8000),
            ("a.localhost", 80),
            ("169.254.169.254", 80),
            ("10.1.2.3", 443),
            ("::1", 80),
            ("[::1]", 80),
            ("::ffff:127.0.0.1", 80),
            ("nowhere.invalid", 80),
        ];
        for (host, port) in refused {
            assert_eq!(allowed(host, port, &exceptions).await, [], "{host}");
        }
    }
}
