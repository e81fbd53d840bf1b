//! Token buckets stored in the database, so that all nodes share them. A [`BucketKey`] is made from
//! normalised values, never from text of a request: a different spelling must not give access to
//! another bucket. Keys are stored hashed.

use chrono::{DateTime, Duration, Utc};
use sqlx::PgConnection;

use super::retry_after::not_before;
use crate::accounts::sign_in::known_browser::KnownBrowser;
use crate::accounts::store::mailboxes;
use crate::error::{Error, Result};
use crate::infra::limits::client_net::Net;
use crate::infra::secret_hash::secret_hash;
use crate::types::ids::AccountId;
use crate::types::mailbox::Mailbox;

#[derive(Clone, Copy)]
pub struct Bucket {
    pub at_once: i32,
    pub then_one_every: Duration,
}

#[derive(Clone)]
pub struct BucketKey(Vec<u8>);

impl BucketKey {
    pub fn mails(mailbox: &Mailbox) -> Self {
        Self(secret_hash(mailbox.as_str()))
    }

    pub fn mails_to_subaddresses(mailbox: &Mailbox) -> Self {
        Self::named("subaddresses", mailbox.as_str())
    }

    pub fn reserve(mailbox: &Mailbox) -> Self {
        Self::named("reserve", mailbox.as_str())
    }

    pub fn code_requests(mailbox: &Mailbox) -> Self {
        Self::mails(mailbox)
    }

    pub fn sign_ins(mailbox: &Mailbox) -> Self {
        Self::named("sign-in", mailbox.as_str())
    }

    pub fn sign_ins_from(mailbox: &Mailbox, net: Net) -> Self {
        Self::named("sign-in", &format!("{} {}", mailbox.as_str(), hex::encode(net.digest())))
    }

    pub fn sign_ins_in(mailbox: &Mailbox, browser: &KnownBrowser) -> Self {
        Self::named("sign-in browser", &format!("{} {}", mailbox.as_str(), browser.id()))
    }

    pub fn unconfirmed_sign_ins(mailbox: &Mailbox) -> Self {
        Self::named("unconfirmed sign-in", mailbox.as_str())
    }

    pub fn invited_sign_ins(mailbox: &Mailbox) -> Self {
        Self::named("invited sign-in", mailbox.as_str())
    }

    pub fn invited_sign_ins_from(mailbox: &Mailbox, net: Net) -> Self {
        let whose = format!("{} {}", mailbox.as_str(), hex::encode(net.digest()));
        Self::named("invited sign-in", &whose)
    }

    pub fn account_codes(account_id: &AccountId) -> Self {
        Self(secret_hash(&format!("codes:{account_id}")))
    }

    pub fn publications(account_id: &AccountId) -> Self {
        Self::named("publications", account_id.as_str())
    }

    fn named(purpose: &str, whose: &str) -> Self {
        Self(secret_hash(&format!("{purpose} {whose}")))
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Takes a token, or returns the refusal with the seconds until the next one. Takes effect on commit.
pub async fn take(
    connection: &mut PgConnection,
    key: &BucketKey,
    now: DateTime<Utc>,
    bucket: Bucket,
    refusal: impl FnOnce(u64) -> Error,
) -> Result<()> {
    let Bucket { at_once, then_one_every } = bucket;
    let full_at = mailboxes::lock_mailbox(connection, key.as_bytes()).await?.max(now);
    let full_at = full_at + then_one_every;
    not_before(full_at - then_one_every * at_once, now, refusal)?;
    mailboxes::update_mailbox(connection, key.as_bytes(), full_at).await
}

pub async fn put_back(
    connection: &mut PgConnection,
    key: &BucketKey,
    bucket: Bucket,
) -> Result<()> {
    let full_at = mailboxes::lock_mailbox(connection, key.as_bytes()).await?;
    mailboxes::update_mailbox(connection, key.as_bytes(), full_at - bucket.then_one_every).await
}

pub async fn is_touched(
    connection: &mut PgConnection,
    key: &BucketKey,
    now: DateTime<Utc>,
) -> Result<bool> {
    Ok(mailboxes::lock_mailbox(connection, key.as_bytes()).await? > now)
}
