//! Signing up, confirming, keys.

use rmcp::handler::server::wrapper::Json;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use super::{OperatorKey, OptionalToken, Parameters, Token, TokenOrKey, ToolServer};
use crate::accounts::account::{self, AccountView};
use crate::accounts::code_requests::{self, CodeRequest, CodeSent};
use crate::accounts::confirmation::{self, ConfirmRequest, Confirmation, Confirmed, Resent};
use crate::accounts::email::Email;
use crate::accounts::key_issuing::{self, IssuedKey};
use crate::accounts::plans::{self, PlanList};
use crate::accounts::signup::{self, OpenedAccount, SignupRequest};
use crate::accounts::token_renewal::{self, RenewalRequest, RenewedToken};
use crate::agents::outcome::Refusal;
use crate::error::Error;
use crate::http::body::present;
use crate::http::rate_limit::{Codes, KeyIssues, Mails, Signups};
use crate::ids::AccountId;

#[derive(Deserialize, JsonSchema)]
struct CreateAccount {
    #[serde(flatten)]
    signup: SignupRequest,
    #[serde(flatten)]
    _key: OperatorKey,
}

#[derive(Deserialize, JsonSchema)]
struct AccountArguments {
    /// As `create_account` gave it.
    account_id: String,
    #[serde(flatten)]
    _token: Token,
}

#[derive(Deserialize, JsonSchema)]
struct ConfirmAccount {
    /// As `create_account` gave it.
    account_id: String,
    /// The six digits of the confirmation mail, valid for 24 hours.
    #[schemars(with = "String")]
    code: Option<String>,
    #[serde(flatten)]
    _token: OptionalToken,
}

#[derive(Deserialize, JsonSchema)]
struct ConfirmByLink {
    /// The `verification_url` of an answer, or the link of the confirmation mail.
    verification_url: String,
}

#[derive(Deserialize, JsonSchema)]
struct RenewSignupToken {
    /// As `create_account` gave it.
    account_id: String,
    #[serde(flatten)]
    renewal: RenewalRequest,
}

#[derive(Deserialize, JsonSchema)]
struct IssueApiKey {
    /// Whose key it is; needed with a signup token, left out with a key.
    account_id: Option<String>,
    #[serde(flatten)]
    _credentials: TokenOrKey,
}

#[tool_router(router = account_tools, vis = "pub(super)")]
impl ToolServer {
    /// Tells the plans: what a trial includes, and what it costs after that. Needs no key.
    #[tool(annotations(title = "List the plans", read_only_hint = true, open_world_hint = false))]
    async fn list_plans(&self) -> Result<Json<PlanList>, Refusal> {
        Ok(Json(plans::offered()))
    }

