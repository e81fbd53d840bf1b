//! Every mail goes through here: a row that is written in the transaction which causes the mail, one
//! attempt right after it, and further ones by any node for a day.
//!
//! A row holds ids, and sealed what must not lie in the clear. The letter is written anew for every
//! attempt, by the feature that knows the kind of mail; one whose subject is gone is not sent.

mod mail;
mod pause;
pub mod store;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::Duration;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

pub use self::mail::{ClaimedMail, Draft, Kind, NewMail};
use super::ending::Ending;
use super::metrics::OutboxMetrics;
use super::sealing::{Purpose, Sealer};
use super::smtp::{Letter, MailError, Mailer};
use crate::clock::Clock;
use crate::config::Secret;
use crate::error::{Error, Result};
use crate::types::ids::uuid_v7;

/// How long an attempt is one node's alone: longer than it waits for a connection and the mail server
/// together.
const CLAIM: Duration = Duration::seconds(15);
/// A mail that nobody took by then is given up.
const LIFE: Duration = Duration::days(1);

/// Which failures leave a mail to another attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Only when the mail may have arrived: the caller undoes what any other failure spoils.
    WhenUnanswered,
    /// Unless the mail server refused it for good.
    UnlessRefused,
}

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// Sent, or not needed any more; the row is gone.
    Done,
    /// The row stays for another attempt.
    Waiting,
    /// The mail never arrives. The row stays for the caller to cancel, together with what it undoes.
    Failed,
}

/// Mails on their way.
#[derive(Clone)]
pub struct Outbox {
    pub mailer: Mailer,
    clock: Clock,
    pool: PgPool,
    sealer: Arc<Sealer>,
    metrics: OutboxMetrics,
    ending: Ending,
    /// What this node is trying now. A clock that jumps ahead lets claims lapse too early.
    under_way: Arc<Mutex<HashSet<Uuid>>>,
}

impl Outbox {
    pub fn new(
        mailer: Mailer,
        clock: Clock,
        pool: PgPool,
        secrets: &[Secret],
        metrics: OutboxMetrics,
        ending: Ending,
    ) -> Self {
        Self {
            mailer,
            clock,
            pool,
            sealer: Arc::new(Sealer::new(secrets, Purpose::Outbox)),
            metrics,
            ending,
            under_way: Arc::default(),
        }
    }

    /// Writes a mail in the transaction that causes it, claimed for the attempt that follows its
    /// commit. `None` where no mail server is configured.
    pub async fn put(
        &self,
        connection: &mut PgConnection,
        new: NewMail<'_>,
        secrets: &impl Serialize,
    ) -> Result<Option<ClaimedMail>> {
        if !self.mailer.is_configured() {
            self.mailer.skip(new.kind.template());
            return Ok(None);
        }
        let now = self.clock.now();
        let message_id = uuid_v7(now);
        let secrets = serde_json::to_vec(secrets).map_err(Error::internal)?;
        let mail = ClaimedMail {
            message_id,
            kind: new.kind,
            account_id: new.account_id.cloned(),
            pixel_id: new.pixel_id.cloned(),
            sealed: self.sealer.seal(message_id, &secrets)?,
            attempts: 0,
            claimed_until: now + CLAIM,
            unanswered: false,
        };
        store::insert_mail(connection, &mail, now, now + LIFE).await?;
        Ok(Some(mail))
    }

    /// What was sealed when the mail was put in.
    pub fn secrets<T: DeserializeOwned>(&self, mail: &ClaimedMail) -> Result<T> {
        let opened = self.open(mail);
        let opened = opened.ok_or_else(|| Error::internal("no receipt secret opens this mail"))?;
        // The cause may repeat what was sealed.
        serde_json::from_slice(&opened).map_err(|_| Error::internal("a sealed mail is broken"))
    }

    fn open(&self, mail: &ClaimedMail) -> Option<Vec<u8>> {
        self.sealer.open(mail.message_id, &mail.sealed)
    }

    /// Deletes a claimed mail that no secret opens any more, and says whether it was one.
    pub async fn give_up_sealed(&self, mail: &ClaimedMail) -> Result<bool> {
        if self.open(mail).is_some() {
            return Ok(false);
        }
        let kind = mail.kind.as_str();
        tracing::error!(mail = kind, "a mail was given up that no receipt secret opens");
        if store::delete_claimed(&mut *self.pool.acquire().await?, mail).await? {
            self.metrics.given_up.inc();
        }
        Ok(true)
    }

