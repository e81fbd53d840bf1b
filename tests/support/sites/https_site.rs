//! Customers' sites: a real TLS server whose certificate comes from an authority of the tests.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A certificate authority.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// For the service's setting `INSTALL_CHECK_CA_FILE`.
    file: tempfile::NamedTempFile,
}

impl Authority {
    /// An authority that is not trusted unless configured.
    pub fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let issuer = CertifiedIssuer::self_signed(ca_params(name), key).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), issuer.pem()).unwrap();
        Self { issuer, file }
    }

    pub fn certificate(&self) -> CertificateDer<'static> {
        self.issuer.der().clone()
    }

    pub fn sign(&self, params: CertificateParams, key: &KeyPair) -> CertificateDer<'static> {
        params.signed_by(key, &self.issuer).unwrap().der().clone()
    }

    /// An intermediate authority below this one.
    pub fn intermediate(&self, name: &str) -> CertifiedIssuer<'static, KeyPair> {
        let key = KeyPair::generate().unwrap();
        CertifiedIssuer::signed_by(ca_params(name), key, &self.issuer).unwrap()
    }
}

fn ca_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params
}

/// The authority that signs the certificates of all sites.
pub fn authority() -> &'static Authority {
    static AUTHORITY: OnceLock<Authority> = OnceLock::new();
    AUTHORITY.get_or_init(|| Authority::new("Test authority"))
}

/// The path of the authority's certificate.
pub fn ca_file() -> &'static str {
    authority().file.path().to_str().unwrap()
}

/// How a site answers.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Status, further header lines, body.
    Whole(u16, String, Vec<u8>),
    /// Any of the others, after a while.
    Late(Duration, Box<Reply>),
    /// The beginning of a page, then nothing more while the connection stays open.
    Stalling(String),
    /// The beginning of a page that never ends.
    Endless(String),
    /// The beginning of a page that is announced as longer, then the connection ends.
    BreakingOff(String),
    /// These bytes instead of HTTP.
    Raw(&'static [u8]),
    /// A head, byte after byte, slower than anybody waits.
    Dripping,
    /// Nothing, while the connection stays open.
    Silence,
}

impl Reply {
    pub fn page(body: impl Into<String>) -> Self {
        Self::Whole(200, String::new(), body.into().into_bytes())
    }

    pub fn late(pause: Duration, reply: Self) -> Self {
        Self::Late(pause, Box::new(reply))
    }

    pub fn status(status: u16) -> Self {
        Self::Whole(status, String::new(), b"nothing here".to_vec())
    }

    pub fn redirect(to: &str) -> Self {
        Self::Whole(301, format!("Location: {to}\r\n"), Vec::new())
    }
}

/// A request as a site saw it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Host and path, for example `shop.example/`.
    pub page: String,
    pub head: String,
    pub body: String,
}

impl Seen {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> &str {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let mut values = lines.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        values.next().map_or("", |(_, value)| value.trim())
    }
}

/// A running site, which answers for every host of its certificate.
pub struct HttpsSite {
    pub address: SocketAddr,
    replies: Arc<Mutex<HashMap<String, Reply>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl HttpsSite {
    /// Starts a site with a certificate for these hosts. Pages that no reply was set for are 404.
    pub async fn start(hosts: &[&str]) -> Self {
        let key = KeyPair::generate().unwrap();
        let leaf = authority().sign(leaf_params(hosts), &key);
        Self::start_with(vec![leaf], &key).await
    }

    /// Starts a site that sends this certificate chain; the key belongs to the first certificate.
    pub async fn start_with(chain: Vec<CertificateDer<'static>>, key: &KeyPair) -> Self {
        let acceptor = TlsAcceptor::from(Arc::new(server_config(chain, key)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let site = Self {
            address: listener.local_addr().unwrap(),
            replies: Arc::default(),
            seen: Arc::default(),
        };
        let (replies, seen) = (Arc::clone(&site.replies), Arc::clone(&site.seen));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, replies, seen) =
                    (acceptor.clone(), Arc::clone(&replies), Arc::clone(&seen));
                tokio::spawn(async move { serve(acceptor, stream, &replies, &seen).await });
            }
        });
        site
    }

    /// Sets the reply to a page such as `shop.example/`.
    pub fn answer(&self, page: &str, reply: Reply) {
        self.replies.lock().unwrap().insert(page.to_owned(), reply);
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// `INSTALL_CHECK_RESOLVE` that leads these hosts here.
    pub fn resolve(&self, hosts: &[&str]) -> String {
        let pairs = hosts.iter().map(|host| format!("{host}={}", self.address));
        pairs.collect::<Vec<_>>().join(",")
    }
}

/// The parameters of a certificate for these hosts.
pub fn leaf_params(hosts: &[&str]) -> CertificateParams {
    let names = hosts.iter().map(|&host| host.to_owned()).collect::<Vec<_>>();
    CertificateParams::new(names).unwrap()
}

fn server_config(chain: Vec<CertificateDer<'static>>, key: &KeyPair) -> ServerConfig {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap()
}

async fn serve(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    replies: &Mutex<HashMap<String, Reply>>,
    seen: &Mutex<Vec<Seen>>,
) {
    let Ok(mut stream) = acceptor.accept(stream).await else { return };
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split_whitespace().nth(1).unwrap_or_default();
    let host = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    });
    let page = format!("{}{path}", host.unwrap_or_default());
    let length = head.lines().filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse().ok()).flatten()
    });
    let mut body = vec![0; length.unwrap_or(0)];
    if stream.read_exact(&mut body).await.is_err() {
        return;
    }
    let body = String::from_utf8_lossy(&body).into_owned();
    let reply = replies.lock().unwrap().get(&page).cloned().unwrap_or(Reply::status(404));
    seen.lock().unwrap().push(Seen { page, head, body });
    // A client that has read enough closes the connection, which is no failure of the test.
    let _ = send(&mut stream, reply).await;
    let _ = stream.shutdown().await;
}

async fn send(stream: &mut TlsStream<TcpStream>, reply: Reply) -> std::io::Result<()> {
    const OPEN_END: &[u8] =
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n";
    match reply {
        Reply::Whole(status, lines, body) => {
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} Status\r\n{lines}Content-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).await?;
            stream.write_all(&body).await
        }
        Reply::Late(pause, reply) => {
            tokio::time::sleep(pause).await;
            Box::pin(send(stream, *reply)).await
        }
        Reply::Stalling(start) => {
            stream.write_all(OPEN_END).await?;
            stream.write_all(start.as_bytes()).await?;
            stream.flush().await?;
            std::future::pending().await
        }
        Reply::Endless(start) => {
            stream.write_all(OPEN_END).await?;
            stream.write_all(start.as_bytes()).await?;
            loop {
                stream.write_all(&[b' '; 16 * 1024]).await?;
            }
        }
        Reply::BreakingOff(start) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n").await?;
            stream.write_all(start.as_bytes()).await
        }
        Reply::Raw(bytes) => stream.write_all(bytes).await,
        Reply::Dripping => {
            for byte in OPEN_END {
                stream.write_all(&[*byte]).await?;
                stream.flush().await?;
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            Ok(())
        }
        Reply::Silence => std::future::pending().await,
    }
}
