pub mod address_cancelling;
pub mod address_change;
pub mod address_notice;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::ToSchema;

use self::address_change::{PendingAddress, withdraw};
use super::access::{Caller, KeyHolder};
use super::account::{Account, Plan, Status};
use super::actor::Actor;
use super::capability::Capability;
use super::codes::account_code_order::{self, ChangeCodes, Shown, prove_change};
use super::event::ActivityKind;
use super::recheck::recheck;
use super::scope::Governs;
use super::signup::signup_request::{MAX_DISPLAY_NAME, within};
use super::store;
use super::tool::Tool;
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, Result, missing_field, wrong_field};
use crate::infra::Infra;
use crate::infra::limits::per_account::AccountLimit;
use crate::infra::outbox::{ClaimedMail, Outbox};
use crate::types::email::Email;
use crate::types::ids::AccountId;
use crate::types::text::present;

/// What is to change; what is left out stays.
#[derive(Default, Deserialize, JsonSchema, ToSchema)]
pub struct AccountChange {
    /// 1 to 200 characters.
    #[schema(max_length = 200, example = "Ann Lee")]
    pub display_name: Option<String>,
    /// Another address; needs `code`. With `current_code` as well it counts at once, otherwise after seven
    /// days (202). The present address cancels a change that waits.
    #[schemars(with = "Option<String>")]
    #[schema(value_type = Option<String>, example = "ann@shop.example")]
    pub email: Option<String>,
    /// The six digits that were mailed to the new address for `change_email`.
    pub code: Option<String>,
    /// The six digits that were mailed to the present address for `change_email`.
    pub current_code: Option<String>,
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
    /// Another address that the account is to have; left out when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<PendingAddress>,
}

impl Profile {
    pub async fn of(connection: &mut PgConnection, account: Account) -> Result<Self> {
        let change = store::find_address_change(connection, &account.account_id).await?;
        Ok(Self {
            pending: change.map(PendingAddress::from),
            email_verified: account.is_verified(),
            account_id: account.account_id,
            display_name: account.display_name,
            email: account.email,
            status: account.status,
            plan: account.plan,
            created_at: Timestamp(account.created_at),
        })
    }
}

pub struct Changed {
    pub profile: Profile,
    pub is_pending: bool,
}

pub struct ChangeAccount;

impl Capability for ChangeAccount {
    const NAME: &'static str = "change_account";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.open_world().described(
        "Change the account",
        "Changes the account's name, or its address with the codes that were mailed to the new \
         one (`code`) and to the present one (`current_code`). Without the latter it waits for \
         seven days (`pending`).",
    ));
    const ACCOUNT_LIMIT: AccountLimit = AccountLimit::Control;
    type Service = Infra;
    type Access = KeyHolder<Governs>;
    type Input = AccountChange;
    type Output = Changed;

    fn refusals() -> Vec<Error> {
        let own = [
            Error::InvalidEmail,
            Error::EmailRegistered,
            wrong_field("display_name", "is too long"),
        ];
        let invalid_input = missing_field("display_name");
        own.into_iter().chain(account_code_order::refusals()).chain([invalid_input]).collect()
    }

    async fn run(infra: &Infra, caller: Caller, change: AccountChange) -> Result<Changed> {
        let name = present(change.display_name.as_deref());
        within("display_name", name, MAX_DISPLAY_NAME)?;
        let email = present(change.email.as_deref()).map(Email::parse).transpose()?;
        let (account_id, now) = (caller.account_id(), infra.clock.now());
        let mut transaction = infra.pool.begin().await?;
        let account = store::lock_account(&mut transaction, account_id).await?;
        let account = account.ok_or(Error::AccountNotFound)?;
        recheck(&mut transaction, now, &caller).await?;
        let mut moved = Moved::default();
        match email {
            Some(email) if email.as_str() == account.email => {
                withdraw(&mut transaction, now, account_id, &caller.actor).await?;
            }
            Some(email) => {
                let codes = ChangeCodes {
                    new: present(change.code.as_deref()),
                    present: present(change.current_code.as_deref()),
                };
                moved = match change_address(
                    &mut transaction,
                    &infra.outbox,
                    &infra.clock,
                    &caller,
                    &account,
                    &email,
                    &codes,
                )
                .await?
                {
                    Ok(moved) => moved,
                    Err(error) => {
                        // The failed attempt is counted even though the request fails.
                        transaction.commit().await?;
                        return Err(error);
                    }
                };
            }
            None => {}
        }
        if let Some(name) = name.filter(|&name| name != account.display_name) {
            store::update_display_name(&mut transaction, account_id, name).await?;
            caller
                .record(&mut transaction, now, account_id, ActivityKind::NameChanged, None)
                .await?;
        }
        let changed = store::find_account(&mut transaction, account_id).await?;
        let changed = changed.ok_or(Error::AccountNotFound)?;
        let profile = Profile::of(&mut transaction, changed).await?;
        transaction.commit().await?;
        for mail in moved.mails {
            address_notice::send(infra, Some(mail));
        }
        Ok(Changed { profile, is_pending: moved.is_pending })
    }
}

#[derive(Default)]
struct Moved {
    mails: Vec<ClaimedMail>,
    is_pending: bool,
}

/// Changes the address at once when the codes of both mailboxes are right; otherwise stores a
/// pending change. The caller commits whatever the inner result is.
async fn change_address(
    connection: &mut PgConnection,
    outbox: &Outbox,
    clock: &Clock,
    caller: &Caller,
    account: &Account,
    new: &Email,
    codes: &ChangeCodes<'_>,
) -> Result<Result<Moved>> {
    caller.require_fresh()?;
    let shown = match prove_change(connection, outbox, clock, caller, account, new, codes).await? {
        Ok(shown) => shown,
        Err(refusal) => return Ok(Err(refusal)),
    };
    if shown == Shown::NewMailbox {
        let mails =
            address_change::request(connection, outbox, clock, caller, account, new).await?;
        return Ok(Ok(Moved { mails, is_pending: true }));
    }
    let (now, account_id) = (clock.now(), &account.account_id);
    caller.record(connection, now, account_id, ActivityKind::AddressChanged, None).await?;
    // The session of a member with another address is unaffected.
    let kept = match &caller.actor {
        Actor::Member(address) if [&*account.email, new.as_str()].contains(&&**address) => {
            caller.session_id
        }
        _ => None,
    };
    let mail = address_change::take_effect(connection, outbox, clock, account, new, kept).await?;
    Ok(Ok(Moved { mails: mail.into_iter().collect(), is_pending: false }))
}