    /// Opens an account with a 30-day trial and mails the person a confirmation code and link.
    /// Needs no key. Keep `account_id` and `signup_token`; where the service sends no mail, the
    /// answer has a `verification_url` for `confirm_by_link`.
    #[tool(annotations(
        title = "Create an account",
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = true
    ))]
    async fn create_account(
        &self,
        call: Parameters<CreateAccount>,
    ) -> Result<Json<OpenedAccount>, Refusal> {
        let signup = call.json()?.signup.check()?;
        let by_operator = signup::is_unlimited_key(&self.platform, call.api_key()).await?;
        if !by_operator {
            self.admit::<Signups>(&call)?;
        }
        Ok(Json(signup::open_account(&self.platform, by_operator, signup).await?))
    }

    /// Mails the confirmation code and link once more, at most once a minute.
    #[tool(annotations(
        title = "Send the confirmation mail again",
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = true
    ))]
    async fn resend_confirmation(
        &self,
        call: Parameters<AccountArguments>,
    ) -> Result<Json<Resent>, Refusal> {
        self.admit::<Mails>(&call)?;
        let account_id = known_form(&call.validated()?.account_id)?;
        let token = call.signup_token();
        Ok(Json(confirmation::resend_mail(&self.platform, &account_id, token).await?))
    }

    /// Mails a fresh code to an address that has an account, without any credential: at most one a
    /// minute and five a day. The answer is the same whether the address has an account or not.
    #[tool(annotations(
        title = "Send a fresh code",
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = true
    ))]
    async fn resend_code(&self, call: Parameters<CodeRequest>) -> Result<Json<CodeSent>, Refusal> {
        self.admit::<Mails>(&call)?;
        let email = Email::required(call.validated()?.email.as_deref())?;
        Ok(Json(code_requests::request_code(&self.platform, email).await?))
    }

    /// Confirms the address with the six-digit code from the mail. With the signup token the first
    /// confirmation also gives the API key, once.
    #[tool(annotations(
        title = "Confirm the email address by code",
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = false
    ))]
    async fn confirm_account(
        &self,
        call: Parameters<ConfirmAccount>,
    ) -> Result<Json<Confirmation>, Refusal> {
        self.admit::<Codes>(&call)?;
        let arguments = call.validated()?;
        let account_id = known_form(&arguments.account_id)?;
        let signup_token = call.signup_token().map(str::to_owned);
        let request = ConfirmRequest { code: arguments.code, signup_token };
        Ok(Json(confirmation::confirm_by_code(&self.platform, &account_id, &request).await?))
    }

    /// Confirms the address with the link that was mailed or returned as `verification_url`. After
    /// it, `issue_api_key` with the signup token gives the first key.
    #[tool(annotations(
        title = "Confirm the email address by link",
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = true,
        open_world_hint = false
    ))]
    async fn confirm_by_link(
        &self,
        call: Parameters<ConfirmByLink>,
    ) -> Result<Json<Confirmed>, Refusal> {
        let token = link_token(&call.validated()?.verification_url)?;
        Ok(Json(confirmation::confirm_by_link(&self.platform, &token).await?))
    }

    /// Exchanges a fresh code (see `resend_code`) for a new signup token; the old one ends.
    #[tool(annotations(
        title = "Renew the signup token",
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = false,
        open_world_hint = false
    ))]
    async fn renew_signup_token(
        &self,
        call: Parameters<RenewSignupToken>,
    ) -> Result<Json<RenewedToken>, Refusal> {
        self.admit::<Codes>(&call)?;
        let RenewSignupToken { account_id, renewal } = call.validated()?;
        let renewed = token_renewal::renew_signup_token(&self.platform, &account_id, &renewal);
        Ok(Json(renewed.await?))
    }

    /// Tells an account's status and plan, and whether its address is confirmed. Needs the signup
    /// token; with a key, `whoami` tells more.
    #[tool(annotations(title = "Account status", read_only_hint = true, open_world_hint = false))]
    async fn account_status(
        &self,
        call: Parameters<AccountArguments>,
    ) -> Result<Json<AccountView>, Refusal> {
        let account_id = call.validated()?.account_id;
        Ok(Json(account::show(&self.platform, &account_id, call.signup_token()).await?))
    }

    /// Issues an API key: the first one with the signup token and `account_id` once the address is
    /// confirmed, another one with a key. The secret is shown only in this answer.
    #[tool(annotations(
        title = "Issue an API key",
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = false
    ))]
    async fn issue_api_key(
        &self,
        call: Parameters<IssueApiKey>,
    ) -> Result<Json<IssuedKey>, Refusal> {
        self.admit::<KeyIssues>(&call)?;
        let account_id = call.validated()?.account_id;
        let account_id = present(account_id.as_deref());
        let issued = match call.signup_token() {
            Some(token) => key_issuing::issue_with_token(&self.platform, account_id, token).await?,
            None if call.api_key().is_some() || call.authorization_sent() => {
                self.refuse_foreign(&call, account_id).await?;
                let attempts = self.attempts(&call);
                key_issuing::issue_with_key(&self.platform, &attempts, call.api_key()).await?
            }
            None => return Err(Error::ApiKeyOrSignupTokenRequired.into()),
        };
        Ok(Json(issued))
    }
}

impl ToolServer {
    /// A key says by itself whose it is; an agent that names another account is mistaken.
    async fn refuse_foreign(
        &self,
        call: &Parameters<IssueApiKey>,
        account_id: Option<&str>,
    ) -> Result<(), Error> {
        let Some(account_id) = account_id else { return Ok(()) };
        match self.anyone(call).await?.account_id().as_str() == account_id {
            true => Ok(()),
            false => Err(Error::AccountNotFound),
        }
    }
}

fn known_form(account_id: &str) -> Result<AccountId, Error> {
    AccountId::parse(account_id).ok_or(Error::AccountNotFound)
}

/// The token of a confirmation link, or a token by itself.
fn link_token(text: &str) -> Result<String, Error> {
    let text = present(Some(text)).ok_or(Error::VerificationTokenRequired)?;
    let Ok(link) = Url::parse(text) else { return Ok(text.to_owned()) };
    let token = link.query_pairs().find(|(name, _)| name == "token");
    token.map(|(_, token)| token.into_owned()).ok_or(Error::VerificationTokenRequired)
}
