use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::{PgConnection, PgPool};
use utoipa::ToSchema;

use super::email_verification::{CodeUse, try_code};
use crate::accounts::access::Anybody;
use crate::accounts::account::{Account, Status};
use crate::accounts::actor::Actor;
use crate::accounts::capability::Capability;
use crate::accounts::credentials::{
    ApiKey, KeyOrigin, KeyTerms, account_of_signup_token, issue_api_key,
};
use crate::accounts::input::{OfLink, OnAccount};
use crate::accounts::store;
use crate::accounts::tool::Tool;
use crate::clock::Clock;
use crate::error::{Error, Result, missing_field};
use crate::idempotency;
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::infra::secret_hash::secret_hash;
use crate::types::ids::AccountId;
use crate::types::text::present;

/// An address that its owner has confirmed by link.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct Confirmed {
    pub account_id: AccountId,
    pub email_verified: bool,
}

impl From<Account> for Confirmed {
    fn from(account: Account) -> Self {
        Self { email_verified: account.is_verified(), account_id: account.account_id }
    }
}

/// Confirms the address with the token of a link. Idempotent.
pub async fn confirm_by_link(pool: &PgPool, clock: &Clock, token: &str) -> Result<Account> {
    let now = clock.now();
    let mut transaction = pool.begin().await?;
    let account_id = valid_link(&mut transaction, now, token).await?;
    store::update_email_verified(&mut transaction, &account_id, now).await?;
    let account = store::find_account(&mut transaction, &account_id).await?;
    transaction.commit().await?;
    account.ok_or(Error::VerificationLinkNotFound)
}

/// Finds the account that the link would confirm, without side effects.
pub async fn find_link_account(pool: &PgPool, clock: &Clock, token: &str) -> Result<Account> {
    let mut connection = pool.acquire().await?;
    let account_id = valid_link(&mut connection, clock.now(), token).await?;
    let account = store::find_account(&mut connection, &account_id).await?;
    account.ok_or(Error::VerificationLinkNotFound)
}

async fn valid_link(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    token: &str,
) -> Result<AccountId> {
    let link = store::find_confirmation_link(connection, &secret_hash(token))
        .await?
        .ok_or(Error::VerificationLinkNotFound)?;
    if link.expires_at <= now {
        return Err(Error::VerificationLinkExpired);
    }
    Ok(link.account_id)
}

/// The code of the confirmation mail.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct ConfirmRequest {
    /// Six digits.
    #[schemars(with = "String")]
    #[schema(value_type = String, pattern = "\\S", example = "042137")]
    pub code: Option<String>,
    /// With a valid one the first confirmation brings an API key.
    pub signup_token: Option<String>,
}

/// The answer to a confirmation by code.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct Confirmation {
    pub account_id: AccountId,
    pub status: Status,
    pub email_verified: bool,
    /// Whether the address had been confirmed before.
    pub already_verified: bool,
    /// Only for the first confirmation with a valid signup token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// The key's first 12 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
}

/// Confirms through the code. With a valid signup token the first confirmation brings an API key.
pub struct ConfirmByCode;

impl Capability for ConfirmByCode {
    const NAME: &'static str = "confirm_by_code";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.described(
        "Confirm the address by code",
        "Confirms the address with the six-digit code from the mail. With the signup token the \
         first confirmation also gives the API key, once.",
    ));
    const LIMIT: Option<Limit> = Some(Limit::Codes);
    type Service = Infra;
    type Access = Anybody;
    type Input = OnAccount<ConfirmRequest>;
    type Output = Confirmation;

    fn refusals() -> Vec<Error> {
        vec![
            Error::AccountNotFound,
            Error::InvalidCode,
            Error::TooManyAttempts { retry_after: 60 },
            missing_field("code"),
        ]
    }

    async fn run(
        infra: &Infra,
        (): (),
        OnAccount { account_id, input: request }: OnAccount<ConfirmRequest>,
    ) -> Result<Confirmation> {
        let account_id = &account_id.into_id().ok_or(Error::AccountNotFound)?;
        let code = present(request.code.as_deref()).ok_or_else(|| missing_field("code"))?;
        let signup_token = present(request.signup_token.as_deref());
        let now = infra.clock.now();
        let mut transaction = infra.pool.begin().await?;
        let account = store::lock_account(&mut transaction, account_id)
            .await?
            .ok_or(Error::AccountNotFound)?;
        if account.is_verified() {
            return Ok(confirmation(&account, true, None));
        }
        let account = match redeem(&mut transaction, now, account_id, code).await? {
            Ok(account) => account,
            Err(error) => {
                // The wrong try is counted even though the request fails.
                transaction.commit().await?;
                return Err(error);
            }
        };
        let key = first_key(&mut transaction, now, &account, signup_token).await?;
        let confirmed = confirmation(&account, false, key);
        idempotency::keep(&infra.answer_encryptor, &mut transaction, Some(200), &confirmed).await?;
        transaction.commit().await?;
        Ok(confirmed)
    }
}

/// Confirms the account's address by the code, or returns why the code is refused. A wrong try is
/// counted when the transaction commits. The account's row must be locked.
pub async fn redeem(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account_id: &AccountId,
    code: &str,
) -> Result<Result<Account>> {
    let verdict = try_code(connection, now, account_id, Some(code), CodeUse::Confirming).await?;
    if let Err(refusal) = verdict {
        return Ok(Err(refusal));
    }
    store::delete_confirmation_code(connection, account_id).await?;
    store::update_email_verified(connection, account_id, now).await?;
    let account = store::find_account(connection, account_id).await?;
    Ok(account.ok_or(Error::AccountNotFound))
}

async fn first_key(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account: &Account,
    signup_token: Option<&str>,
) -> Result<Option<ApiKey>> {
    let account_id = &account.account_id;
    match account_of_signup_token(connection, now, account_id, signup_token).await {
        Ok(_) if account.status == Status::Active => {}
        Ok(_) | Err(Error::SignupTokenRequired | Error::SignupTokenExpired) => return Ok(None),
        Err(error) => return Err(error),
    }
    let terms = KeyTerms::full(KeyOrigin::SignupToken, &Actor::SignupToken);
    match issue_api_key(connection, now, account_id, terms).await {
        Ok(key) => Ok(Some(key)),
        Err(Error::KeyAllowanceReached) => Ok(None),
        Err(error) => Err(error),
    }
}

fn confirmation(account: &Account, already_verified: bool, key: Option<ApiKey>) -> Confirmation {
    Confirmation {
        account_id: account.account_id.clone(),
        status: account.status,
        email_verified: true,
        already_verified,
        prefix: key.as_ref().map(|key| key.prefix().to_owned()),
        api_key: key.map(|key| key.expose().to_owned()),
    }
}

pub struct ConfirmByLink;

impl Capability for ConfirmByLink {
    const NAME: &'static str = "confirm_by_link";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.idempotent().described(
        "Confirm the address by link",
        "Confirms the address with the link that was mailed or returned as `verification_url`. \
         After it, `issue_api_key` with the signup token gives the first key.",
    ));
    type Service = Infra;
    type Access = Anybody;
    type Input = OfLink;
    type Output = Confirmed;

    fn refusals() -> Vec<Error> {
        vec![
            Error::VerificationTokenRequired,
            Error::VerificationLinkNotFound,
            Error::VerificationLinkExpired,
        ]
    }

    async fn run(infra: &Infra, (): (), link: OfLink) -> Result<Confirmed> {
        confirm_by_link(&infra.pool, &infra.clock, &link.token()?).await.map(Confirmed::from)
    }
}
