use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, redirect};
use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use url::{Host, Url};

use super::failure::FetchError;
use super::public_address::is_public;
use super::tls::{ExplainingVerifier, TlsFault};

/// Time after which an unused connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
#[error("{setting}: {path} holds no usable PEM certificate")]
pub struct BadCertificates {
    setting: &'static str,
    path: PathBuf,
}

pub struct Guard {
    tls: ClientConfig,
    given_addresses: HashMap<String, SocketAddr>,
}

impl Guard {
    /// `setting` is the name of the setting that `ca_file` comes from.
    pub fn new(
        given_addresses: &HashMap<String, SocketAddr>,
        setting: &'static str,
        ca_file: Option<&Path>,
    ) -> Result<Self, BadCertificates> {
        let tls = tls_config(ca_file)
            .map_err(|path| BadCertificates { setting, path: path.to_owned() })?;
        Ok(Self { tls, given_addresses: given_addresses.clone() })
    }

    /// A client for one host, which connects only to the public addresses to which the host resolves now.
    pub async fn client(
        &self,
        url: &Url,
        connect_timeout: Duration,
        user_agent: &str,
    ) -> Result<Client, FetchError> {
        let Some(Host::Domain(host)) = url.host() else { return Err(FetchError::NotPublic) };
        let addresses = match self.given_addresses.get(host) {
            Some(&given) => vec![given],
            None => resolve_public(host, url.port_or_known_default().unwrap_or(443)).await?,
        };
        let client = Client::builder()
            .tls_backend_preconfigured(self.tls.clone())
            .https_only(true)
            .no_proxy()
            .redirect(redirect::Policy::none())
            .resolve_to_addrs(host, &addresses)
            .connect_timeout(connect_timeout)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .user_agent(user_agent)
            .build();
        client.map_err(|error| {
            tracing::error!(%error, "no client for an address of a customer");
            FetchError::Connect
        })
    }
}

/// Resolves a name. Fails if any of its addresses is not public, with the error of an unknown name, so
/// that names of an internal DNS are not disclosed. Only names that are always local (RFC 6761) are
/// reported as not public.
pub async fn resolve_public(host: &str, port: u16) -> Result<Vec<SocketAddr>, FetchError> {
    if host == "localhost" || host.ends_with(".localhost") {
        return Err(FetchError::NotPublic);
    }
    // The trailing dot prevents the resolver from trying the machine's search domains.
    let name = if host.contains('.') { format!("{host}.") } else { host.to_owned() };
    let found = tokio::net::lookup_host((name, port)).await;
    public_only(found.map_err(|_| FetchError::Unresolvable)?.collect())
}

fn public_only(addresses: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, FetchError> {
    let is_public = addresses.iter().all(|address| is_public(address.ip()));
    if is_public && !addresses.is_empty() { Ok(addresses) } else { Err(FetchError::Unresolvable) }
}

fn tls_config(ca_file: Option<&Path>) -> Result<ClientConfig, &Path> {
    let mut roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    if let Some(path) = ca_file {
        let certificates = CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|_| path)?;
        if certificates.is_empty() {
            return Err(path);
        }
        for certificate in certificates {
            roots.add(certificate).map_err(|_| path)?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
        .build()
        .expect("there are trusted roots and no revocation lists");
    let algorithms = provider.signature_verification_algorithms;
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring knows TLS 1.2 and 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(ExplainingVerifier { inner, algorithms }))
        .with_no_client_auth())
}

pub fn classify(error: &reqwest::Error) -> FetchError {
    match TlsFault::behind(error) {
        _ if error.is_timeout() => FetchError::Timeout,
        Some(fault) => FetchError::Tls(fault),
        None if error.is_connect() => FetchError::Connect,
        None => FetchError::Broken,
    }
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
        assert_eq!(public_only(mixed), Err(FetchError::Unresolvable));
        let clean = addresses(&["1.1.1.1", "2606:4700::1111"]);
        assert_eq!(public_only(clean.clone()), Ok(clean));
        assert_eq!(public_only(Vec::new()), Err(FetchError::Unresolvable));
    }

    #[tokio::test]
    async fn a_name_of_an_internal_network_is_refused_like_an_unknown_one() {
        let private = public_only(addresses(&["10.0.0.1"]));
        let inner = public_only(addresses(&["fd00::1", "169.254.169.254"]));
        let missing = resolve_public("nowhere.invalid", 443).await;
        assert!(private == missing && inner == missing, "{private:?} {inner:?} {missing:?}");
        assert_eq!(resolve_public("private.localhost", 443).await, Err(FetchError::NotPublic));
    }

    #[tokio::test]
    async fn the_machines_own_name_leads_to_no_public_address() {
        assert_eq!(resolve_public("localhost", 443).await, Err(FetchError::NotPublic));
    }
}
