//! What an account is called and where it is written to, and changing that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::ToSchema;

use super::access::Caller;
use super::account::{Account, Plan, Status};
use super::account_code_order::prove;
use super::address_notice;
use super::code_purpose::CodePurpose;
use super::event::EventKind;
use super::signup_request::{MAX_DISPLAY_NAME, within};
use super::store;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::outbox::ClaimedMail;
use crate::types::email::Email;
use crate::types::ids::AccountId;
use crate::types::text::present;

/// What is to change; what is left out stays.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct AccountChange {
    /// 1 to 200 characters.
    #[schema(max_length = 200, example = "Ann Lee")]
    pub display_name: Option<String>,
    /// Another address; needs `code`.
    #[schemars(with = "Option<String>")]
    #[schema(value_type = Option<String>, example = "ann@shop.example")]
    pub email: Option<String>,
    /// The six digits that were mailed to the new address for `change_email`.
    pub code: Option<String>,
}

/// An account, as the holder of its keys sees it.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct Profile {
    pub account_id: AccountId,
    pub display_name: String,
    pub email: String,
    pub email_verified: bool,
    pub status: Status,
    pub plan: Plan,
    pub created_at: Timestamp,
}

impl From<Account> for Profile {
    fn from(account: Account) -> Self {
        Self {
            email_verified: account.is_verified(),
            account_id: account.account_id,
            display_name: account.display_name,
            email: account.email,
            status: account.status,
            plan: account.plan,
            created_at: Timestamp(account.created_at),
        }
    }
}

/// Changes name and address of the caller's account, all of it or nothing.
pub async fn change(infra: &Infra, caller: &Caller, change: &AccountChange) -> Result<Profile> {
    let name = present(change.display_name.as_deref());
    within("display_name", name, MAX_DISPLAY_NAME)?;
    let email = present(change.email.as_deref()).map(Email::parse).transpose()?;
    let account_id = caller.account_id();
    let mut transaction = infra.pool.begin().await?;
    let account = store::lock_account(&mut transaction, account_id).await?;
    let account = account.ok_or(Error::AccountNotFound)?;
    let mut notice = None;
    if let Some(email) = email.filter(|email| email.as_str() != account.email) {
        let purpose = CodePurpose::ChangeEmail;
        let code = present(change.code.as_deref());
        let verdict = prove(&mut transaction, infra, caller, purpose, &email, code).await?;
        if let Err(error) = verdict {
            // The wrong try is counted even though the request fails.
            transaction.commit().await?;
            return Err(error);
        }
        notice = move_to(&mut transaction, infra, caller, &account, &email).await?;
    }
    if let Some(name) = name.filter(|&name| name != account.display_name) {
        let (now, kind) = (infra.clock.now(), EventKind::NameChanged);
        store::update_display_name(&mut transaction, account_id, name).await?;
        caller.note(&mut transaction, now, account_id, kind, None).await?;
    }
    let changed = store::find_account(&mut transaction, account_id).await?;
    transaction.commit().await?;
    address_notice::send(infra, notice);
    changed.map(Profile::from).ok_or(Error::AccountNotFound)
}

/// Gives the account its new address, and the news to the old one. What was mailed to the old one ends.
async fn move_to(
    connection: &mut PgConnection,
    infra: &Infra,
    caller: &Caller,
    account: &Account,
    email: &Email,
) -> Result<Option<ClaimedMail>> {
    let (now, account_id) = (infra.clock.now(), &account.account_id);
    // Without a mail server nobody has shown to read the new mailbox.
    let verified = infra.outbox.mailer.is_configured().then_some(now);
    store::update_email(connection, account_id, email.as_str(), verified).await?;
    store::delete_links_and_codes(connection, account_id).await?;
    store::delete_seat_of(connection, account_id, email.as_str()).await?;
    caller.note(connection, now, account_id, EventKind::AddressChanged, None).await?;
    address_notice::put(connection, infra, account, email).await
}
