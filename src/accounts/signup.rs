//! Opening an account.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::account::{Plan, Status, TRIAL};
use super::code_requests::{end_code_pause, start_code_pause};
use super::confirmation::Proof;
use super::credentials::{KeyLookup, issue_api_key, issue_signup_token, look_up_key};
use super::email::Email;
use super::store::{self, NewAccount};
use crate::error::{Error, Result};
use crate::http::body::present;
use crate::ids::AccountId;
use crate::platform::Platform;
use crate::platform::mailer::Delivery;

const MAX_DISPLAY_NAME: usize = 200;
const MAX_EXTERNAL_USER_ID: usize = 200;
const MAX_REFERRAL_CODE: usize = 64;

/// Who signs up.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
pub struct SignupRequest {
    /// Where the confirmation is mailed to. Stored lowercased; one account per address.
    #[schemars(with = "String")]
    #[schema(value_type = String, format = Email, example = "ann@shop.example")]
    pub email: Option<String>,
    /// What the account is called, 1 to 200 characters.
    #[schemars(with = "String")]
    #[schema(value_type = String, pattern = "\\S", max_length = 200, example = "Ann Lee")]
    pub display_name: Option<String>,
    /// The account's id in the integrator's own system, at most 200 characters, unique when sent.
    #[schema(max_length = 200)]
    pub external_user_id: Option<String>,
    /// A referral code, at most 64 characters.
    #[schema(max_length = 64)]
    pub code: Option<String>,
}

/// What a new account is made from, checked.
pub struct Signup {
    email: Email,
    display_name: String,
    external_user_id: Option<String>,
    referral_code: Option<String>,
}

impl SignupRequest {
    pub fn check(self) -> Result<Signup> {
        let email = Email::parse(present(self.email.as_deref()).ok_or(Error::InvalidEmail)?)?;
        let display_name =
            present(self.display_name.as_deref()).ok_or(Error::DisplayNameRequired)?;
        let within = |text: &str, most: usize| text.chars().count() <= most;
        let external_user_id = present(self.external_user_id.as_deref());
        let referral_code = present(self.code.as_deref());
        let lengths_fit = within(display_name, MAX_DISPLAY_NAME)
            && external_user_id.is_none_or(|id| within(id, MAX_EXTERNAL_USER_ID))
            && referral_code.is_none_or(|code| within(code, MAX_REFERRAL_CODE));
        if !lengths_fit {
            return Err(Error::InvalidRequest);
        }
        Ok(Signup {
            email,
            display_name: display_name.to_owned(),
            external_user_id: external_user_id.map(str::to_owned),
            referral_code: referral_code.map(str::to_owned),
        })
    }
}

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

/// Opens an account and mails the proof of its address.
///
/// For a caller with an unlimited key (`by_operator`) there is an API key at once and no mail is
/// sent. When the mail cannot be sent no account remains, so that the same call can be made again.
pub async fn open_account(
    platform: &Platform,
    by_operator: bool,
    signup: Signup,
) -> Result<OpenedAccount> {
    let now = platform.clock.now();
    let mut transaction = platform.pool.begin().await?;
    let account_id = AccountId::random();
    let new = NewAccount {
        account_id: &account_id,
        email: signup.email.as_str(),
        display_name: &signup.display_name,
        external_user_id: signup.external_user_id.as_deref(),
        referral_code: signup.referral_code.as_deref(),
        status: Status::PendingEmail,
        plan: Plan::Free,
        email_verified_at: None,
        created_at: now,
        trial_ends_at: now + TRIAL,
        confirmation_mailed_at: (!by_operator).then_some(now),
    };
    store::insert_account(&mut transaction, &new).await?;
    let token = issue_signup_token(&mut transaction, now, &account_id).await?;
    let proof = Proof::issue(&mut transaction, now, &account_id).await?;
    let api_key = match by_operator {
        true => Some(issue_api_key(&mut transaction, now, &account_id).await?),
        false => {
            start_code_pause(&mut transaction, now, &signup.email).await?;
            None
        }
    };
    transaction.commit().await?;

    let delivery = match by_operator {
        true => Delivery::Skipped,
        false => match proof.mail(platform, &signup.email, &signup.display_name).await {
            Ok(delivery) => delivery,
            Err(error) => {
                undo_signup(platform, &account_id, &signup.email).await?;
                return Err(error);
            }
        },
    };
    tracing::info!(%account_id, by_operator, "account opened");
    Ok(OpenedAccount {
        status: Status::PendingEmail,
        plan: Plan::Free,
        signup_token: token.expose().to_owned(),
        external_user_id: signup.external_user_id,
        email_verified: false,
        verification_url: (delivery == Delivery::Skipped).then(|| proof.url(platform)),
        prefix: api_key.as_ref().map(|key| key.prefix().to_owned()),
        api_key: api_key.map(|key| key.expose().to_owned()),
        account_id,
    })
}

async fn undo_signup(platform: &Platform, account_id: &AccountId, email: &Email) -> Result<()> {
    let mut transaction = platform.pool.begin().await?;
    store::delete_account(&mut transaction, account_id).await?;
    end_code_pause(&mut transaction, email).await?;
    transaction.commit().await?;
    Ok(())
}

/// Whether the caller holds an unlimited key of an active account. Signing up needs no key, so any
/// other key counts as none.
pub async fn is_unlimited_key(platform: &Platform, key: Option<&str>) -> Result<bool> {
    let Some(key) = key else { return Ok(false) };
    let mut connection = platform.pool.acquire().await?;
    Ok(match look_up_key(&mut connection, key).await? {
        KeyLookup::Valid { account, .. } => {
            account.plan == Plan::Unlimited && account.status == Status::Active
        }
        KeyLookup::Revoked | KeyLookup::Unknown => false,
    })
}
