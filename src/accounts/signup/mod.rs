pub mod account_view;
pub mod activation;
pub mod code_pause;
pub mod code_requests;
pub mod confirmation;
pub mod confirmation_mail;
pub mod email_verification;
pub mod link_token;
pub mod opening;
pub mod resending;
pub mod signup_rejection;
pub mod signup_request;
pub mod token_renewal;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::{PgConnection, PgPool};
use utoipa::ToSchema;

use self::code_pause::{end_code_pause, start_code_pause};
use self::email_verification::EmailVerification;
use self::signup_request::{Signup, SignupRequest};
use super::access::{Access, AnyKey, Credentials};
use super::account::{Plan, Status, TRIAL};
use super::actor::Actor;
use super::capability::{Capability, InvalidInput};
use super::credentials::{Accepts, KeyOrigin, KeyTerms, issue_api_key, issue_signup_token};
use super::limits::mailbox;
use super::scope::{Governs, Needs, Reads};
use super::service::Accounts;
use super::sign_in::store as sign_ins;
use super::store::{self, NewAccount};
use super::tool::Tool;
use crate::error::{Error, Result, wrong_field};
use crate::idempotency;
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::infra::outbox::{Attempt, ClaimedMail, Kind, Outbox, Retry};
use crate::types::email::Email;
use crate::types::ids::AccountId;

/// The answer to a signup. Secrets in it are shown this once.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct OpenedAccount {
    pub account_id: AccountId,
    pub status: Status,
    pub plan: Plan,
    /// For the header `x-signup-token`; ends one hour after this answer.
    pub signup_token: String,
    #[schema(required = true)]
    pub external_user_id: Option<String>,
    pub email_verified: bool,
    /// A person opens it to confirm the address. Only when no confirmation mail was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification_url: Option<String>,
    /// Only for a caller with an unlimited key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// The key's first 12 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
}

/// Whether the caller holds an unlimited key of an active account. Signing up needs no key, so any
/// other key is ignored; a failed one is counted as on every route.
async fn is_operator(accounts: &Accounts, credentials: &Credentials) -> Result<bool> {
    if credentials.api_key.is_none() {
        return Ok(false);
    }
    match AnyKey::<Reads>::admit(accounts, credentials.clone()).await {
        Ok(caller) if caller.is_unlimited() && caller.account.status == Status::Active => {
            caller.sites.require_all()?;
            Governs::check(caller.scope).map(|()| true)
        }
        Ok(_) => Ok(false),
        Err(Error::InvalidApiKey { .. } | Error::ApiKeyRevoked { .. } | Error::ApiKeyExpired) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

pub struct SigningUp;

impl Access for SigningUp {
    type Caller = bool;

    fn refusals() -> Vec<Error> {
        Vec::new()
    }

    async fn admit(accounts: &Accounts, credentials: Credentials) -> Result<bool> {
        is_operator(accounts, &credentials).await
    }

    fn limit(by_operator: &bool) -> Option<Limit> {
        (!by_operator).then_some(Limit::Signups)
    }
}

/// Opens an account and mails what verifies its address. For a caller with an unlimited key
/// (`by_operator`) there is an API key at once and no mail is sent. When the mail cannot be sent no
/// account remains, so that the same call can be made again; when it may have been sent the account
/// stays, and the mail is tried again.
pub struct CreateAccount;

impl Capability for CreateAccount {
    const NAME: &'static str = "create_account";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.open_world().described(
        "Create an account",
        "Opens an account with a 30-day trial and mails the person a confirmation code and \
         link. Needs no key. Keep `account_id` and `signup_token`; where the service sends no \
         mail, the answer has a `verification_url` for `confirm_by_link`.",
    ));
    const ACCEPTS: Accepts = Accepts::OperatorKey;
    const INVALID_INPUT: InvalidInput = InvalidInput::InvalidRequest;
    type Service = Accounts;
    type Access = SigningUp;
    type Input = SignupRequest;
    type Output = OpenedAccount;

    fn refusals() -> Vec<Error> {
        vec![
            Error::InvalidEmail,
            Error::DisplayNameRequired,
            wrong_field("display_name", "must be a string"),
            Error::EmailRegistered,
            Error::ExternalUserRegistered,
            Error::ConfirmationMailFailed,
            Error::RestrictedToSites,
            Error::ScopeNotAllowed,
            Error::TooManyRequests { retry_after: 20 },
        ]
    }

    async fn run(
        accounts: &Accounts,
        by_operator: bool,
        request: SignupRequest,
    ) -> Result<OpenedAccount> {
        let signup = request.check()?;
        let infra = &accounts.infra;
        let now = infra.clock.now();
        let account_id = AccountId::random();
        let mut transaction = infra.pool.begin().await?;
        insert(&mut transaction, now, &account_id, by_operator, &signup).await?;
        let token = issue_signup_token(&mut transaction, now, &account_id).await?;
        let verification = EmailVerification::issue(&mut transaction, now, &account_id).await?;
        let (api_key, mail) = match by_operator {
            true => {
                let terms = KeyTerms::full(KeyOrigin::Operator, &Actor::Operator);
                let key = issue_api_key(&mut transaction, now, &account_id, terms).await?;
                (Some(key), None)
            }
            false => {
                admit_mail(&mut transaction, &infra.outbox, now, &signup.email).await?;
                let kind = Kind::Confirmation;
                let mail = confirmation_mail::put(
                    &mut transaction,
                    &infra.outbox,
                    kind,
                    &account_id,
                    &verification,
                );
                (None, mail.await?)
            }
        };
        let opened = OpenedAccount {
            status: Status::PendingEmail,
            plan: Plan::Free,
            signup_token: token.expose().to_owned(),
            external_user_id: signup.external_user_id,
            email_verified: false,
            verification_url: mail.is_none().then(|| verification.url(infra.base_url())),
            prefix: api_key.as_ref().map(|key| key.prefix().to_owned()),
            api_key: api_key.map(|key| key.expose().to_owned()),
            account_id,
        };
        let status = mail.is_none().then_some(201);
        idempotency::keep(&infra.answer_encryptor, &mut transaction, status, &opened).await?;
        transaction.commit().await?;

        let account_id = &opened.account_id;
        if let Some(mail) = &mail {
            mail_or_undo(infra, account_id, &signup.email, mail, Retry::WhenUnanswered).await?;
        }
        tracing::info!(%account_id, by_operator, "account opened");
        Ok(opened)
    }
}

