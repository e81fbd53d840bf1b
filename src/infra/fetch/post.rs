//! Posts to customers' servers without giving access to private networks (SSRF). The address is
//! untrusted: only HTTPS to a public host, no redirects, and a bounded response.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use reqwest::{Client, Response};
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

use super::failure::FetchError;
use super::guard::{BadCertificates, Guard, classify};
use crate::config::WebhookConfig;

/// Timeout from the start of a post to the head of its response.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(15);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for the body of the response, after its head has arrived. The body is only displayed to people.
const BODY_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of bytes read from a response. A response is read to its end so that its connection can be reused.
const MAX_ANSWER: usize = 64 << 10;
const KEPT: usize = 1 << 10;
const USER_AGENT: &str = "Assent webhooks";

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub beginning: Vec<u8>,
}

#[derive(Clone)]
pub struct GuardedPost {
    guard: Arc<Guard>,
    pub total_timeout: Duration,
}

/// A server whose addresses were checked. Connections to it are kept open for the next post.
#[derive(Clone)]
pub struct Destination {
    client: Client,
    url: Url,
    total_timeout: Duration,
}

impl GuardedPost {
    pub fn from_config(config: &WebhookConfig) -> Result<Self, BadCertificates> {
        let guard = Guard::new(&config.resolve, "WEBHOOK_CA_FILE", config.ca_file.as_deref())?;
        Ok(Self { guard: Arc::new(guard), total_timeout: TOTAL_TIMEOUT })
    }

    /// Resolves and checks the server. The result may be used for some seconds.
    pub async fn find(&self, url: &Url) -> Result<Destination, FetchError> {
        let (url, total_timeout) = (url.clone(), self.total_timeout);
        let looking = self.guard.client(&url, CONNECT_TIMEOUT, USER_AGENT);
        let client = timeout(CONNECT_TIMEOUT, looking).await;
        let client = client.map_err(|_| FetchError::Unresolvable)??;
        Ok(Destination { client, url, total_timeout })
    }
}

impl Destination {
    /// Posts a body. Any response counts as a reply, including a redirect; fails only without a response.
    pub async fn post(&self, headers: HeaderMap, body: Vec<u8>) -> Result<Reply, FetchError> {
        let deadline = Instant::now() + self.total_timeout;
        let sending = self.client.post(self.url.clone()).headers(headers).body(body).send();
        let answer = timeout_at(deadline, sending).await.map_err(|_| FetchError::Timeout)?;
        let response = answer.map_err(|error| classify(&error))?;
        let status = response.status().as_u16();
        let time_limit = deadline.min(Instant::now() + BODY_TIMEOUT);
        Ok(Reply { status, beginning: beginning(response, time_limit).await })
    }
}

async fn beginning(mut response: Response, deadline: Instant) -> Vec<u8> {
    let (mut read, mut kept) = (0, Vec::new());
    while read < MAX_ANSWER
        && let Ok(Ok(Some(chunk))) = timeout_at(deadline, response.chunk()).await
    {
        read += chunk.len();
        kept.extend_from_slice(&chunk[..chunk.len().min(KEPT - kept.len())]);
    }
    kept
}
