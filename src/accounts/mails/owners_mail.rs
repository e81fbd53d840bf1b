use sqlx::PgConnection;

use super::recipient;
use super::switch::MailSwitch;
use super::switching::is_wanted;
use super::unsubscribe_link;
use crate::accounts::account::{Account, Status};
use crate::accounts::demo::DEMO_ACCOUNT;
use crate::accounts::introduction::Introduction;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::infra::smtp::{Notice, RenderedMail};
use crate::types::email::Email;

/// Whether the account is active and its address confirmed. Other accounts receive no notifications.
pub fn receives_notifications(account: &Account) -> bool {
    account.status == Status::Active
        && account.is_verified()
        && account.account_id.as_str() != DEMO_ACCOUNT
}

/// Renders a mail with an unsubscribe link; `None` if mails of its kind are turned off at this delivery attempt.
pub async fn wanted(
    connection: &mut PgConnection,
    config: &Config,
    base_url: &str,
    account: &Account,
    switch: MailSwitch,
    notice: Notice,
) -> Result<Option<RenderedMail>> {
    if !is_wanted(connection, &account.account_id, switch).await? {
        return Ok(None);
    }
    let unsubscribe_url = Some(unsubscribe_link::url(config, base_url, account, switch)?);
    always(connection, base_url, account, Notice { unsubscribe_url, ..notice }).await.map(Some)
}

pub async fn always(
    connection: &mut PgConnection,
    base_url: &str,
    account: &Account,
    notice: Notice,
) -> Result<RenderedMail> {
    to(connection, base_url, account, &account.email, notice).await
}

pub async fn to(
    connection: &mut PgConnection,
    base_url: &str,
    account: &Account,
    address: &str,
    notice: Notice,
) -> Result<RenderedMail> {
    let Introduction { account_id, name, .. } = Introduction::from(account);
    let notice = Notice { account_id: Some(account_id.to_string()), account_name: name, ..notice };
    let recipient = recipient::of(connection, address).await?;
    let address = Email::parse(address)?.address().map_err(Error::internal)?;
    notice.rendered(address, recipient, base_url).map_err(Error::internal)
}
