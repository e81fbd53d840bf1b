//! Unsubscribing from a kind of mail by the link in the mail, without signing in (RFC 8058).

use sqlx::{PgConnection, PgPool};

use super::switch::MailSwitch;
use super::switching::{is_wanted, turn};
use super::unsubscribe_link::{is_genuine, parts};
use crate::accounts::account::Account;
use crate::accounts::actor::Actor;
use crate::accounts::introduction::Introduction;
use crate::accounts::store::{find_account, lock_account};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::infra::Infra;

pub struct Unsubscribable {
    pub account: Introduction,
    pub switch: MailSwitch,
    pub is_on: bool,
}

/// Finds the kind of mail that the link turns off, without side effects.
pub async fn find(pool: &PgPool, config: &Config, token: &str) -> Result<Unsubscribable> {
    let (account_id, switch, tag) = parts(token).ok_or(Error::MailLinkNotFound)?;
    let mut connection = pool.acquire().await?;
    let account = find_account(&mut connection, &account_id).await?;
    let account = genuine(config, account, switch, &tag)?;
    unsubscribable(&mut connection, &account, switch).await
}

pub async fn turn_off(infra: &Infra, token: &str) -> Result<Unsubscribable> {
    let (account_id, switch, tag) = parts(token).ok_or(Error::MailLinkNotFound)?;
    let mut transaction = infra.pool.begin().await?;
    let account = lock_account(&mut transaction, &account_id).await?;
    let account = genuine(&infra.config, account, switch, &tag)?;
    // The holder of the link reads the mailbox, so the owner is recorded as the actor.
    let (now, actor) = (infra.clock.now(), Actor::Member(account.email.clone()));
    turn(&mut transaction, now, &account_id, &actor, switch, false).await?;
    let unsubscribable = unsubscribable(&mut transaction, &account, switch).await?;
    transaction.commit().await?;
    Ok(unsubscribable)
}

async fn unsubscribable(
    connection: &mut PgConnection,
    account: &Account,
    switch: MailSwitch,
) -> Result<Unsubscribable> {
    let is_on = is_wanted(connection, &account.account_id, switch).await?;
    Ok(Unsubscribable { account: Introduction::from(account), switch, is_on })
}

/// The account, if the link was made for it and its current address.
fn genuine(
    config: &Config,
    account: Option<Account>,
    switch: MailSwitch,
    tag: &[u8],
) -> Result<Account> {
    let account = account.filter(|account| is_genuine(config, account, switch, tag));
    account.ok_or(Error::MailLinkNotFound)
}
