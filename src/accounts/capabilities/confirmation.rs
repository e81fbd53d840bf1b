//! What can be asked for about the confirmation mail: using its code and its links, and getting
//! another one.

use crate::accounts::access::{Anybody, SignupToken};
use crate::accounts::capability::Capability;
use crate::accounts::input::{OfAccount, OfLink, OnAccount};
use crate::accounts::signup::code_requests::{self, CodeRequest, CodeSent};
use crate::accounts::signup::confirmation::{self, ConfirmRequest, Confirmation, Confirmed};
use crate::accounts::signup::resending::{self, Resent};
use crate::accounts::signup::signup_rejection::{self, RejectedSignup};
use crate::accounts::signup::token_renewal::{self, RenewalRequest, RenewedToken};
use crate::accounts::tool::Tool;
use crate::error::Error::*;
use crate::error::{Error, Result, missing_field};
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::types::email::Email;

/// The address is confirmed by the code, which may bring the first API key.
pub struct ConfirmByCode;

impl Capability for ConfirmByCode {
    const NAME: &'static str = "confirm_by_code";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.described(
        "Confirms the address with the six-digit code from the mail. With the signup token the \
         first confirmation also gives the API key, once.",
    ));
    const LIMIT: Option<Limit> = Some(Limit::Codes);
    type Part = Infra;
    type Access = Anybody;
    type Input = OnAccount<ConfirmRequest>;
    type Output = Confirmation;

    fn refusals() -> Vec<Error> {
        vec![
            AccountNotFound,
            InvalidCode,
            TooManyAttempts { retry_after: 60 },
            missing_field("code"),
        ]
    }

    async fn run(
        infra: &Infra,
        (): (),
        account: OnAccount<ConfirmRequest>,
    ) -> Result<Confirmation> {
        confirmation::confirm_by_code(infra, &account.id()?, &account.input).await
    }
}

/// The address is confirmed by the link.
pub struct ConfirmByLink;

impl Capability for ConfirmByLink {
    const NAME: &'static str = "confirm_by_link";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.idempotent().described(
        "Confirms the address with the link that was mailed or returned as `verification_url`. \
         After it, `issue_api_key` with the signup token gives the first key.",
    ));
    type Part = Infra;
    type Access = Anybody;
    type Input = OfLink;
    type Output = Confirmed;

    fn refusals() -> Vec<Error> {
        vec![VerificationTokenRequired, VerificationLinkNotFound, VerificationLinkExpired]
    }

    async fn run(infra: &Infra, (): (), link: OfLink) -> Result<Confirmed> {
        confirmation::confirm_by_link(infra, &link.token()?).await.map(Confirmed::from)
    }
}

/// An account that somebody else opened is closed.
pub struct DisownAccount;

impl Capability for DisownAccount {
    const NAME: &'static str = "disown_account";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.described(
        "Closes an account that somebody else opened with the person's address: \"this was not \
         me\". Takes either link of the confirmation mail. Only while the account has no pixel \
         and has not paid; of any other, `renew_signup_token` ends the keys.",
    ));
    type Part = Infra;
    type Access = Anybody;
    type Input = OfLink;
    type Output = RejectedSignup;

    fn refusals() -> Vec<Error> {
        vec![VerificationTokenRequired, DisownLinkNotFound, AccountInUse]
    }

    async fn run(infra: &Infra, (): (), link: OfLink) -> Result<RejectedSignup> {
        signup_rejection::reject_signup(infra, &link.token()?).await
    }
}

/// Another link and code, for the holder of the signup token.
pub struct ResendConfirmation;

impl Capability for ResendConfirmation {
    const NAME: &'static str = "resend_confirmation";
    const TOOL: Option<Tool> = Some(
        Tool::ADDITIVE
            .open_world()
            .described("Mails the confirmation code and link once more, at most once a minute."),
    );
    const LIMIT: Option<Limit> = Some(Limit::Mails);
    type Part = Infra;
    type Access = SignupToken;
    type Input = OfAccount;
    type Output = Resent;

    fn refusals() -> Vec<Error> {
        vec![AccountNotFound, ConfirmationMailFailed, ConfirmationMailTooSoon { retry_after: 60 }]
    }

    async fn run(infra: &Infra, token: Option<String>, account: OfAccount) -> Result<Resent> {
        resending::resend_mail(infra, &account.id()?, token.as_deref()).await
    }
}

/// A fresh code, for whoever lost the signup token.
pub struct ResendCode;

impl Capability for ResendCode {
    const NAME: &'static str = "resend_code";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.open_world().described(
        "Mails a fresh code to an address that has an account, without any credential: at most \
         one a minute and five a day. The answer is the same whether the address has an account \
         or not.",
    ));
    const LIMIT: Option<Limit> = Some(Limit::Mails);
    type Part = Infra;
    type Access = Anybody;
    type Input = CodeRequest;
    type Output = CodeSent;

    fn refusals() -> Vec<Error> {
        vec![
            InvalidEmail,
            CodeTooSoon { retry_after: 60 },
            TooManyCodes { retry_after: 3600 },
            missing_field("email"),
        ]
    }

    async fn run(infra: &Infra, (): (), request: CodeRequest) -> Result<CodeSent> {
        let email = Email::required(request.email.as_deref())?;
        code_requests::request_code(infra, email).await
    }
}

/// A new signup token for a mailed code.
pub struct RenewSignupToken;

impl Capability for RenewSignupToken {
    const NAME: &'static str = "renew_signup_token";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.described(
        "Exchanges a fresh code (see `resend_code`) for a new signup token; the old one ends, \
         and with it every key that stems from it.",
    ));
    const LIMIT: Option<Limit> = Some(Limit::Codes);
    type Part = Infra;
    type Access = Anybody;
    type Input = OnAccount<RenewalRequest>;
    type Output = RenewedToken;

    fn refusals() -> Vec<Error> {
        vec![InvalidEmail, InvalidCode, TooManyAttempts { retry_after: 60 }, missing_field("code")]
    }

    async fn run(
        infra: &Infra,
        (): (),
        OnAccount { account_id, input }: OnAccount<RenewalRequest>,
    ) -> Result<RenewedToken> {
        token_renewal::renew_signup_token(infra, &account_id, &input).await
    }
}
