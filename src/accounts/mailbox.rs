//! How many mails a mailbox gets, whoever causes them: signups, other links and codes, snippets of
//! any pixel of any account.
//!
//! A bucket per mailbox, in the database, so that all nodes share it: so many at once, then one more
//! every so often. Kept under a hash of the address. It says nothing about accounts: a requested
//! code counts whether the address has one or not. Where no mail server is configured nothing is
//! mailed and nothing counted.

use chrono::{DateTime, Duration, Utc};
use sqlx::PgConnection;

use super::credentials::secret_hash;
use super::retry_after::not_before;
use super::store::mailboxes;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::types::email::Email;

/// How many mails at once, and then one every so often.
#[derive(Clone, Copy)]
pub struct Bucket {
    pub at_once: i32,
    pub then_one_every: Duration,
}

/// What a mailbox gets.
const MAILBOX: Bucket = Bucket { at_once: 10, then_one_every: Duration::hours(3) };

/// What the table knows of a mailbox. What follows a `+` is the same mailbox with most providers
/// (RFC 5233).
pub fn mailbox_hash(email: &str) -> Vec<u8> {
    let (local, domain) = email.rsplit_once('@').unwrap_or((email, ""));
    let local = local.split_once('+').map_or(local, |(mailbox, _)| mailbox);
    secret_hash(&format!("{local}@{domain}"))
}

/// Takes one of the mails that the mailbox may get; without one, the refusal is given the seconds
/// until there is one again.
///
/// The count stands once the caller's transaction commits, before anything is sent.
pub async fn admit(
    connection: &mut PgConnection,
    infra: &Infra,
    now: DateTime<Utc>,
    email: &Email,
    refusal: impl FnOnce(u64) -> Error,
) -> Result<()> {
    if !infra.outbox.mailer.is_configured() {
        return Ok(());
    }
    take(connection, &mailbox_hash(email.as_str()), now, MAILBOX, refusal).await
}

/// As [`admit`], out of a bucket of its own, whether anything is mailed or not.
pub async fn take(
    connection: &mut PgConnection,
    hash: &[u8],
    now: DateTime<Utc>,
    Bucket { at_once, then_one_every }: Bucket,
    refusal: impl FnOnce(u64) -> Error,
) -> Result<()> {
    let full_at = mailboxes::lock_mailbox(connection, hash).await?.max(now) + then_one_every;
    not_before(full_at - then_one_every * at_once, now, refusal)?;
    mailboxes::update_mailbox(connection, hash, full_at).await
}

/// Gives back what was taken for a mail that certainly never arrives.
pub async fn give_back(connection: &mut PgConnection, email: &Email) -> Result<()> {
    let hash = mailbox_hash(email.as_str());
    let full_at = mailboxes::lock_mailbox(connection, &hash).await?;
    mailboxes::update_mailbox(connection, &hash, full_at - MAILBOX.then_one_every).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_plus_is_the_same_mailbox() {
        let ann = mailbox_hash("ann@shop.example");
        assert_eq!(mailbox_hash("ann+1@shop.example"), ann);
        assert_eq!(mailbox_hash("ann+1+2@shop.example"), ann);
        for other in ["ann1@shop.example", "ann@other.example", "an+n@shop.example"] {
            assert_ne!(mailbox_hash(other), ann);
        }
    }
}
