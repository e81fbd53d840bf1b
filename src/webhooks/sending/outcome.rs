use std::time::Duration;

use chrono::{DateTime, Utc};

use super::pauses;
use crate::infra::fetch::FetchError;
use crate::infra::fetch::post::Reply;
use crate::webhooks::store::waiting::{DueDelivery, Settled};

/// Characters of a response that are kept.
const SHOWN: usize = 200;
/// The status by which a server unsubscribes.
const GONE: u16 = 410;

/// The result of an attempt.
pub enum Outcome {
    Delivered(Reply),
    /// Another status, or no response.
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

impl Attempted {
    pub fn is_delivered(&self) -> bool {
        matches!(self.outcome, Outcome::Delivered(_))
    }

    pub fn is_not_needed(&self) -> bool {
        matches!(self.outcome, Outcome::NotNeeded)
    }

    /// The label in the metrics.
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
            partition_key: self.due.partition_key.clone(),
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
