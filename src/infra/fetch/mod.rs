//! Fetches home pages of third-party sites, and documents of apps, without giving access to private networks
//! (SSRF). Customers name the host, so name, addresses and response are untrusted. Of a site, only
//! `https://{host}/` and the target of a redirect on that host are requested, on port 443. A name is resolved
//! once, and refused if any of its addresses is not public; the connection is made to a verified address.

pub mod content;
pub mod failure;
pub mod guard;
pub mod post;
pub mod public_address;
pub mod slots;
pub mod tls;

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName,
    LOCATION,
};
use reqwest::{Response, StatusCode};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

use self::content::{Content, MAX_PAGE, Received};
pub use self::failure::{FetchError, Unreadable};
pub use self::guard::BadCertificates;
use self::guard::{Guard, classify};
use crate::config::InstallCheckConfig;

/// Timeout from the DNS lookup to the last byte. It excludes the wait for a permit, which the site does not cause.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(5);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
const PERMIT_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of concurrent fetches of a node: each may keep a page of [`MAX_PAGE`] in memory.
const MAX_AT_ONCE: usize = 64;
const USER_AGENT: &str = "Mozilla/5.0 (compatible; Assent install check)";

#[derive(Debug)]
pub struct Page {
    pub address: Url,
    pub policies: Vec<String>,
    pub content: Content,
    /// The reason for a truncated page; `None` for a complete one.
    pub cut_short: Option<FetchError>,
}

#[derive(Clone)]
pub struct GuardedFetch {
    guard: Arc<Guard>,
    permits: Arc<Semaphore>,
}

impl GuardedFetch {
    pub fn from_config(config: &InstallCheckConfig) -> Result<Self, BadCertificates> {
        Ok(Self {
            guard: Arc::new(Guard::new(
                &config.resolve,
                "INSTALL_CHECK_CA_FILE",
                config.ca_file.as_deref(),
            )?),
            permits: Arc::new(Semaphore::new(MAX_AT_ONCE)),
        })
    }

    /// The page at `https://{host}/`, or the target of a single redirect to the same host, with or
    /// without `www.`. Fails unless the status is 200.
    pub async fn home_page(&self, host: &str) -> Result<Page, FetchError> {
        let Ok(Ok(_permit)) = timeout(PERMIT_TIMEOUT, self.permits.acquire()).await else {
            return Err(FetchError::Busy);
        };
        let deadline = Instant::now() + TOTAL_TIMEOUT;
        let answer = timeout_at(deadline, self.open(host)).await;
        let response = answer.map_err(|_| FetchError::Timeout)??;
        understood(response, deadline).await
    }

    /// A JSON document at an address. Redirects, statuses other than 200 and more than `most` bytes are errors.
    pub async fn document(&self, url: &Url, most: usize) -> Result<Vec<u8>, FetchError> {
        let Ok(Ok(_permit)) = timeout(PERMIT_TIMEOUT, self.permits.acquire()).await else {
            return Err(FetchError::Busy);
        };
        let deadline = Instant::now() + TOTAL_TIMEOUT;
        let got = timeout_at(deadline, self.get(url, "application/json")).await;
        let response = got.map_err(|_| FetchError::Timeout)??;
        match response.status() {
            StatusCode::OK => {}
            status if is_redirect(status) => return Err(FetchError::RedirectElsewhere),
            status => return Err(FetchError::Status(status.as_u16())),
        }
        let (bytes, cut_short) = read(response, deadline, most).await;
        cut_short.map_or(Ok(bytes), Err)
    }

    async fn open(&self, host: &str) -> Result<Response, FetchError> {
        let home = Url::parse(&format!("https://{host}/")).map_err(|_| FetchError::Unresolvable)?;
        let mut response = self.get(&home, "text/html").await?;
        if is_redirect(response.status()) {
            response = self.get(&redirect_target(&home, &response)?, "text/html").await?;
            if is_redirect(response.status()) {
                return Err(FetchError::SecondRedirect);
            }
        }
        match response.status() {
            StatusCode::OK => Ok(response),
            other => Err(FetchError::Status(other.as_u16())),
        }
    }

    async fn get(&self, url: &Url, accepted: &'static str) -> Result<Response, FetchError> {
        let client = self.guard.client(url, CONNECT_TIMEOUT, USER_AGENT).await?;
        let request =
            client.get(url.clone()).header(ACCEPT, accepted).header(ACCEPT_ENCODING, "identity");
        request.send().await.map_err(|error| classify(&error))
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

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

/// Reads the page of a response. Decompression takes milliseconds, so it runs on a blocking thread.
async fn understood(response: Response, deadline: Instant) -> Result<Page, FetchError> {
    let address = response.url().clone();
    let policies = values(&response, CONTENT_SECURITY_POLICY);
    let encodings = values(&response, CONTENT_ENCODING);
    let content_type = values(&response, CONTENT_TYPE).into_iter().next();
    let (bytes, cut_short) = read(response, deadline, MAX_PAGE).await;
    let received = Received { content_type, encodings, bytes, cut_short };
    let understood = tokio::task::spawn_blocking(|| content::understand(received)).await;
    let (content, cut_short) = understood.map_err(|_| FetchError::Broken)?;
    Ok(Page { address, policies, content, cut_short })
}

async fn read(
    mut response: Response,
    deadline: Instant,
    most: usize,
) -> (Vec<u8>, Option<FetchError>) {
    let mut bytes = Vec::new();
    let cut_short = loop {
        match timeout_at(deadline, response.chunk()).await {
            Err(_) => break Some(FetchError::Timeout),
            Ok(Err(_)) => break Some(FetchError::Broken),
            Ok(Ok(None)) => break None,
            Ok(Ok(Some(chunk))) => {
                let room = most - bytes.len();
                bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if chunk.len() > room {
                    break Some(FetchError::TooLarge);
                }
            }
        }
    };
    (bytes, cut_short)
}

fn values(response: &Response, name: HeaderName) -> Vec<String> {
    let values = response.headers().get_all(name).iter();
    values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
}
