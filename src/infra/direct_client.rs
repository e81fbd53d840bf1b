use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, redirect};
use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, RootCertStore};

/// A client without redirects and proxies, because requests may contain credentials. Trusted roots are compiled in.
pub fn direct_client(connect_timeout: Duration, total_timeout: Duration) -> Client {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let tls = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring knows the default versions of TLS")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(redirect::Policy::none())
        .no_proxy()
        .connect_timeout(connect_timeout)
        .timeout(total_timeout)
        .user_agent(concat!("assent/", env!("CARGO_PKG_VERSION")))
        .build()
        .expect("reqwest takes the TLS settings of the rustls that it is built with")
}