/// Opens an account for a sign-up in the console, after the mail was counted and the request
/// answered. The stored sign-in then expects the digits of the confirmation mail.
pub async fn open_for_sign_in(
    infra: &Infra,
    signup: Signup,
    sign_in_token_hash: &[u8],
) -> Result<()> {
    let now = infra.clock.now();
    let account_id = AccountId::random();
    let mut transaction = infra.pool.begin().await?;
    insert(&mut transaction, now, &account_id, false, &signup).await?;
    start_code_pause(&mut transaction, now, &signup.email).await?;
    let verification = EmailVerification::issue(&mut transaction, now, &account_id).await?;
    let kind = Kind::Confirmation;
    let mail =
        confirmation_mail::put(&mut transaction, &infra.outbox, kind, &account_id, &verification);
    let mail = mail.await?;
    sign_ins::update_account(&mut transaction, sign_in_token_hash, &account_id).await?;
    transaction.commit().await?;
    tracing::info!(%account_id, by_operator = false, "account opened");
    match &mail {
        Some(mail) => {
            mail_or_undo(infra, &account_id, &signup.email, mail, Retry::UnlessRefused).await
        }
        None => Ok(()),
    }
}

async fn insert(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account_id: &AccountId,
    by_operator: bool,
    signup: &Signup,
) -> Result<()> {
    let new = NewAccount {
        account_id,
        email: signup.email.as_str(),
        display_name: &signup.display_name,
        external_user_id: signup.external_user_id.as_deref(),
        external_user_id_vouched: by_operator && signup.external_user_id.is_some(),
        referral_code: signup.referral_code.as_deref(),
        status: Status::PendingEmail,
        plan: Plan::Free,
        email_verified_at: None,
        created_at: now,
        trial_ends_at: now + TRIAL,
        confirmation_mailed_at: (!by_operator).then_some(now),
        shares_address: false,
    };
    if let Some(claimed) = new.external_user_id.filter(|_| by_operator) {
        take_claimed_id(connection, claimed, account_id).await?;
    }
    store::insert_account(connection, &new).await
}

/// Removes an unverified `external_user_id` from the account that claims it, confirmed or not, for the
/// operator's new account. An operator knows its users, whereas a public sign-up only claims an id.
async fn take_claimed_id(
    connection: &mut PgConnection,
    external_user_id: &str,
    new_account_id: &AccountId,
) -> Result<()> {
    let taken = store::update_claimed_external_user_id_taken(connection, external_user_id).await?;
    if let Some(account_id) = taken {
        tracing::info!(%account_id, %new_account_id, "external user id taken by the operator");
    }
    Ok(())
}

async fn admit_mail(
    connection: &mut PgConnection,
    outbox: &Outbox,
    now: DateTime<Utc>,
    email: &Email,
) -> Result<()> {
    start_code_pause(connection, now, email).await?;
    let too_many = |retry_after| Error::TooManyRequests { retry_after };
    mailbox::admit(connection, outbox, now, email, too_many).await
}

async fn mail_or_undo(
    infra: &Infra,
    account_id: &AccountId,
    email: &Email,
    mail: &ClaimedMail,
    retry: Retry,
) -> Result<()> {
    if confirmation_mail::attempt(infra, mail, retry).await == Attempt::Failed
        && undo_signup(&infra.pool, &infra.outbox, account_id, email, mail).await?
    {
        return Err(Error::ConfirmationMailFailed);
    }
    Ok(())
}

/// Deletes the account, its mail and its rate-limit counts; `false` when another attempt is sending the mail.
async fn undo_signup(
    pool: &PgPool,
    outbox: &Outbox,
    account_id: &AccountId,
    email: &Email,
    mail: &ClaimedMail,
) -> Result<bool> {
    let mut transaction = pool.begin().await?;
    if !outbox.cancel(&mut transaction, mail).await? {
        return Ok(false);
    }
    store::erasure::delete_account(&mut transaction, account_id).await?;
    end_code_pause(&mut transaction, email).await?;
    mailbox::give_back(&mut transaction, email).await?;
    idempotency::take_back(&mut transaction).await?;
    transaction.commit().await?;
    Ok(true)
}
