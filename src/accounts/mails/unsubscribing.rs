//! Unsubscribing from a kind of mail by the link in the mail, without signing in (RFC 8058). The
//! link contains the account, the kind and an HMAC-SHA256 over both and the address, under a key
//! derived from the receipt secrets. So nothing is stored, nobody else can create a link, and links
//! to a former address have no effect.

use ring::hkdf::{HKDF_SHA256, Salt};
use ring::hmac::{self, HMAC_SHA256, Key};
use sqlx::PgConnection;

use super::preferences::{is_wanted, turn};
use super::switch::MailSwitch;
use crate::accounts::account::Account;
use crate::accounts::actor::Actor;
use crate::accounts::introduction::Introduction;
use crate::accounts::store::{find_account, lock_account};
use crate::config::Secret;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::types::ids::AccountId;

/// The label that separates this key from others derived from the same secrets.
const PURPOSE: &[u8] = b"assent mails turned off by link, HMAC-SHA256";

pub struct Unsubscribable {
    pub account: Introduction,
    pub switch: MailSwitch,
    pub is_on: bool,
}

pub fn url(infra: &Infra, account: &Account, switch: MailSwitch) -> Result<String> {
    let secrets = &infra.config.receipt_secrets;
    let secret = secrets.first().ok_or_else(|| Error::internal("no secret to sign links with"))?;
    let tag = hmac::sign(&derived_key(secret), message(account, switch).as_bytes());
    let (account_id, kind, tag) = (&account.account_id, switch.as_str(), hex::encode(tag));
    Ok(format!("{}/v1/email/unsubscribe?token={account_id}.{kind}.{tag}", infra.base_url()))
}

/// Finds what the link turns off, without any effect.
pub async fn find(infra: &Infra, token: &str) -> Result<Unsubscribable> {
    let (account_id, switch, tag) = parts(token).ok_or(Error::MailLinkNotFound)?;
    let mut connection = infra.pool.acquire().await?;
    let account = find_account(&mut connection, &account_id).await?;
    let account = genuine(infra, account, switch, &tag)?;
    unsubscribable(&mut connection, &account, switch).await
}

pub async fn turn_off(infra: &Infra, token: &str) -> Result<Unsubscribable> {
    let (account_id, switch, tag) = parts(token).ok_or(Error::MailLinkNotFound)?;
    let mut transaction = infra.pool.begin().await?;
    let account = lock_account(&mut transaction, &account_id).await?;
    let account = genuine(infra, account, switch, &tag)?;
    // The holder of the link can read the mailbox.
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

fn parts(token: &str) -> Option<(AccountId, MailSwitch, Vec<u8>)> {
    let mut parts = token.splitn(3, '.');
    let account_id = AccountId::parse(parts.next()?)?;
    let switch = MailSwitch::parse(parts.next()?)?;
    Some((account_id, switch, hex::decode(parts.next()?).ok()?))
}

/// The account, if one of the secrets signed the link for it and its current address.
fn genuine(
    infra: &Infra,
    account: Option<Account>,
    switch: MailSwitch,
    tag: &[u8],
) -> Result<Account> {
    let account = account.ok_or(Error::MailLinkNotFound)?;
    let message = message(&account, switch);
    let is_genuine = infra
        .config
        .receipt_secrets
        .iter()
        .any(|secret| hmac::verify(&derived_key(secret), message.as_bytes(), tag).is_ok());
    is_genuine.then_some(account).ok_or(Error::MailLinkNotFound)
}

fn message(account: &Account, switch: MailSwitch) -> String {
    format!("{}\n{}\n{}", account.account_id, switch.as_str(), account.email)
}

fn derived_key(secret: &Secret) -> Key {
    let extracted = Salt::new(HKDF_SHA256, &[]).extract(secret.expose().as_bytes());
    let expanded = extracted.expand(&[PURPOSE], HMAC_SHA256).expect("32 bytes can be derived");
    Key::from(expanded)
}
