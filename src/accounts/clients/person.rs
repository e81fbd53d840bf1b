use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::accounts::access::Credentials;
use crate::accounts::account::{Account, Status};
use crate::accounts::members::member::{Member, member_of};
use crate::accounts::sessions::store::is_open;
use crate::accounts::store;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::infra::outbox::Outbox;

/// The signed-in person. Fails without a mail server, because it is unproven that the person reads the mailbox.
pub fn proven(outbox: &Outbox, credentials: Credentials) -> Result<Member> {
    let member = credentials.member.ok_or(Error::SignInRequired)?;
    match outbox.mailer.is_configured() {
        true => Ok(*member),
        false => Err(Error::NotFound),
    }
}

/// Like [`proven`], but also requires a recent sign-in.
pub fn proven_recently(outbox: &Outbox, clock: &Clock, credentials: Credentials) -> Result<Member> {
    let member = proven(outbox, credentials)?;
    let is_fresh = member.is_fresh(clock.now());
    is_fresh.then_some(member).ok_or(Error::SignInRequired)
}

/// Checks that the session is still open, and locks the person's first account.
pub async fn lock_first_account(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    person: &Member,
) -> Result<Account> {
    let account_id = &person.account.account_id;
    if !is_open(connection, account_id, person.session_id, now).await? {
        return Err(Error::SignInRequired);
    }
    let first = member_of(connection, &person.address).await?.ok_or(Error::SignInRequired)?;
    let account = store::lock_account(connection, &first.account.account_id).await?;
    let account = account.ok_or(Error::AccountNotFound)?;
    (account.status == Status::Active).then_some(account).ok_or(Error::AccountNotActive)
}
