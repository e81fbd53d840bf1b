//! The link in a mail that turns off mails of its kind. It contains the account, the kind and an HMAC-SHA256 over
//! both and the address, under a key derived from the receipt secrets. So nothing is stored, nobody else can create
//! a link, and links to a former address have no effect.

use ring::hkdf::{HKDF_SHA256, Salt};
use ring::hmac::{self, HMAC_SHA256, Key};

use super::switch::MailSwitch;
use crate::accounts::account::Account;
use crate::config::{Config, Secret};
use crate::error::{Error, Result};
use crate::types::ids::AccountId;

/// The label that separates this key from others derived from the same secrets.
const PURPOSE: &[u8] = b"assent mails turned off by link, HMAC-SHA256";

pub fn url(
    config: &Config,
    base_url: &str,
    account: &Account,
    switch: MailSwitch,
) -> Result<String> {
    let secrets = &config.receipt_secrets;
    let secret = secrets.first().ok_or_else(|| Error::internal("no secret to sign links with"))?;
    let tag = hmac::sign(&derived_key(secret), message(account, switch).as_bytes());
    let (account_id, kind, tag) = (&account.account_id, switch.as_str(), hex::encode(tag));
    Ok(format!("{base_url}/v1/email/unsubscribe?token={account_id}.{kind}.{tag}"))
}

/// The account, the kind and the signature of a link; `None` if it is malformed.
pub fn parts(token: &str) -> Option<(AccountId, MailSwitch, Vec<u8>)> {
    let mut parts = token.splitn(3, '.');
    let account_id = AccountId::parse(parts.next()?)?;
    let switch = MailSwitch::parse(parts.next()?)?;
    Some((account_id, switch, hex::decode(parts.next()?).ok()?))
}

/// Whether one of the secrets signed the link for the account and its current address.
pub fn is_genuine(config: &Config, account: &Account, switch: MailSwitch, tag: &[u8]) -> bool {
    let message = message(account, switch);
    config
        .receipt_secrets
        .iter()
        .any(|secret| hmac::verify(&derived_key(secret), message.as_bytes(), tag).is_ok())
}

fn message(account: &Account, switch: MailSwitch) -> String {
    format!("{}\n{}\n{}", account.account_id, switch.as_str(), account.email)
}

fn derived_key(secret: &Secret) -> Key {
    let extracted = Salt::new(HKDF_SHA256, &[]).extract(secret.expose().as_bytes());
    let expanded = extracted.expand(&[PURPOSE], HMAC_SHA256).expect("32 bytes can be derived");
    Key::from(expanded)
}
