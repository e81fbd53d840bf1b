//! Requests as visitors send them: each over a TLS connection of its own, with HTTP/2. Connecting is part of the
//! response time.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http2::handshake;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::load::Failure;

pub struct Visits {
    address: SocketAddr,
    name: ServerName<'static>,
    connector: TlsConnector,
}

impl Visits {
    /// `authority` is a file with the certificate that signed the server's.
    pub fn new(address: SocketAddr, name: String, authority: &Path) -> io::Result<Self> {
        let certificate = CertificateDer::from_pem_file(authority).map_err(io::Error::other)?;
        let mut roots = RootCertStore::empty();
        roots.add(certificate).map_err(io::Error::other)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(io::Error::other)?;
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        // Every visitor is a new one.
        config.resumption = Resumption::disabled();
        let name = ServerName::try_from(name).map_err(io::Error::other)?;
        Ok(Self { address, name, connector: TlsConnector::from(Arc::new(config)) })
    }

    pub async fn ask(&self, request: Request<Full<Bytes>>) -> Result<StatusCode, Failure> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let stream = self.connector.connect(self.name.clone(), stream).await?;
        let (mut sender, connection) =
            handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let answer = sender.send_request(request).await?;
        let status = answer.status();
        answer.into_body().collect().await?;
        Ok(status)
    }
}
