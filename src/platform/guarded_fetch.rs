//! Fetches home pages of other people's sites without becoming a way into private networks.
//!
//! A customer names the host, so the name, the addresses behind it and everything that comes back
//! are a stranger's choice. Only `https://{host}/` on port 443 is asked. A name is resolved once,
//! refused as a whole if any of its addresses is not public, and the addresses that were looked
//! at are the ones that are connected to.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, LOCATION};
use reqwest::{Client, Response, StatusCode, redirect};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use url::{Host, Url};

use super::public_address::is_public;
use crate::config::InstallCheckConfig;

/// From the first look at the name to the last byte of the page.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(5);
/// For the connection and its TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Bytes of a page that are read at most.
const MAX_PAGE: usize = 1 << 20;
/// Fetches that a node makes at a time: each may hold a page of [`MAX_PAGE`] in memory.
const MAX_AT_ONCE: usize = 64;
const USER_AGENT: &str = "Mozilla/5.0 (compatible; Assent install check)";

/// Why a page could not be had, as a phrase that says nothing of what a server answered beyond
/// its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    #[error("the host name could not be resolved")]
    Unresolvable,
    #[error("the host name leads to an address that is not public")]
    NotPublic,
    #[error("the connection failed")]
    Connect,
    #[error("the TLS handshake failed")]
    Tls,
    #[error("no complete answer in time")]
    Timeout,
    #[error("the answer broke off")]
    Broken,
    #[error("the page answered with status {0}")]
    Status(u16),
    #[error("the page redirects elsewhere")]
    RedirectElsewhere,
    #[error("the page redirects more than once")]
    SecondRedirect,
    #[error("the page is larger than 1 MiB")]
    TooLarge,
    /// Nothing that the site did: too many pages are being fetched already.
    #[error("too many fetches at once")]
    Busy,
}

/// A page of status 200, as far as it was read.
#[derive(Debug)]
pub struct Page {
    pub bytes: Vec<u8>,
    /// Why the rest is missing; `None` for a whole page.
    pub cut_short: Option<FetchError>,
}

/// The certificates of `INSTALL_CHECK_CA_FILE` cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("INSTALL_CHECK_CA_FILE: {path} holds no usable PEM certificate")]
pub struct BadCertificates {
    path: PathBuf,
}

/// Fetches home pages. Clones share their limits.
#[derive(Clone)]
pub struct GuardedFetch {
    tls: ClientConfig,
    given_addresses: Arc<HashMap<String, SocketAddr>>,
    places: Arc<Semaphore>,
}

impl GuardedFetch {
    pub fn from_config(config: &InstallCheckConfig) -> Result<Self, BadCertificates> {
        Ok(Self {
            tls: tls_config(config.ca_file.as_deref())?,
            given_addresses: Arc::new(config.resolve.clone()),
            places: Arc::new(Semaphore::new(MAX_AT_ONCE)),
        })
    }

    /// The page at `https://{host}/`, or where it redirects to once on the same host, with or
    /// without `www.`.
    ///
    /// Takes at most [`TOTAL_TIMEOUT`]; an error is any ending but a page of status 200.
    pub async fn home_page(&self, host: &str) -> Result<Page, FetchError> {
        let deadline = Instant::now() + TOTAL_TIMEOUT;
        let Ok(Ok(_place)) = timeout_at(deadline, self.places.acquire()).await else {
            return Err(FetchError::Busy);
        };
        let answer = timeout_at(deadline, self.open(host)).await;
        let response = answer.map_err(|_| FetchError::Timeout)??;
        Ok(read(response, deadline).await)
    }

    /// The answer of status 200, its body still to come.
    async fn open(&self, host: &str) -> Result<Response, FetchError> {
        let home = Url::parse(&format!("https://{host}/")).map_err(|_| FetchError::Unresolvable)?;
        let mut response = self.get(&home).await?;
        if is_redirect(response.status()) {
            response = self.get(&redirect_target(&home, &response)?).await?;
            if is_redirect(response.status()) {
                return Err(FetchError::SecondRedirect);
            }
        }
        match response.status() {
            StatusCode::OK => Ok(response),
            other => Err(FetchError::Status(other.as_u16())),
        }
    }

    async fn get(&self, url: &Url) -> Result<Response, FetchError> {
        let Some(Host::Domain(host)) = url.host() else { return Err(FetchError::NotPublic) };
        let addresses = match self.given_addresses.get(host) {
            Some(&given) => vec![given],
            None => resolve_public(host).await?,
        };
        let client = self.client(host, &addresses).map_err(|error| {
            tracing::error!(%error, "no client for the install check");
            FetchError::Connect
        })?;
        let request = client
            .get(url.clone())
            .header(ACCEPT, "text/html")
            // What is compressed would have to be unpacked to be searched, to any size.
            .header(ACCEPT_ENCODING, "identity");
        request.send().await.map_err(|error| classify(&error))
    }

