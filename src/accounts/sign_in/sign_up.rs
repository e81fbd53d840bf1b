//! Signing up in the console where mails are sent: a sign-in whose digits arrive in the confirmation mail of
//! a new account, or in a sign-in mail when the address has an account. The answer must not reveal whether
//! an account exists, so the work before it is the same: one mail is counted and one sign-in is stored.
//! Everything else happens afterwards, in a separate task.

use sqlx::PgPool;

use super::attempt::{StartedSignIn, insert};
use super::mail::{self, Counting};
use super::proof::{Proof, takes_signups};
use super::secrets::Secrets;
use super::start::StartSignIn;
use crate::accounts::access::{Credentials, UncheckedCredentials};
use crate::accounts::capability::{Capability, InvalidInput};
use crate::accounts::limits::mailbox;
use crate::accounts::members::member::lock_membership;
use crate::accounts::service::Accounts;
use crate::accounts::sessions::{Browser, NewSession};
use crate::accounts::signup::email_verification::VERIFICATION_LIFE;
use crate::accounts::signup::signup_request::{Signup, SignupRequest};
use crate::accounts::signup::{CreateAccount, OpenedAccount, confirmation, link_token};
use crate::accounts::{sessions, signup};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::limits::per_client::{Client, Limit};

/// Stores the sign-in. Its digits are in the next mail to the address.
pub async fn start(infra: &Infra, signup: Signup) -> Result<StartedSignIn> {
    let now = infra.clock.now();
    let secrets = Secrets::random();
    let email = &signup.email;
    let too_many = |retry_after| Error::TooManyRequests { retry_after };
    let mut transaction = infra.pool.begin().await?;
    mailbox::admit(&mut transaction, &infra.outbox, now, email, too_many).await?;
    insert(&mut transaction, &secrets, email, None, now + VERIFICATION_LIFE).await?;
    transaction.commit().await?;
    let started = StartedSignIn::new(&secrets);
    infra.spawn(|infra| async move {
        if let Err(error) = open_or_mail(&infra, signup, &secrets).await {
            tracing::error!(?error, "a sign-up in the console led to no mail");
        }
    });
    Ok(started)
}

/// Opens the account and mails its confirmation, or mails sign-in digits if the address has an account.
async fn open_or_mail(infra: &Infra, signup: Signup, secrets: &Secrets) -> Result<()> {
    let email = signup.email.clone();
    match signup::open_for_sign_in(infra, signup, &secrets.token_hash()).await {
        Err(Error::EmailRegistered) => {
            mail::send(infra, &email, secrets, None, Counting::AnyMail).await
        }
        opened => opened,
    }
}

/// Opens an account and leads into it.
pub struct SignUp;

pub struct SignUpRequest {
    pub email: String,
    pub display_name: String,
    pub browser: String,
    /// The secret of the browser's current session, if it has one.
    pub former: Option<String>,
}

/// The next step of a sign-up.
pub enum SignUpStep {
    /// The person enters the digits of the mail.
    Code(StartedSignIn),
    /// The person is signed in at once, because the service runs on a local machine without a mail server.
    SignedIn(NewSession),
}

impl Capability for SignUp {
    const NAME: &'static str = "sign_up";
    const INVALID_INPUT: InvalidInput = CreateAccount::INVALID_INPUT;
    type Service = Accounts;
    type Access = UncheckedCredentials;
    type Input = SignUpRequest;
    type Output = SignUpStep;

    fn refusals() -> Vec<Error> {
        let own = [Error::NotFound];
        own.into_iter().chain(CreateAccount::refusals()).chain(StartSignIn::refusals()).collect()
    }

    async fn run(
        accounts: &Accounts,
        credentials: Credentials,
        SignUpRequest { email, display_name, browser, former }: SignUpRequest,
    ) -> Result<SignUpStep> {
        let infra = &accounts.infra;
        if !takes_signups(&infra.outbox, &infra.base_host()) {
            return Err(Error::NotFound);
        }
        let request = SignupRequest {
            email: Some(email),
            display_name: Some(display_name),
            external_user_id: None,
            code: None,
        };
        Client::new(&accounts.limits, credentials.net).admit(Limit::Signups)?;
        if Proof::of(&infra.outbox) == Proof::Mail {
            let signup = request.check()?;
            return start(infra, signup).await.map(SignUpStep::Code);
        }
        let opened = CreateAccount::run(accounts, false, request).await?;
        let browser = Browser { name: &browser, former: former.as_deref() };
        confirm_at_once(&infra.pool, &infra.clock, opened, browser).await.map(SignUpStep::SignedIn)
    }
}

/// Confirms the address with the link in the answer, if no mail is sent.
async fn confirm_at_once(
    pool: &PgPool,
    clock: &Clock,
    opened: OpenedAccount,
    browser: Browser<'_>,
) -> Result<NewSession> {
    let link = opened.verification_url.unwrap_or_default();
    let account = confirmation::confirm_by_link(pool, clock, &link_token::of_link(&link)?).await?;
    let (now, email) = (clock.now(), &account.email);
    let mut transaction = pool.begin().await?;
    let membership = lock_membership(&mut transaction, &account.account_id, email).await?;
    let membership = membership.ok_or(Error::AccountNotFound)?;
    let session = sessions::open(&mut transaction, now, &membership, email, browser).await?;
    transaction.commit().await?;
    Ok(session)
}
