//! The outbox of all mails: a row is written in the transaction that causes the mail, attempted
//! right after the commit, and retried by any node for a day. A row contains ids and encrypted
//! secrets. The mail is rendered anew for every attempt, by the feature that defines its kind.

mod mail;
mod mail_run;
mod pause;
mod store;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::Duration;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

pub use self::mail::{Attempt, ClaimedMail, Draft, Kind, NewMail};
pub use self::mail_run::MailRun;
pub use self::store::{
    delete_mails_of_accounts, delete_mails_of_pixels, find_claim, has_newer_undecided,
};
use super::encryption::{Encryptor, Purpose};
use super::metrics::OutboxMetrics;
use super::shutdown::Shutdown;
use super::smtp::{MailError, Mailer, RenderedMail};
use crate::clock::Clock;
use crate::config::Secret;
use crate::error::{Error, Result};
use crate::types::ids::uuid_v7;

/// Duration of a claim: longer than the timeouts for a connection and the mail server together.
const CLAIM: Duration = Duration::seconds(15);
const LIFE: Duration = Duration::days(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Retries only if the mail may have arrived; after any other failure the caller rolls back.
    WhenUnanswered,
    UnlessRefused,
}

#[derive(Clone)]
pub struct Outbox {
    pub mailer: Mailer,
    clock: Clock,
    pool: PgPool,
    encryptor: Arc<Encryptor>,
    metrics: OutboxMetrics,
    shutdown: Shutdown,
    /// The mails that this node is attempting, because a claim may lapse too early if the clock jumps ahead.
    under_way: Arc<Mutex<HashSet<Uuid>>>,
}

impl Outbox {
    pub fn new(
        mailer: Mailer,
        clock: Clock,
        pool: PgPool,
        secrets: &[Secret],
        metrics: OutboxMetrics,
        shutdown: Shutdown,
    ) -> Self {
        Self {
            mailer,
            clock,
            pool,
            encryptor: Arc::new(Encryptor::new(secrets, Purpose::Outbox)),
            metrics,
            shutdown,
            under_way: Arc::default(),
        }
    }