    /// A client that knows one name and only the addresses given for it.
    fn client(&self, host: &str, addresses: &[SocketAddr]) -> reqwest::Result<Client> {
        Client::builder()
            .tls_backend_preconfigured(self.tls.clone())
            .https_only(true)
            .no_proxy()
            .redirect(redirect::Policy::none())
            .resolve_to_addrs(host, addresses)
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(USER_AGENT)
            .build()
    }
}

/// Resolves a name to addresses on port 443, or refuses it if a single one of them is not public.
async fn resolve_public(host: &str) -> Result<Vec<SocketAddr>, FetchError> {
    // The dot keeps the resolver from trying the machine's own search domains.
    let name = if host.contains('.') { format!("{host}.") } else { host.to_owned() };
    let found = tokio::net::lookup_host((name, 443)).await;
    public_only(found.map_err(|_| FetchError::Unresolvable)?.collect())
}

fn public_only(addresses: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, FetchError> {
    if addresses.is_empty() {
        return Err(FetchError::Unresolvable);
    }
    match addresses.iter().all(|address| is_public(address.ip())) {
        true => Ok(addresses),
        false => Err(FetchError::NotPublic),
    }
}

fn tls_config(ca_file: Option<&Path>) -> Result<ClientConfig, BadCertificates> {
    let mut roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    if let Some(path) = ca_file {
        let bad = || BadCertificates { path: path.to_owned() };
        let certificates = CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|_| bad())?;
        if certificates.is_empty() {
            return Err(bad());
        }
        for certificate in certificates {
            roots.add(certificate).map_err(|_| bad())?;
        }
    }
    Ok(ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring knows TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth())
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Where a redirect leads, if that is the same site over HTTPS on its usual port.
fn redirect_target(from: &Url, response: &Response) -> Result<Url, FetchError> {
    let location = response.headers().get(LOCATION).map(|value| value.as_bytes());
    let target = location
        .and_then(|location| from.join(&String::from_utf8_lossy(location)).ok())
        .ok_or(FetchError::Status(response.status().as_u16()))?;
    let is_plain = target.scheme() == "https"
        && target.port().is_none()
        && target.username().is_empty()
        && target.password().is_none();
    match is_plain && bare_host(&target) == bare_host(from) {
        true => Ok(target),
        false => Err(FetchError::RedirectElsewhere),
    }
}

fn bare_host(url: &Url) -> Option<&str> {
    url.host_str().map(|host| host.strip_prefix("www.").unwrap_or(host))
}

async fn read(mut response: Response, deadline: Instant) -> Page {
    let mut bytes = Vec::new();
    let cut_short = loop {
        match timeout_at(deadline, response.chunk()).await {
            Err(_) => break Some(FetchError::Timeout),
            Ok(Err(_)) => break Some(FetchError::Broken),
            Ok(Ok(None)) => break None,
            Ok(Ok(Some(chunk))) => {
                let room = MAX_PAGE - bytes.len();
                bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if chunk.len() > room {
                    break Some(FetchError::TooLarge);
                }
            }
        }
    };
    Page { bytes, cut_short }
}

fn classify(error: &reqwest::Error) -> FetchError {
    match () {
        () if error.is_timeout() => FetchError::Timeout,
        () if has_tls_cause(error) => FetchError::Tls,
        () if error.is_connect() => FetchError::Connect,
        () => FetchError::Broken,
    }
}

/// Whether TLS is to blame: its error travels inside I/O errors, whose `source` passes over it.
fn has_tls_cause(error: &(dyn StdError + 'static)) -> bool {
    let inside = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    error.is::<rustls::Error>()
        || inside.is_some_and(|inside| has_tls_cause(inside))
        || error.source().is_some_and(has_tls_cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(list: &[&str]) -> Vec<SocketAddr> {
        list.iter().map(|text| SocketAddr::new(text.parse().unwrap(), 443)).collect()
    }

    #[test]
    fn one_private_address_among_public_ones_refuses_the_name() {
        let mixed = addresses(&["1.1.1.1", "10.0.0.1", "2606:4700::1111"]);
        assert_eq!(public_only(mixed), Err(FetchError::NotPublic));
        let clean = addresses(&["1.1.1.1", "2606:4700::1111"]);
        assert_eq!(public_only(clean.clone()), Ok(clean));
        assert_eq!(public_only(Vec::new()), Err(FetchError::Unresolvable));
    }

    #[tokio::test]
    async fn the_machines_own_name_leads_to_no_public_address() {
        assert_eq!(resolve_public("localhost").await, Err(FetchError::NotPublic));
    }
}
