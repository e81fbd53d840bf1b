//! What can be asked for about the members of the caller's account.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::accounts::access::{Caller, KeyHolder};
use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::codes::account_code_order;
use crate::accounts::members::member_list::{
    self, Invitation, Keys, MemberList, MemberView, RoleChange,
};
use crate::accounts::scope::{Governs, Oversees, Scope};
use crate::accounts::tool::Tool;
use crate::error::Error::*;
use crate::error::{Error, FieldError, Result, missing_field};
use crate::infra::Infra;
use crate::infra::limits::per_account::AccountLimit;
use crate::infra::limits::per_client::Limit;

/// What a member may do from now on.
#[derive(Deserialize, JsonSchema)]
pub struct OnMember {
    pub member_id: String,
    pub role: Scope,
    /// The six digits that were mailed for `keys`.
    #[schemars(with = "String")]
    pub code: Option<String>,
}

/// Who is to be a member no longer.
#[derive(Deserialize, JsonSchema)]
pub struct Removal {
    pub member_id: String,
    /// Whether the keys end that the member made, and those that were made with them; they stay when left
    /// out.
    pub revoke_keys: Option<bool>,
}

/// Who may act for the account.
pub struct ListMembers;

impl Capability for ListMembers {
    const NAME: &'static str = "list_members";
    const TOOL: Option<Tool> = Some(
        Tool::READ_ONLY.described("Lists who may act for the account, its own address first."),
    );
    type Part = Infra;
    type Access = KeyHolder<Oversees>;
    type Input = NoInput;
    type Output = MemberList;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<MemberList> {
        member_list::list(infra, caller.account_id()).await
    }
}

/// Somebody becomes a member, and is told by mail.
pub struct InviteMember;

impl Capability for InviteMember {
    const NAME: &'static str = "invite_member";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.open_world().described(
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
            InvalidEmail,
            AlreadyMember,
            MemberAllowanceReached,
            InvitationFailed,
            TooManyRequests { retry_after: 20 },
            missing_field("role"),
        ];
        own.into_iter().chain(account_code_order::refusals()).collect()
    }

    async fn run(infra: &Infra, caller: Caller, invitation: Invitation) -> Result<MemberView> {
        member_list::invite(infra, &caller, &invitation).await
    }
}

/// A member has another role.
pub struct ChangeMember;

impl Capability for ChangeMember {
    const NAME: &'static str = "change_member";
    const TOOL: Option<Tool> =
        Some(Tool::DESTRUCTIVE.described("Gives a member another role. Needs a code for `keys`."));
    const ACCOUNT_LIMIT: AccountLimit = AccountLimit::Control;
    type Part = Infra;
    type Access = KeyHolder<Governs>;
    type Input = OnMember;
    type Output = MemberView;

    fn refusals() -> Vec<Error> {
        let own = [MemberNotFound, missing_field("role")];
        own.into_iter().chain(account_code_order::refusals()).collect()
    }

    async fn run(infra: &Infra, caller: Caller, input: OnMember) -> Result<MemberView> {
        let OnMember { member_id, role, code } = input;
        member_list::change(infra, &caller, &member_id, &RoleChange { role, code }).await
    }
}

/// The error for a `revoke_keys` that is not a boolean.
pub fn wrong_revoke_keys() -> Error {
    let problem = "must be true or false";
    Error::Validation(vec![FieldError::new(&["query", "revoke_keys"], problem, "bool_parsing")])
}

/// A membership ends.
pub struct RemoveMember;

impl Capability for RemoveMember {
    const NAME: &'static str = "remove_member";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.described(
        "Removes a member at once. The member's keys stay unless `revoke_keys` is true.",
    ));
    const ACCOUNT_LIMIT: AccountLimit = AccountLimit::Control;
    type Part = Infra;
    type Access = KeyHolder<Governs>;
    type Input = Removal;
    type Output = MemberView;

    fn refusals() -> Vec<Error> {
        vec![MemberNotFound, wrong_revoke_keys()]
    }

    async fn run(infra: &Infra, caller: Caller, removal: Removal) -> Result<MemberView> {
        let keys = if removal.revoke_keys == Some(true) { Keys::End } else { Keys::Stay };
        member_list::remove(infra, &caller, &removal.member_id, keys).await
    }
}
