use std::collections::HashMap;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::{PgConnection, PgPool};
use utoipa::ToSchema;
use uuid::Uuid;

use super::changes::{lock, record, sites_of};
use super::member_view::MemberView;
use super::membership_end;
use crate::accounts::access::{Caller, KeyHolder};
use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::codes::account_code_order;
use crate::accounts::codes::account_code_order::prove_own;
use crate::accounts::codes::code_purpose::CodePurpose;
use crate::accounts::event::ActivityKind;
use crate::accounts::input::{OnMember, Removal, wrong_revoke_keys};
use crate::accounts::keys::end_keys;
use crate::accounts::recheck::recheck;
use crate::accounts::scope::{Governs, Oversees, Scope};
use crate::accounts::site_choice;
use crate::accounts::sites::Sites;
use crate::accounts::store::{self, StoredMember};
use crate::accounts::tool::Tool;
use crate::clock::Clock;
use crate::error::{Error, Result, missing_field};
use crate::infra::Infra;
use crate::infra::limits::per_account::AccountLimit;
use crate::types::ids::id_param::IdParam;
use crate::types::ids::{AccountId, PixelId};
use crate::types::text::present;

/// The account's members, its own address first, then the oldest.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct MemberList {
    pub members: Vec<MemberView>,
}

/// What a member may do from now on.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct RoleChange {
    pub role: Scope,
    /// The only pixels that the member may use, 1 to 100. They stay when left out, except that the role `full`
    /// has all.
    #[schema(value_type = Option<Vec<PixelId>>)]
    pub pixels: Option<Vec<String>>,
    /// True for all pixels of the account.
    pub all_pixels: Option<bool>,
    /// The six digits that were mailed for `keys`.
    #[schemars(with = "String")]
    #[schema(value_type = String, pattern = "\\S", example = "042137")]
    pub code: Option<String>,
}

/// Lists the members of the account.
pub struct ListMembers;

impl Capability for ListMembers {
    const NAME: &'static str = "list_members";
    const TOOL: Option<Tool> = Some(
        Tool::READ_ONLY
            .described("List members", "Lists who may act for the account, its own address first."),
    );
    type Service = Infra;
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
    pool: &PgPool,
    account_id: &AccountId,
) -> Result<HashMap<String, DateTime<Utc>>> {
    let mut connection = pool.acquire().await?;
    let kind = ActivityKind::SignedIn;
    Ok(store::list_newest_of_kind(&mut connection, account_id, kind).await?.into_iter().collect())
}

/// Changes a member's role and sites. Codes mailed to the member end, because they were issued for the old role.
pub struct ChangeMember;

impl Capability for ChangeMember {
    const NAME: &'static str = "change_member";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.described(
        "Change a member",
        "Gives a member another role, or other pixels. Needs a code for `keys`.",
    ));
    const ACCOUNT_LIMIT: AccountLimit = AccountLimit::Control;
    type Service = Infra;
    type Access = KeyHolder<Governs>;
    type Input = OnMember;
    type Output = MemberView;

    fn refusals() -> Vec<Error> {
        let own = [
            Error::MemberNotFound,
            Error::PixelNotFound,
            missing_field("role"),
            site_choice::wrong_number(),
            site_choice::admin_of_some(),
            site_choice::some_and_all(),
        ];
        own.into_iter().chain(account_code_order::refusals()).collect()
    }

    async fn run(infra: &Infra, caller: Caller, input: OnMember) -> Result<MemberView> {
        let (account_id, now) = (caller.account_id(), infra.clock.now());
        let mut transaction = infra.pool.begin().await?;
        let account = lock(&mut transaction, account_id).await?;
        recheck(&mut transaction, now, &caller).await?;
        let mut stored = find(&mut transaction, account_id, input.member_id).await?;
        stored.sites = changed_sites(&mut transaction, &stored, &input).await?;
        let code = present(input.code.as_deref());
        let (outbox, clock) = (&infra.outbox, &infra.clock);
        let verdict =
            prove_own(&mut transaction, outbox, clock, &caller, CodePurpose::Keys, code).await?;
        if let Err(error) = verdict {
            transaction.commit().await?;
            return Err(error);
        }
        stored.role = input.role;
        store::update_role(&mut transaction, &stored).await?;
        membership_end::end_codes(&mut transaction, &account, &stored.email).await?;
        record(&mut transaction, &caller, now, ActivityKind::MemberChanged, &stored).await?;
        transaction.commit().await?;
        Ok(stored.into())
    }
}

async fn changed_sites(
    connection: &mut PgConnection,
    stored: &StoredMember,
    input: &OnMember,
) -> Result<Sites> {
    match (&input.pixels, input.all_pixels == Some(true)) {
        (Some(_), true) => Err(site_choice::some_and_all()),
        (Some(pixels), false) => {
            sites_of(connection, &stored.account_id, input.role, Some(pixels)).await
        }
        (None, false) if input.role != Scope::Full => Ok(stored.sites.clone()),
        (None, _) => Ok(Sites::ALL),
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
    type Service = Infra;
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
        let stored = find(&mut transaction, account_id, removal.member_id).await?;
        membership_end::end(&mut transaction, &account, &stored.email, None).await?;
        store::delete_member(&mut transaction, account_id, stored.member_id).await?;
        record(&mut transaction, &caller, now, ActivityKind::MemberRemoved, &stored).await?;
        if removal.revoke_keys == Some(true) {
            let maker = &stored.email;
            let made = store::list_live_keys_made_by(&mut transaction, account_id, maker, now);
            let made = made.await?;
            end_keys(&mut transaction, now, account_id, &caller.actor, &made).await?;
        }
        transaction.commit().await?;
        Ok(stored.into())
    }
}

pub async fn count_keys_made_by(
    pool: &PgPool,
    clock: &Clock,
    account_id: &AccountId,
    address: &str,
) -> Result<usize> {
    let mut connection = pool.acquire().await?;
    let now = clock.now();
    Ok(store::list_live_keys_made_by(&mut connection, account_id, address, now).await?.len())
}

async fn find(
    connection: &mut PgConnection,
    account_id: &AccountId,
    member_id: IdParam<Uuid>,
) -> Result<StoredMember> {
    let member_id = member_id.into_id().ok_or(Error::MemberNotFound)?;
    let stored = store::find_member_by_id(connection, account_id, member_id).await?;
    stored.ok_or(Error::MemberNotFound)
}
