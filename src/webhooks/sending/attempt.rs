use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use url::Url;
use uuid::Uuid;

use super::bodies::Made;
use super::pauses;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::fetch::FetchError;
use crate::infra::fetch::post::{Destination, Reply};
use crate::webhooks::format::Format;
use crate::webhooks::signing::{self, SigningSecret};
use crate::webhooks::store::waiting::{DueDelivery, Settled};

const SHOWN: usize = 200;
const GONE: u16 = 410;

#[derive(Clone)]
pub struct Target {
    pub destination: Result<Destination, FetchError>,
    pub secrets: Vec<SigningSecret>,
    pub format: Format,
}

impl Target {
    pub async fn find(
        infra: &Infra,
        url: &str,
        format: &str,
        secrets: Vec<SigningSecret>,
    ) -> Result<Self> {
        let url = Url::parse(url).map_err(Error::internal)?;
        Self::at(infra.webhook_post.find(&url).await, format, secrets)
    }

    pub fn at(
        destination: Result<Destination, FetchError>,
        format: &str,
        secrets: Vec<SigningSecret>,
    ) -> Result<Self> {
        let format = Format::parse(format);
        let format = format.ok_or_else(|| Error::internal("a format of a newer version"))?;
        Ok(Self { destination, secrets, format })
    }
}

pub enum Outcome {
    Delivered(Reply),
    Failed(Result<Reply, FetchError>),
    /// The body could not be built, which is not the endpoint's fault.
    Unmade,
    NotNeeded,
}

pub struct Attempted {
    pub due: DueDelivery,
    pub at: DateTime<Utc>,
    pub took: Duration,
    pub outcome: Outcome,
}

pub async fn attempt(infra: &Infra, target: &Target, due: DueDelivery, body: Made) -> Attempted {
    let (at, begun) = (infra.clock.now(), Instant::now());
    let outcome = match body {
        Made::Body(body) => post(target, due.event_id, at, body).await.unwrap_or_else(|error| {
            tracing::error!(?error, kind = due.kind, "a webhook could not be signed");
            Outcome::Unmade
        }),
        Made::NotNeeded => Outcome::NotNeeded,
        Made::Failed => Outcome::Unmade,
    };
    Attempted { due, at, took: begun.elapsed(), outcome }
}

async fn post(target: &Target, id: Uuid, at: DateTime<Utc>, body: Vec<u8>) -> Result<Outcome> {
    let headers = signing::headers(&target.secrets, &message_id(id), at.timestamp(), &body)?;
    let answer = match &target.destination {
        Ok(destination) => destination.post(headers, body).await,
        Err(error) => Err(*error),
    };
    Ok(match answer {
        Ok(reply) if (200..300).contains(&reply.status) => Outcome::Delivered(reply),
        other => Outcome::Failed(other),
    })
}

/// The same for every endpoint and attempt, so that receivers can deduplicate.
pub fn message_id(event_id: Uuid) -> String {
    format!("evt_{}", event_id.simple())
}

impl Attempted {
    pub fn is_delivered(&self) -> bool {
        matches!(self.outcome, Outcome::Delivered(_))
    }

    pub fn is_not_needed(&self) -> bool {
        matches!(self.outcome, Outcome::NotNeeded)
    }

    pub fn result(&self) -> &'static str {
        match self.outcome {
            Outcome::Delivered(_) => "delivered",
            Outcome::Failed(Ok(_)) => "refused",
            Outcome::Failed(Err(_)) => "unanswered",
            Outcome::Unmade => "unmade",
            Outcome::NotNeeded => "not_needed",
        }
    }

    pub fn has_failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed(_))
    }

    pub fn says_gone(&self) -> bool {
        matches!(&self.outcome, Outcome::Failed(Ok(reply)) if reply.status == GONE)
    }

    /// The result to store; `None` for an obsolete delivery.
    pub fn settled(&self) -> Option<Settled> {
        let (reply, failure) = match &self.outcome {
            Outcome::NotNeeded => return None,
            Outcome::Delivered(reply) => (Some(reply), None),
            Outcome::Failed(Ok(reply)) => (Some(reply), None),
            Outcome::Failed(Err(error)) => (None, Some(error.to_string())),
            Outcome::Unmade => (None, Some("the body could not be made".to_owned())),
        };
        let failing_since = self.due.failing_since.unwrap_or(self.at);
        let next = pauses::next_attempt(self.at, failing_since, self.due.attempts + 1);
        Some(Settled {
            place: self.due.place.clone(),
            seq: self.due.seq,
            attempted_at: self.at,
            is_delivered: self.is_delivered(),
            next_attempt_at: next.filter(|_| !self.is_delivered()),
            status: reply.map(|reply| reply.status.into()),
            answer: reply.map(|reply| shown(&reply.beginning)),
            failure,
        })
    }
}

fn shown(beginning: &[u8]) -> String {
    let text = String::from_utf8_lossy(beginning);
    let is_shown = |character: char| {
        !character.is_whitespace()
            && !character.is_control()
            && character != char::REPLACEMENT_CHARACTER
    };
    let words = text.split(|character| !is_shown(character)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_answer_one_line_is_kept() {
        assert_eq!(shown(b"  <p>\r\n\tNo\x1b[31m \xff\0 such thing"), "<p> No [31m such thing");
        assert_eq!(shown("ä".repeat(300).as_bytes()).chars().count(), 200);
        assert_eq!(shown(b""), "");
    }
}
