//! What can be asked for about the account of the caller's own key.

use crate::accounts::access::{Access, Caller, Credentials, KeyHolder, Presented};
use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::codes::account_code_order::{self, CodeOrder, CodeOrdered};
use crate::accounts::codes::code_purpose::CodePurpose;
use crate::accounts::credentials::Accepts;
use crate::accounts::events::{self, EventPage, EventQuery};
use crate::accounts::mails::preferences::{self, MailChange, MailPreferences};
use crate::accounts::profile::{self, AccountChange, Changed};
use crate::accounts::scope::{Governs, Oversees};
use crate::accounts::service::Accounts;
use crate::accounts::tool::Tool;
use crate::error::Error::*;
use crate::error::{Error, Result, missing_field, wrong_field};
use crate::infra::Infra;
use crate::infra::limits::per_account::AccountLimit;
use crate::infra::limits::per_client::Limit;

/// A code for one purpose, to a mailbox. Whoever wants to sign in has no key.
pub struct OrderCode;

impl Capability for OrderCode {
    const NAME: &'static str = "order_code";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.open_world().described(
        "Mails the person a six-digit code, valid for 15 minutes, which `change_account` and \
         `delete_account` ask for. Ask the person for it; never guess.",
    ));
    const ACCEPTS: Accepts = Accepts::OptionalKey;
    const LIMIT: Option<Limit> = Some(Limit::Mails);
    type Part = Accounts;
    type Access = Presented;
    type Input = CodeOrder;
    type Output = CodeOrdered;

    fn refusals() -> Vec<Error> {
        let own = [
            InvalidEmail,
            EmailRegistered,
            ConfirmationMailFailed,
            TooManyRequests { retry_after: 300 },
            missing_field("purpose"),
        ];
        own.into_iter().chain(KeyHolder::<Governs>::refusals()).collect()
    }

    async fn run(
        accounts: &Accounts,
        credentials: Credentials,
        order: CodeOrder,
    ) -> Result<CodeOrdered> {
        let infra = &accounts.infra;
        if order.purpose == CodePurpose::SignIn {
            let email = order.email.as_deref();
            return account_code_order::order_sign_in(infra, credentials.net, email).await;
        }
        let caller = KeyHolder::<Governs>::admit(accounts, credentials).await?;
        account_code_order::order(infra, &caller, &order).await
    }
}

/// Another name, or another address: at once, or after some days.
pub struct ChangeAccount;

impl Capability for ChangeAccount {
    const NAME: &'static str = "change_account";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.open_world().described(
        "Changes the account's name, or its address with the codes that were mailed to the new \
         one (`code`) and to the present one (`current_code`). Without the latter it waits for \
         seven days (`pending`).",
    ));
    const ACCOUNT_LIMIT: AccountLimit = AccountLimit::Control;
    type Part = Infra;
    type Access = KeyHolder<Governs>;
    type Input = AccountChange;
    type Output = Changed;

    fn refusals() -> Vec<Error> {
        let own = [InvalidEmail, EmailRegistered, wrong_field("display_name", "is too long")];
        let invalid_input = missing_field("display_name");
        own.into_iter().chain(account_code_order::refusals()).chain([invalid_input]).collect()
    }

    async fn run(infra: &Infra, caller: Caller, change: AccountChange) -> Result<Changed> {
        profile::change(infra, &caller, &change).await
    }
}

/// Which mails the account gets.
pub struct ReadMailPreferences;

impl Capability for ReadMailPreferences {
    const NAME: &'static str = "read_mail_preferences";
    const TOOL: Option<Tool> =
        Some(Tool::READ_ONLY.described("Tells which mails the account's address gets."));
    type Part = Infra;
    type Access = KeyHolder<Oversees>;
    type Input = NoInput;
    type Output = MailPreferences;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<MailPreferences> {
        preferences::read(&mut *infra.pool.acquire().await?, caller.account_id()).await
    }
}

/// Mails are turned on and off.
pub struct ChangeMailPreferences;

impl Capability for ChangeMailPreferences {
    const NAME: &'static str = "change_mail_preferences";
    const TOOL: Option<Tool> = Some(
        Tool::ADDITIVE
            .idempotent()
            .described("Turns mails to the account's address on or off; what is left out stays."),
    );
    type Part = Infra;
    type Access = KeyHolder<Governs>;
    type Input = MailChange;
    type Output = MailPreferences;

    fn refusals() -> Vec<Error> {
        vec![preferences::cannot_be_turned_off("new_key")]
    }

    async fn run(infra: &Infra, caller: Caller, change: MailChange) -> Result<MailPreferences> {
        preferences::change(infra, &caller, &change).await
    }
}

/// Who did what.
pub struct ReadAccountEvents;

impl Capability for ReadAccountEvents {
    const NAME: &'static str = "read_account_events";
    const TOOL: Option<Tool> =
        Some(Tool::READ_ONLY.described("Tells who did what in the account, newest first."));
    type Part = Infra;
    type Access = KeyHolder<Oversees>;
    type Input = EventQuery;
    type Output = EventPage;

    fn refusals() -> Vec<Error> {
        vec![events::invalid_input("limit", "must be from 1 to 200")]
    }

    async fn run(infra: &Infra, caller: Caller, query: EventQuery) -> Result<EventPage> {
        events::read(infra, caller.account_id(), &query).await
    }
}