    /// Writes a mail, claimed for the attempt after the commit. `None` if no mail server is configured.
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
            sealed: self.encryptor.encrypt(message_id, &secrets)?,
            attempts: 0,
            claimed_until: now + CLAIM,
            unanswered: false,
        };
        store::insert_mail(connection, &mail, now, now + LIFE).await?;
        Ok(Some(mail))
    }

    pub fn secrets<T: DeserializeOwned>(&self, mail: &ClaimedMail) -> Result<T> {
        let opened = self.decrypt(mail);
        let opened = opened.ok_or_else(|| Error::internal("no receipt secret opens this mail"))?;
        // The original error may quote the decrypted secrets.
        serde_json::from_slice(&opened).map_err(|_| Error::internal("a sealed mail is broken"))
    }

    fn decrypt(&self, mail: &ClaimedMail) -> Option<Vec<u8>> {
        self.encryptor.decrypt(mail.message_id, &mail.sealed)
    }

    /// Deletes a claimed mail if no secret decrypts it any more; returns whether that is the case.
    pub async fn give_up_undecryptable(&self, mail: &ClaimedMail) -> Result<bool> {
        if self.decrypt(mail).is_some() {
            return Ok(false);
        }
        let kind = mail.kind.as_str();
        tracing::error!(mail = kind, "a mail was given up that no receipt secret opens");
        if store::delete_claimed(&mut *self.pool.acquire().await?, mail).await? {
            self.metrics.given_up.inc();
        }
        Ok(true)
    }

    /// Sends a claimed mail, and updates or deletes its row. A mail that cannot be rendered is retried later.
    pub async fn attempt(
        &self,
        mail: &ClaimedMail,
        draft: Result<impl Into<Draft>>,
        retry: Retry,
    ) -> Attempt {
        let _last_work = self.shutdown.delay();
        // Another node may have claimed the mail while it was being rendered.
        if self.clock.now() >= mail.claimed_until {
            return Attempt::Waiting;
        }
        self.change_under_way(|mails| mails.insert(mail.message_id));
        let (attempt, unanswered) = match draft.map(Into::into) {
            Ok(Draft::RenderedMail(rendered)) => self.send(mail, &rendered, retry).await,
            Ok(Draft::NotNeeded) => (Attempt::Done, false),
            Ok(Draft::NotYet) => (Attempt::Waiting, false),
            Err(error) => {
                tracing::error!(?error, mail = mail.kind.as_str(), "a mail could not be written");
                (Attempt::Waiting, false)
            }
        };
        // If the row cannot be updated, another node claims it after the claim has lapsed.
        if let Err(error) = self.store_outcome(mail, attempt, unanswered).await {
            tracing::error!(?error, "the outcome of a mail could not be stored in the outbox");
        }
        self.change_under_way(|mails| mails.remove(&mail.message_id));
        attempt
    }

    /// Sends a claimed mail on which no other data depend, and deletes it if it is refused permanently.
    pub async fn deliver(
        &self,
        mail: &ClaimedMail,
        rendered: Result<Option<RenderedMail>>,
    ) -> Result<Attempt> {
        let attempt = self.attempt(mail, rendered, Retry::UnlessRefused).await;
        if attempt == Attempt::Failed {
            self.cancel(&mut *self.pool.acquire().await?, mail).await?;
        }
        Ok(attempt)
    }

    fn change_under_way<T>(&self, change: impl FnOnce(&mut HashSet<Uuid>) -> T) -> T {
        change(&mut self.under_way.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn send(
        &self,
        mail: &ClaimedMail,
        rendered: &RenderedMail,
        retry: Retry,
    ) -> (Attempt, bool) {
        let template = mail.kind.template();
        let Err(error) = self.mailer.send(mail.message_id, template, rendered).await else {
            return (Attempt::Done, false);
        };
        let waits = is_tried_again(&error, retry);
        tracing::warn!(%error, mail = template, tried_again = waits, "mail failed");
        let attempt = if waits { Attempt::Waiting } else { Attempt::Failed };
        (attempt, error.may_have_arrived())
    }

    async fn store_outcome(
        &self,
        mail: &ClaimedMail,
        attempt: Attempt,
        unanswered: bool,
    ) -> Result<()> {
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

    /// Deletes the mail; `false` if the claim has lapsed and the mail belongs to another attempt.
    pub async fn cancel(&self, connection: &mut PgConnection, mail: &ClaimedMail) -> Result<bool> {
        store::delete_claimed(connection, mail).await
    }

    pub async fn claim_due(&self) -> Result<Option<ClaimedMail>> {
        let mut connection = self.pool.acquire().await?;
        // The time is read after acquiring a connection, which may take seconds.
        let now = self.clock.now();
        let under_way = self.change_under_way(|mails| mails.iter().copied().collect::<Vec<_>>());
        store::claim_due(&mut connection, now, now + CLAIM, &under_way).await
    }

    pub async fn give_up(&self) -> Result<()> {
        let mut connection = self.pool.acquire().await?;
        let given_up = store::delete_given_up(&mut connection, self.clock.now()).await?;
        if given_up > 0 {
            self.metrics.given_up.inc_by(given_up);
            tracing::warn!(given_up, "mails were given up that no mail server took within a day");
        }
        Ok(())
    }

    pub async fn count(&self) -> Result<()> {
        let mut connection = self.pool.acquire().await?;
        self.metrics.waiting.set(store::count_mails(&mut connection).await?);
        Ok(())
    }
}

fn is_tried_again(error: &MailError, retry: Retry) -> bool {
    error.may_have_arrived() || (retry == Retry::UnlessRefused && !error.is_permanent())
}
