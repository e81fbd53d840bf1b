use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::email_verification::{CodeUse, try_code};
use crate::accounts::access::Anybody;
use crate::accounts::actor::Actor;
use crate::accounts::capability::Capability;
use crate::accounts::credentials::issue_signup_token;
use crate::accounts::event::ActivityKind;
use crate::accounts::input::OnAccount;
use crate::accounts::tool::Tool;
use crate::accounts::{events, store};
use crate::clock::Timestamp;
use crate::error::{Error, Result, missing_field};
use crate::idempotency;
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::types::email::Email;
use crate::types::text::present;

/// What proves that the caller reads the account's mail.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct RenewalRequest {
    /// The account's address.
    #[schemars(with = "String")]
    #[schema(value_type = String, format = Email, example = "ann@shop.example")]
    pub email: Option<String>,
    /// Six digits, from the newest mail.
    #[schemars(with = "String")]
    #[schema(value_type = String, pattern = "\\S", example = "042137")]
    pub code: Option<String>,
}

/// A fresh signup token, shown once.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct RenewedToken {
    /// For the header `x-signup-token`.
    pub signup_token: String,
    pub expires_at: Timestamp,
}

/// Issues a new signup token for the code of the account's address; the old token ends, with its keys.
/// The code brings one token. It does not confirm the address by itself, but may be used for that
/// afterwards, so that one mail is enough for both. What does not fit together (account, address,
/// code) is always `invalid code`, and counts as a wrong try.
pub struct RenewSignupToken;

impl Capability for RenewSignupToken {
    const NAME: &'static str = "renew_signup_token";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.described(
        "Renew the signup token",
        "Exchanges a fresh code (see `resend_code`) for a new signup token; the old one ends, \
         and with it every key that stems from it.",
    ));
    const LIMIT: Option<Limit> = Some(Limit::Codes);
    type Service = Infra;
    type Access = Anybody;
    type Input = OnAccount<RenewalRequest>;
    type Output = RenewedToken;

    fn refusals() -> Vec<Error> {
        vec![
            Error::InvalidEmail,
            Error::InvalidCode,
            Error::TooManyAttempts { retry_after: 60 },
            missing_field("code"),
        ]
    }

    async fn run(
        infra: &Infra,
        (): (),
        OnAccount { account_id, input }: OnAccount<RenewalRequest>,
    ) -> Result<RenewedToken> {
        let email = Email::required(input.email.as_deref())?;
        let code = present(input.code.as_deref()).ok_or_else(|| missing_field("code"))?;
        let account_id = &account_id.into_id().ok_or(Error::InvalidCode)?;
        let now = infra.clock.now();
        let mut transaction = infra.pool.begin().await?;
        let account =
            store::lock_account(&mut transaction, account_id).await?.ok_or(Error::InvalidCode)?;
        let code = Some(code).filter(|_| account.email == email.as_str());
        let verdict =
            try_code(&mut transaction, now, account_id, code, CodeUse::RenewingToken).await?;
        if let Err(error) = verdict {
            transaction.commit().await?;
            return Err(error);
        }
        match account.is_verified() {
            true => store::delete_confirmation_code(&mut transaction, account_id).await?,
            false => store::update_renewed_token(&mut transaction, account_id).await?,
        }
        // The older token may be with somebody who cannot read the mail.
        let ended = store::update_token_keys_revoked(&mut transaction, account_id, now).await?;
        if ended > 0 {
            let (actor, kind) = (&Actor::SignupToken, ActivityKind::KeysRevoked);
            events::record(&mut transaction, now, account_id, actor, kind, None).await?;
        }
        let token = issue_signup_token(&mut transaction, now, account_id).await?;
        let renewed = RenewedToken {
            signup_token: token.expose().to_owned(),
            expires_at: Timestamp(token.expires_at),
        };
        idempotency::keep(&infra.answer_encryptor, &mut transaction, Some(200), &renewed).await?;
        transaction.commit().await?;
        tracing::info!(%account_id, ended_keys = ended, "signup token renewed");
        Ok(renewed)
    }
}
