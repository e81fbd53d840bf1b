//! Signing up and confirming.

use rmcp::{tool, tool_router};
use schemars::JsonSchema;

use crate::accounts::capabilities::accounts::*;
use crate::accounts::capabilities::confirmation::*;
use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::input::{OfAccount, OfLink, OnAccount};
use crate::accounts::plans::PlanList;
use crate::accounts::signup::OpenedAccount;
use crate::accounts::signup::account_view::AccountView;
use crate::accounts::signup::code_requests::{CodeRequest, CodeSent};
use crate::accounts::signup::confirmation::{ConfirmRequest, Confirmation, Confirmed};
use crate::accounts::signup::resending::Resent;
use crate::accounts::signup::signup_rejection::RejectedSignup;
use crate::accounts::signup::signup_request::SignupRequest;
use crate::accounts::signup::token_renewal::{RenewalRequest, RenewedToken};
use crate::mcp::call::{OperatorKeyed, Parameters, Tokened};
use crate::mcp::outcome::{Json, Refusal};
use crate::mcp::tool_server::ToolServer;

#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes the arguments")]
struct ConfirmArguments {
    account_id: String,
    /// The six digits of the confirmation mail, valid for 24 hours.
    #[schemars(with = "String")]
    code: Option<String>,
    /// With it the first confirmation also gives an API key.
    signup_token: Option<String>,
}

#[tool_router(router = account_tools, vis = "pub(super)")]
impl ToolServer {
    /// Tells the plans: what a trial includes, and what it costs after that. Needs no key.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn list_plans(&self, call: Parameters<NoInput>) -> Result<Json<PlanList>, Refusal> {
        self.run::<ListPlans>(&call).await
    }

    /// Opens an account with a 30-day trial and mails the person a confirmation code and link.
    /// Needs no key. Keep `account_id` and `signup_token`; where the service sends no mail, the
    /// answer has a `verification_url` for `confirm_by_link`.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = true
    ))]
    async fn create_account(
        &self,
        call: Parameters<OperatorKeyed<SignupRequest>>,
    ) -> Result<Json<OpenedAccount>, Refusal> {
        self.run::<CreateAccount>(&call).await
    }

    /// Mails the confirmation code and link once more, at most once a minute.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = true
    ))]
    async fn resend_confirmation(
        &self,
        call: Parameters<Tokened<OfAccount>>,
    ) -> Result<Json<Resent>, Refusal> {
        self.run::<ResendConfirmation>(&call).await
    }

    /// Mails a fresh code to an address that has an account, without any credential: at most one a
    /// minute and five a day. The answer is the same whether the address has an account or not.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = true
    ))]
    async fn resend_code(&self, call: Parameters<CodeRequest>) -> Result<Json<CodeSent>, Refusal> {
        self.run::<ResendCode>(&call).await
    }

    /// Confirms the address with the six-digit code from the mail. With the signup token the first
    /// confirmation also gives the API key, once.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = false
    ))]
    async fn confirm_by_code(
        &self,
        call: Parameters<ConfirmArguments>,
    ) -> Result<Json<Confirmation>, Refusal> {
        // A connection may send it as a header, where the route only reads it from the body.
        let signup_token = call.credentials(ConfirmByCode::INVALID_INPUT)?.signup_token;
        let with_token = |mut account: OnAccount<ConfirmRequest>| {
            account.input.signup_token = signup_token;
            account
        };
        Ok(Json(self.ask::<ConfirmByCode, _>(&call, with_token).await?))
    }

    /// Confirms the address with the link that was mailed or returned as `verification_url`. After
    /// it, `issue_api_key` with the signup token gives the first key.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = true,
        open_world_hint = false
    ))]
    async fn confirm_by_link(&self, call: Parameters<OfLink>) -> Result<Json<Confirmed>, Refusal> {
        self.run::<ConfirmByLink>(&call).await
    }

    /// Closes an account that somebody else opened with the person's address: "this was not me". Takes
    /// either link of the confirmation mail. Only while the account has no pixel and has not paid; of
    /// any other, `renew_signup_token` ends the keys.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = false,
        open_world_hint = false
    ))]
    async fn disown_account(
        &self,
        call: Parameters<OfLink>,
    ) -> Result<Json<RejectedSignup>, Refusal> {
        self.run::<DisownAccount>(&call).await
    }

    /// Exchanges a fresh code (see `resend_code`) for a new signup token; the old one ends, and with it
    /// every key that stems from it.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = false,
        open_world_hint = false
    ))]
    async fn renew_signup_token(
        &self,
        call: Parameters<OnAccount<RenewalRequest>>,
    ) -> Result<Json<RenewedToken>, Refusal> {
        self.run::<RenewSignupToken>(&call).await
    }

    /// Tells an account's status and plan, and whether its address is confirmed. Needs the signup
    /// token; with a key, `whoami` tells more.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn show_account(
        &self,
        call: Parameters<Tokened<OfAccount>>,
    ) -> Result<Json<AccountView>, Refusal> {
        self.run::<ShowAccount>(&call).await
    }
}
