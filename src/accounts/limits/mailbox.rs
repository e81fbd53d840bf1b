//! The rate limit of all mails to a mailbox, shared by all nodes. It reveals nothing about accounts: a
//! requested code counts whether or not the address has an account. Without a mail server nothing is
//! counted. Anybody can invent subaddresses (`ann+1@`) of a mailbox. If mails to subaddresses helped to
//! use up the limit, the address without a subaddress has a small reserve, so that the owner can still
//! sign up.

use chrono::{DateTime, Duration, Utc};
use sqlx::PgConnection;

use super::buckets::{self, Bucket, BucketKey, take};
use crate::error::{Error, Result};
use crate::infra::outbox::Outbox;
use crate::types::email::Email;
use crate::types::mailbox::Mailbox;

const MAILBOX: Bucket = Bucket { at_once: 10, then_one_every: Duration::hours(3) };
const RESERVE: Bucket = Bucket { at_once: 2, then_one_every: Duration::hours(12) };

/// Counts a mail to the mailbox when the caller's transaction commits, before it is sent. At the
/// limit, returns the refusal with the seconds until the next mail.
pub async fn admit(
    connection: &mut PgConnection,
    outbox: &Outbox,
    now: DateTime<Utc>,
    email: &Email,
    refusal: impl FnOnce(u64) -> Error,
) -> Result<()> {
    if !outbox.mailer.is_configured() {
        return Ok(());
    }
    let mailbox = Mailbox::of(email);
    let through_subaddresses = BucketKey::mails_to_subaddresses(&mailbox);
    // `take` returns an `Error`, from which the number of seconds is read below.
    let waiting = |retry_after| Error::TooManyRequests { retry_after };
    let taken = take(connection, &BucketKey::mails(&mailbox), now, MAILBOX, waiting).await;
    match taken {
        Err(Error::TooManyRequests { retry_after }) => {
            let has_reserve = !mailbox.has_subaddress()
                && buckets::is_touched(connection, &through_subaddresses, now).await?;
            if !has_reserve {
                return Err(refusal(retry_after));
            }
            take(connection, &BucketKey::reserve(&mailbox), now, RESERVE, refusal).await
        }
        Err(other) => Err(other),
        Ok(()) if mailbox.has_subaddress() => {
            take(connection, &through_subaddresses, now, MAILBOX, refusal).await
        }
        Ok(()) => Ok(()),
    }
}

pub async fn give_back(connection: &mut PgConnection, email: &Email) -> Result<()> {
    let mailbox = Mailbox::of(email);
    buckets::put_back(connection, &BucketKey::mails(&mailbox), MAILBOX).await?;
    if mailbox.has_subaddress() {
        let key = BucketKey::mails_to_subaddresses(&mailbox);
        buckets::put_back(connection, &key, MAILBOX).await?;
    }
    Ok(())
}

pub async fn forget(connection: &mut PgConnection, email: &Email) -> Result<u64> {
    let mailbox = Mailbox::of(email);
    let mut deleted = 0;
    for key in [
        BucketKey::mails(&mailbox),
        BucketKey::mails_to_subaddresses(&mailbox),
        BucketKey::reserve(&mailbox),
        BucketKey::sign_ins(&mailbox),
        BucketKey::unconfirmed_sign_ins(&mailbox),
        BucketKey::invited_sign_ins(&mailbox),
    ] {
        deleted +=
            crate::accounts::store::mailboxes::delete_mailbox(connection, key.as_bytes()).await?;
    }
    Ok(deleted)
}