    /// Sends a claimed mail, and settles its row. One that could not be written now is left to another
    /// attempt.
    pub async fn attempt(
        &self,
        mail: &ClaimedMail,
        draft: Result<impl Into<Draft>>,
        retry: Retry,
    ) -> Attempt {
        let _last_work = self.ending.hold();
        self.change_under_way(|mails| mails.insert(mail.message_id));
        let (attempt, unanswered) = match draft.map(Into::into) {
            Ok(Draft::Letter(letter)) => self.send(mail, &letter, retry).await,
            Ok(Draft::NotNeeded) => (Attempt::Done, false),
            Ok(Draft::NotYet) => (Attempt::Waiting, false),
            Err(error) => {
                tracing::error!(?error, mail = mail.kind.as_str(), "a mail could not be written");
                (Attempt::Waiting, false)
            }
        };
        // A row that cannot be settled is claimed by somebody else once the claim has lapsed.
        if let Err(error) = self.settle(mail, attempt, unanswered).await {
            tracing::error!(?error, "a mail could not be settled in the outbox");
        }
        self.change_under_way(|mails| mails.remove(&mail.message_id));
        attempt
    }

    fn change_under_way<T>(&self, change: impl FnOnce(&mut HashSet<Uuid>) -> T) -> T {
        change(&mut self.under_way.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What became of the attempt, and whether it may have reached the mailbox without an answer.
    async fn send(&self, mail: &ClaimedMail, letter: &Letter, retry: Retry) -> (Attempt, bool) {
        let template = mail.kind.template();
        let Err(error) = self.mailer.send(mail.message_id, template, letter).await else {
            return (Attempt::Done, false);
        };
        let waits = is_tried_again(&error, retry);
        tracing::warn!(%error, mail = template, tried_again = waits, "mail failed");
        let attempt = if waits { Attempt::Waiting } else { Attempt::Failed };
        (attempt, error.may_have_arrived())
    }

    async fn settle(&self, mail: &ClaimedMail, attempt: Attempt, unanswered: bool) -> Result<()> {
        if attempt == Attempt::Failed {
            return Ok(());
        }
        let mut connection = self.pool.acquire().await?;
        if attempt == Attempt::Done {
            return store::delete_mail(&mut connection, mail.message_id).await;
        }
        let next_attempt_at = self.clock.now() + pause::after(mail.attempts + 1);
        store::update_postponed(&mut connection, mail, next_attempt_at, unanswered).await
    }

    /// Takes a mail out again; `false` when the claim has lapsed and the mail is another attempt's.
    pub async fn cancel(&self, connection: &mut PgConnection, mail: &ClaimedMail) -> Result<bool> {
        store::delete_claimed(connection, mail).await
    }

    /// Claims a mail whose next attempt is due.
    pub async fn claim_due(&self) -> Result<Option<ClaimedMail>> {
        let mut connection = self.pool.acquire().await?;
        // Not before there is a connection, which may take seconds.
        let now = self.clock.now();
        let under_way = self.change_under_way(|mails| mails.iter().copied().collect::<Vec<_>>());
        store::claim_due(&mut connection, now, now + CLAIM, &under_way).await
    }

    /// Deletes the mails that nobody took within a day.
    pub async fn give_up(&self) -> Result<()> {
        let mut connection = self.pool.acquire().await?;
        let given_up = store::delete_given_up(&mut connection, self.clock.now()).await?;
        if given_up > 0 {
            self.metrics.given_up.inc_by(given_up);
            tracing::warn!(given_up, "mails were given up that no mail server took within a day");
        }
        Ok(())
    }

    /// Tells the metrics how many mails wait.
    pub async fn count(&self) -> Result<()> {
        let mut connection = self.pool.acquire().await?;
        self.metrics.waiting.set(store::count_mails(&mut connection).await?);
        Ok(())
    }
}

fn is_tried_again(error: &MailError, retry: Retry) -> bool {
    error.may_have_arrived() || (retry == Retry::UnlessRefused && !error.is_permanent())
}
