//! The account of the caller's own key.

use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::account_deletion::capabilities::DeleteAccount;
use crate::account_deletion::deletion::{DeletedAccount, DeletionRequest};
use crate::accounts::capabilities::account::*;
use crate::accounts::capabilities::members::*;
use crate::accounts::capability::NoInput;
use crate::accounts::codes::account_code_order::{CodeOrder, CodeOrdered};
use crate::accounts::events::{EventPage, EventQuery};
use crate::accounts::mails::preferences::{MailChange, MailPreferences};
use crate::accounts::members::member_list::{Invitation, MemberList, MemberView};
use crate::accounts::profile::{AccountChange, Profile};
use crate::mcp::call::{Keyed, Parameters};
use crate::mcp::outcome::{Json, Refusal};
use crate::mcp::tool_server::ToolServer;

/// Events of one answer when its reader names no number.
const USUAL: i64 = 25;

#[derive(Deserialize, JsonSchema)]
struct EventArguments {
    /// The `next_before` of the page before.
    before: Option<String>,
    /// 25 when left out.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<i64>,
}

#[tool_router(router = own_account_tools, vis = "pub(super)")]
impl ToolServer {
    /// Mails the person a six-digit code, valid for 15 minutes, which `change_account` and
    /// `delete_account` ask for. Ask the person for it; never guess.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = true
    ))]
    async fn order_code(
        &self,
        call: Parameters<Keyed<CodeOrder>>,
    ) -> Result<Json<CodeOrdered>, Refusal> {
        self.run::<OrderCode>(&call).await
    }

    /// Changes the account's name, or its address with the codes that were mailed to the new one (`code`)
    /// and to the present one (`current_code`). Without the latter it waits for seven days (`pending`).
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = false,
        open_world_hint = true
    ))]
    async fn change_account(
        &self,
        call: Parameters<Keyed<AccountChange>>,
    ) -> Result<Json<Profile>, Refusal> {
        let change = |change: AccountChange| change;
        Ok(Json(self.ask::<ChangeAccount, _>(&call, change).await?.profile))
    }

    /// Tells who did what in the account, newest first.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn read_account_events(
        &self,
        call: Parameters<Keyed<EventArguments>>,
    ) -> Result<Json<EventPage>, Refusal> {
        let query = |EventArguments { before, limit }| EventQuery {
            before,
            limit: Some(limit.unwrap_or(USUAL).to_string()),
        };
        Ok(Json(self.ask::<ReadAccountEvents, _>(&call, query).await?))
    }

    /// Tells which mails the account's address gets.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn read_mail_preferences(
        &self,
        call: Parameters<Keyed<NoInput>>,
    ) -> Result<Json<MailPreferences>, Refusal> {
        self.run::<ReadMailPreferences>(&call).await
    }

    /// Turns mails to the account's address on or off; what is left out stays.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = true,
        open_world_hint = false
    ))]
    async fn change_mail_preferences(
        &self,
        call: Parameters<Keyed<MailChange>>,
    ) -> Result<Json<MailPreferences>, Refusal> {
        self.run::<ChangeMailPreferences>(&call).await
    }

    /// Lists who may act for the account, its own address first.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn list_members(
        &self,
        call: Parameters<Keyed<NoInput>>,
    ) -> Result<Json<MemberList>, Refusal> {
        self.run::<ListMembers>(&call).await
    }

    /// Makes somebody a member, who is told by mail and signs in at the console. Needs a code for
    /// `keys` from `order_code`.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = true
    ))]
    async fn invite_member(
        &self,
        call: Parameters<Keyed<Invitation>>,
    ) -> Result<Json<MemberView>, Refusal> {
        self.run::<InviteMember>(&call).await
    }

    /// Gives a member another role. Needs a code for `keys`.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = false,
        open_world_hint = false
    ))]
    async fn change_member(
        &self,
        call: Parameters<Keyed<OnMember>>,
    ) -> Result<Json<MemberView>, Refusal> {
        self.run::<ChangeMember>(&call).await
    }

    /// Removes a member at once. The member's keys stay unless `revoke_keys` is true.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = false,
        open_world_hint = false
    ))]
    async fn remove_member(
        &self,
        call: Parameters<Keyed<Removal>>,
    ) -> Result<Json<MemberView>, Refusal> {
        self.run::<RemoveMember>(&call).await
    }

    /// Deletes the account with everything in it, for good, and ends its subscription. Only when the
    /// person asks for it and gives a code for `delete_account`; offer `/v1/account/export` first.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = false,
        open_world_hint = true
    ))]
    async fn delete_account(
        &self,
        call: Parameters<Keyed<DeletionRequest>>,
    ) -> Result<Json<DeletedAccount>, Refusal> {
        self.run::<DeleteAccount>(&call).await
    }
}
