use std::collections::HashMap;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{invitation, membership_end};
use crate::accounts::access::{Caller, KeyHolder};
use crate::accounts::account::Account;
use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::codes::account_code_order;
use crate::accounts::codes::account_code_order::prove_own;
use crate::accounts::codes::code_purpose::CodePurpose;
use crate::accounts::event::EventKind;
use crate::accounts::input::{OnMember, Removal, wrong_revoke_keys};
use crate::accounts::keys::end_keys;
use crate::accounts::limits::mailbox;
use crate::accounts::recheck::recheck;
use crate::accounts::scope::{Governs, Oversees, Scope};
use crate::accounts::store::{self, StoredMember};
use crate::accounts::tool::Tool;
use crate::clock::Timestamp;
use crate::error::{Error, Result, missing_field};
use crate::infra::Infra;
use crate::infra::limits::per_account::AccountLimit;
use crate::infra::limits::per_client::Limit;
use crate::once;
use crate::types::email::Email;
use crate::types::ids::{AccountId, uuid_v7};
use crate::types::text::present;

pub const MAX_MEMBERS: i64 = 5;

/// A member.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct MemberView {
    /// Null for the account's own address, which `PATCH /v1/account` changes.
    #[schema(required = true)]
    pub member_id: Option<Uuid>,
    pub email: String,
    pub role: Scope,
    pub created_at: Timestamp,
}

impl From<StoredMember> for MemberView {
    fn from(stored: StoredMember) -> Self {
        let (member_id, created_at) = (Some(stored.member_id), Timestamp(stored.created_at));
        Self { member_id, email: stored.email, role: stored.role, created_at }
    }
}

impl MemberView {
    fn of_own_address(account: Account) -> Self {
        let created_at = Timestamp(account.created_at);
        Self { member_id: None, email: account.email, role: Scope::Full, created_at }
    }
}

/// The account's members, its own address first, then the oldest.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct MemberList {
    pub members: Vec<MemberView>,
}

/// Who is to be a member.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct Invitation {
    #[schemars(with = "String")]
    #[schema(value_type = String, format = Email, example = "bob@shop.example")]
    pub email: Option<String>,
    /// What the member may do.
    pub role: Scope,
    /// The six digits that were mailed for `keys`.
    #[schemars(with = "String")]
    #[schema(value_type = String, pattern = "\\S", example = "042137")]
    pub code: Option<String>,
}

/// What a member may do from now on.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct RoleChange {
    pub role: Scope,
    /// The six digits that were mailed for `keys`.
    #[schemars(with = "String")]
    #[schema(value_type = String, pattern = "\\S", example = "042137")]
    pub code: Option<String>,
}

/// Who may act for the account.
pub struct ListMembers;

impl Capability for ListMembers {
    const NAME: &'static str = "list_members";
    const TOOL: Option<Tool> = Some(
        Tool::READ_ONLY
            .described("List members", "Lists who may act for the account, its own address first."),
    );
    type Part = Infra;
    type Access = KeyHolder<Oversees>;
    type Input = NoInput;
    type Output = MemberList;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<MemberList> {
        let account_id = caller.account_id();
        let mut connection = infra.pool.acquire().await?;
        let account = store::find_account(&mut connection, account_id).await?;
        let own = MemberView::of_own_address(account.ok_or(Error::AccountNotFound)?);
        let stored = store::list_members(&mut connection, account_id).await?;
        Ok(MemberList {
            members: [own].into_iter().chain(stored.into_iter().map(From::from)).collect(),
        })
    }
}

/// The last sign-in of each address, as far as the activity log goes back.
pub async fn last_sign_ins(
    infra: &Infra,
    account_id: &AccountId,
) -> Result<HashMap<String, DateTime<Utc>>> {
    let mut connection = infra.pool.acquire().await?;
    let kind = EventKind::SignedIn;
    Ok(store::list_newest_of_kind(&mut connection, account_id, kind).await?.into_iter().collect())
}

/// Makes an address a member and tells it by mail. When the mail server refuses the mail, nobody has
/// become a member.
pub struct InviteMember;

