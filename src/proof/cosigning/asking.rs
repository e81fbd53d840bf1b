//! Requests to one witness (c2sp.org/tlog-witness). Its address is a setting of the operator, so it
//! may be private. The response is trusted only as far as it is signed.

use std::time::Duration;

use reqwest::{Client, RequestBuilder};
use ring::digest::{SHA256, digest};
use tokio::time::{Instant, timeout_at};

use crate::infra::direct_client::direct_client;
use crate::infra::fetch::FetchError;
use crate::infra::fetch::guard::classify;
use crate::proof::format::cosignature::Cosigner;
use crate::proof::format::submission::{SIZE_TYPE, Submission, parse_size};

pub const TIMEOUT: Duration = Duration::from_secs(5);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
const MAX_ANSWER: usize = 64 << 10;
/// Tolerated difference between the clocks of this node and of a witness, in seconds.
const FAR: u64 = 3_600;

#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error(transparent)]
    Unanswered(#[from] FetchError),
    #[error("its answer is longer than 64 KiB")]
    TooLong,
    #[error("it answered with status {0}")]
    Status(u16),
    #[error("it answered without a cosignature of its key on this checkpoint")]
    NoCosignature,
    #[error("its clock is more than an hour from ours")]
    FarOff,
    #[error("it asks for another size again and again")]
    Undecided,
    #[error("it says that it has seen another log of this name, which is as long or longer")]
    OtherLog,
    #[error("the database: {0}")]
    Database(#[from] crate::error::Error),
}

pub struct AskedWitness {
    pub name: String,
    pub key: String,
    pub(super) cosigner: Cosigner,
    url: String,
    client: Client,
}

pub enum Reply {
    Cosigned(String),
    Knows(u64),
    OtherRoot,
}

pub enum Seen {
    Nothing,
    /// A note, whose signatures have yet to be checked.
    Note(String),
    /// A size only; the witness does not show the checkpoint.
    Size(u64),
}

struct Answer {
    status: u16,
    is_size: bool,
    text: String,
}

impl AskedWitness {
    pub fn new(name: &str, key: &str, cosigner: Cosigner, url: &str, client: Client) -> Self {
        let (name, key) = (name.to_owned(), key.to_owned());
        let url = url.trim_end_matches('/').to_owned();
        Self { name, key, cosigner, url, client }
    }

    /// Submits a checkpoint; `now` is this node's time in seconds since 1970.
    pub async fn submit(
        &self,
        submission: &Submission<'_>,
        text: &str,
        now: u64,
        deadline: Instant,
    ) -> Result<Reply, AskError> {
        let asked = self.client.post(format!("{}/add-checkpoint", self.url));
        let answer = read(asked.body(submission.to_string()), deadline).await?;
        match (answer.status, answer.size()) {
            (200, _) => {
                let found = self.cosigner.find(text, &answer.text);
                let (line, time) = found.ok_or(AskError::NoCosignature)?;
                let is_near = time.abs_diff(now) <= FAR;
                is_near.then(|| Reply::Cosigned(line.to_owned())).ok_or(AskError::FarOff)
            }
            (409, Some(size)) => Ok(Reply::Knows(size)),
            (409, None) => Ok(Reply::OtherRoot),
            (status, _) => Err(AskError::Status(status)),
        }
    }

    /// The state that the witness knows. A witness that does not show it is sent `signed`, and answers with its size.
    pub async fn look(
        &self,
        origin: &str,
        signed: Option<&str>,
        deadline: Instant,
    ) -> Result<Seen, AskError> {
        let name = hex::encode(digest(&SHA256, origin.as_bytes()));
        let asked = self.client.get(format!("{}/{name}/checkpoint", self.url));
        let answer = read(asked, deadline).await?;
        match (answer.status, signed) {
            (200, _) => Ok(Seen::Note(answer.text)),
            (404, None) => Ok(Seen::Nothing),
            (404, Some(checkpoint)) => self.ask_size(checkpoint, deadline).await,
            (status, _) => Err(AskError::Status(status)),
        }
    }

    async fn ask_size(&self, checkpoint: &str, deadline: Instant) -> Result<Seen, AskError> {
        let from_nothing = Submission { old: 0, path: Vec::new(), checkpoint };
        let asked = self.client.post(format!("{}/add-checkpoint", self.url));
        let answer = read(asked.body(from_nothing.to_string()), deadline).await?;
        match (answer.status, answer.size()) {
            (409, Some(size)) => Ok(Seen::Size(size)),
            // It has not seen any state before, or does not know the log.
            (200 | 403 | 404, _) => Ok(Seen::Nothing),
            (status, _) => Err(AskError::Status(status)),
        }
    }
}

impl Answer {
    fn size(&self) -> Option<u64> {
        self.is_size.then(|| parse_size(self.text.strip_suffix('\n')?))?
    }
}

async fn read(asked: RequestBuilder, deadline: Instant) -> Result<Answer, AskError> {
    let sending = timeout_at(deadline, asked.send()).await;
    let answer = sending.map_err(|_| FetchError::Timeout)?;
    let mut response = answer.map_err(|error| classify(&error))?;
    let kind = response.headers().get(reqwest::header::CONTENT_TYPE);
    let is_size = kind.is_some_and(|kind| kind.as_bytes() == SIZE_TYPE.as_bytes());
    let (status, mut bytes) = (response.status().as_u16(), Vec::new());
    loop {
        let chunk = timeout_at(deadline, response.chunk()).await;
        let chunk = chunk.map_err(|_| FetchError::Timeout)?.map_err(|_| FetchError::Broken)?;
        let Some(chunk) = chunk else { break };
        if bytes.len() + chunk.len() > MAX_ANSWER {
            return Err(AskError::TooLong);
        }
        bytes.extend_from_slice(&chunk);
    }
    let text = String::from_utf8(bytes).map_err(|_| FetchError::Broken)?;
    Ok(Answer { status, is_size, text })
}

pub fn client() -> Client {
    direct_client(CONNECT_TIMEOUT, TIMEOUT)
}