impl Capability for InviteMember {
    const NAME: &'static str = "invite_member";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.open_world().described(
        "Invite a member",
        "Makes somebody a member, who is told by mail and signs in at the console. Needs a code \
         for `keys` from `order_code`.",
    ));
    const LIMIT: Option<Limit> = Some(Limit::Mails);
    type Part = Infra;
    type Access = KeyHolder<Governs>;
    type Input = Invitation;
    type Output = MemberView;

    fn refusals() -> Vec<Error> {
        let own = [
            Error::InvalidEmail,
            Error::AlreadyMember,
            Error::MemberAllowanceReached,
            Error::InvitationFailed,
            Error::TooManyRequests { retry_after: 20 },
            missing_field("role"),
        ];
        own.into_iter().chain(account_code_order::refusals()).collect()
    }

    async fn run(infra: &Infra, caller: Caller, invitation: Invitation) -> Result<MemberView> {
        let email = Email::required(invitation.email.as_deref())?;
        let (account_id, now) = (caller.account_id(), infra.clock.now());
        let mut transaction = infra.pool.begin().await?;
        let account = lock(&mut transaction, account_id).await?;
        recheck(&mut transaction, now, &caller).await?;
        admit(&mut transaction, &account, &email).await?;
        let code = present(invitation.code.as_deref());
        let verdict = prove_own(&mut transaction, infra, &caller, CodePurpose::Keys, code).await?;
        if let Err(error) = verdict {
            // The wrong try is counted even though the request fails.
            transaction.commit().await?;
            return Err(error);
        }
        let stored = StoredMember {
            member_id: uuid_v7(now),
            account_id: account_id.clone(),
            email: email.as_str().to_owned(),
            role: invitation.role,
            created_at: now,
        };
        store::insert_member(&mut transaction, &stored).await?;
        note(&mut transaction, &caller, now, EventKind::MemberInvited, &stored).await?;
        let too_many = |retry_after| Error::TooManyRequests { retry_after };
        mailbox::admit(&mut transaction, infra, now, &email, too_many).await?;
        let mail = invitation::put(&mut transaction, infra, account_id, stored.member_id).await?;
        let invited = MemberView::from(stored.clone());
        let status = mail.is_none().then_some(201);
        once::keep(infra, &mut transaction, status, &invited).await?;
        transaction.commit().await?;
        if invitation::attempt(infra, mail.as_ref()).await? {
            return Ok(invited);
        }
        let mut transaction = infra.pool.begin().await?;
        let account = lock(&mut transaction, account_id).await?;
        membership_end::end(&mut transaction, &account, &stored.email, None).await?;
        store::delete_member(&mut transaction, account_id, stored.member_id).await?;
        mailbox::give_back(&mut transaction, &email).await?;
        note(&mut transaction, &caller, infra.clock.now(), EventKind::MemberRemoved, &stored)
            .await?;
        once::take_back(&mut transaction).await?;
        transaction.commit().await?;
        Err(Error::InvitationFailed)
    }
}

async fn admit(connection: &mut PgConnection, account: &Account, email: &Email) -> Result<()> {
    let account_id = &account.account_id;
    let is_member = account.email == email.as_str()
        || store::find_member(connection, account_id, email.as_str()).await?.is_some();
    if is_member {
        return Err(Error::AlreadyMember);
    }
    let stored = store::list_members(connection, account_id).await?.len();
    match i64::try_from(stored).map_err(Error::internal)? + 1 >= MAX_MEMBERS {
        true => Err(Error::MemberAllowanceReached),
        false => Ok(()),
    }
}

/// Changes a member's role. Codes mailed to the member end, because they were issued for the old role.
pub struct ChangeMember;

impl Capability for ChangeMember {
    const NAME: &'static str = "change_member";
    const TOOL: Option<Tool> = Some(
        Tool::DESTRUCTIVE
            .described("Change a member", "Gives a member another role. Needs a code for `keys`."),
    );
    const ACCOUNT_LIMIT: AccountLimit = AccountLimit::Control;
    type Part = Infra;
    type Access = KeyHolder<Governs>;
    type Input = OnMember;
    type Output = MemberView;

    fn refusals() -> Vec<Error> {
        let own = [Error::MemberNotFound, missing_field("role")];
        own.into_iter().chain(account_code_order::refusals()).collect()
    }

    async fn run(infra: &Infra, caller: Caller, input: OnMember) -> Result<MemberView> {
        let (account_id, now) = (caller.account_id(), infra.clock.now());
        let mut transaction = infra.pool.begin().await?;
        let account = lock(&mut transaction, account_id).await?;
        recheck(&mut transaction, now, &caller).await?;
        let mut stored = find(&mut transaction, account_id, &input.member_id).await?;
        let code = present(input.code.as_deref());
        let verdict = prove_own(&mut transaction, infra, &caller, CodePurpose::Keys, code).await?;
        if let Err(error) = verdict {
            transaction.commit().await?;
            return Err(error);
        }
        stored.role = input.role;
        store::update_role(&mut transaction, &stored).await?;
        membership_end::end_codes(&mut transaction, &account, &stored.email).await?;
        note(&mut transaction, &caller, now, EventKind::MemberChanged, &stored).await?;
        transaction.commit().await?;
        Ok(stored.into())
    }
}

/// Ends a membership at once, with the member's sessions, codes and sign-ins. Needs no code,
/// because an owner who finds an intruder must be able to act immediately.
pub struct RemoveMember;

impl Capability for RemoveMember {
    const NAME: &'static str = "remove_member";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.described(
        "Remove a member",
        "Removes a member at once. The member's keys stay unless `revoke_keys` is true.",
    ));
    const ACCOUNT_LIMIT: AccountLimit = AccountLimit::Control;
    type Part = Infra;
    type Access = KeyHolder<Governs>;
    type Input = Removal;
    type Output = MemberView;

    fn refusals() -> Vec<Error> {
        vec![Error::MemberNotFound, wrong_revoke_keys()]
    }

    async fn run(infra: &Infra, caller: Caller, removal: Removal) -> Result<MemberView> {
        let (account_id, now) = (caller.account_id(), infra.clock.now());
        let mut transaction = infra.pool.begin().await?;
        let account = lock(&mut transaction, account_id).await?;
        recheck(&mut transaction, now, &caller).await?;
        let stored = find(&mut transaction, account_id, &removal.member_id).await?;
        membership_end::end(&mut transaction, &account, &stored.email, None).await?;
        store::delete_member(&mut transaction, account_id, stored.member_id).await?;
        note(&mut transaction, &caller, now, EventKind::MemberRemoved, &stored).await?;
        if removal.revoke_keys == Some(true) {
            let made =
                store::list_live_keys_made_by(&mut transaction, account_id, &stored.email).await?;
            end_keys(&mut transaction, now, account_id, &caller.actor, &made).await?;
        }
        transaction.commit().await?;
        Ok(stored.into())
    }
}

pub async fn count_keys_made_by(
    infra: &Infra,
    account_id: &AccountId,
    address: &str,
) -> Result<usize> {
    let mut connection = infra.pool.acquire().await?;
    Ok(store::list_live_keys_made_by(&mut connection, account_id, address).await?.len())
}

async fn lock(connection: &mut PgConnection, account_id: &AccountId) -> Result<Account> {
    store::lock_account(connection, account_id).await?.ok_or(Error::AccountNotFound)
}

async fn find(
    connection: &mut PgConnection,
    account_id: &AccountId,
    member_id: &str,
) -> Result<StoredMember> {
    let member_id = member_id.parse().map_err(|_| Error::MemberNotFound)?;
    let stored = store::find_member_by_id(connection, account_id, member_id).await?;
    stored.ok_or(Error::MemberNotFound)
}

async fn note(
    connection: &mut PgConnection,
    caller: &Caller,
    now: DateTime<Utc>,
    kind: EventKind,
    stored: &StoredMember,
) -> Result<()> {
    caller.note(connection, now, &stored.account_id, kind, Some(&stored.email)).await
}
