//! What can be asked for about signing in. Only the console does: programs have keys.

use crate::accounts::access::{Anybody, Caller, Credentials, KeyHolder, Presented};
use crate::accounts::capabilities::accounts::CreateAccount;
use crate::accounts::capability::{Capability, InvalidInput};
use crate::accounts::members::member::{Membership, lock_membership};
use crate::accounts::recheck::recheck;
use crate::accounts::scope::Governs;
use crate::accounts::service::Accounts;
use crate::accounts::sessions::{self, Browser, NewSession};
use crate::accounts::sign_in::finish::{self, Finished};
use crate::accounts::sign_in::sign_up;
use crate::accounts::sign_in::start::{self, StartedSignIn};
use crate::accounts::signup::signup_request::SignupRequest;
use crate::accounts::signup::{OpenedAccount, confirmation, link_token};
use crate::accounts::store;
use crate::error::Error::*;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::limits::per_client::{Client, Limit};
use crate::types::email::Email;

/// How people prove who they are to this service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Six digits from a mail.
    Mail,
    /// An API key, since no mail server is configured.
    Key,
}

impl Proof {
    pub fn of(infra: &Infra) -> Self {
        if infra.outbox.mailer.is_configured() { Self::Mail } else { Self::Key }
    }
}

/// Whether accounts can be opened in the console: with a mail, or without one where nobody but the
/// machine's own people come.
pub fn takes_signups(infra: &Infra) -> bool {
    Proof::of(infra) == Proof::Mail || is_loopback(infra)
}

fn is_loopback(infra: &Infra) -> bool {
    let host = infra.base_host();
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost"
        || host.ends_with(".localhost")
        || address.is_ok_and(|address| address.is_loopback())
}

/// The first step: six digits are mailed, should the address be a member's.
pub struct StartSignIn;

/// Who wants to sign in.
pub struct SignInRequest {
    pub email: String,
    /// The cookie that identifies a browser that has signed in before.
    pub known_browser: Option<String>,
    /// The secret of the browser's present session, if it has one.
    pub former: Option<String>,
}

impl Capability for StartSignIn {
    const NAME: &'static str = "start_sign_in";
    type Part = Accounts;
    type Access = Presented;
    type Input = SignInRequest;
    type Output = StartedSignIn;

    fn refusals() -> Vec<Error> {
        vec![InvalidEmail, NotFound, TooManyRequests { retry_after: 60 }]
    }

    async fn run(
        accounts: &Accounts,
        credentials: Credentials,
        request: SignInRequest,
    ) -> Result<StartedSignIn> {
        let infra = &accounts.infra;
        let email = Email::parse(&request.email);
        let cookie = request.known_browser.as_deref();
        let browser = email.as_ref().ok().and_then(|it| start::known_browser(infra, cookie, it));
        // A known browser has a limit of its own and does not count against its network.
        if browser.is_none() {
            Client::new(&accounts.limits, credentials.net).admit(Limit::Mails)?;
        }
        if Proof::of(infra) != Proof::Mail {
            return Err(NotFound);
        }
        let former = request.former.as_deref();
        start::start(infra, credentials.net, email?, browser.as_ref(), former).await
    }
}

/// The second step: the digits, in the browser that asked for them.
pub struct FinishSignIn;

/// What the browser sends.
pub struct SignInProof {
    /// The secret of the sign-in.
    pub secret: Option<String>,
    pub code: String,
    /// What the browser is called in the list of sessions.
    pub browser: String,
    /// The secret of the session that it has already.
    pub former: Option<String>,
}

impl Capability for FinishSignIn {
    const NAME: &'static str = "finish_sign_in";
    const LIMIT: Option<Limit> = Some(Limit::Codes);
    type Part = Infra;
    type Access = Anybody;
    type Input = SignInProof;
    type Output = Finished;

    fn refusals() -> Vec<Error> {
        vec![InvalidCode, TooManyAttempts { retry_after: 60 }]
    }

    async fn run(infra: &Infra, (): (), proof: SignInProof) -> Result<Finished> {
        // People copy the digits with the spaces around and between them.
        let code = proof.code.split_whitespace().collect::<String>();
        let browser = Browser { name: &proof.browser, former: proof.former.as_deref() };
        finish::finish(infra, proof.secret.as_deref(), &code, browser).await
    }
}

/// A session for the holder of an API key, where no mail can be sent.
pub struct SignInWithKey;

/// The browser that signs in.
pub struct OfBrowser {
    pub browser: String,
    /// The secret of the browser's present session, if it has one.
    pub former: Option<String>,
}

impl Capability for SignInWithKey {
    const NAME: &'static str = "sign_in_with_key";
    type Part = Infra;
    type Access = KeyHolder<Governs>;
    type Input = OfBrowser;
    type Output = NewSession;

    fn refusals() -> Vec<Error> {
        vec![NotFound]
    }

    async fn run(infra: &Infra, caller: Caller, of: OfBrowser) -> Result<NewSession> {
        if Proof::of(infra) != Proof::Key {
            return Err(NotFound);
        }
        let now = infra.clock.now();
        let browser = Browser { name: &of.browser, former: of.former.as_deref() };
        let mut transaction = infra.pool.begin().await?;
        let account = store::lock_account(&mut transaction, caller.account_id()).await?;
        let membership = Membership::of_own(account.ok_or(AccountNotFound)?);
        recheck(&mut transaction, now, &caller).await?;
        let address = &membership.account.email;
        let session = sessions::open(&mut transaction, now, &membership, address, browser).await?;
        transaction.commit().await?;
        Ok(session)
    }
}

/// Opens an account and leads into it.
pub struct SignUp;

/// Who signs up, and in which browser.
pub struct SignUpRequest {
    pub email: String,
    pub display_name: String,
    pub browser: String,
    /// The secret of the browser's present session, if it has one.
    pub former: Option<String>,
}

/// What comes next.
pub enum SignUpStep {
    /// The digits of the mail.
    Code(StartedSignIn),
    /// Nothing: the service cannot mail, and runs on somebody's own machine.
    SignedIn(NewSession),
}

impl Capability for SignUp {
    const NAME: &'static str = "sign_up";
    const INVALID_INPUT: InvalidInput = CreateAccount::INVALID_INPUT;
    type Part = Accounts;
    type Access = Presented;
    type Input = SignUpRequest;
    type Output = SignUpStep;

    fn refusals() -> Vec<Error> {
        let own = [NotFound];
        own.into_iter().chain(CreateAccount::refusals()).chain(StartSignIn::refusals()).collect()
    }

    async fn run(
        accounts: &Accounts,
        credentials: Credentials,
        SignUpRequest { email, display_name, browser, former }: SignUpRequest,
    ) -> Result<SignUpStep> {
        let infra = &accounts.infra;
        if !takes_signups(infra) {
            return Err(NotFound);
        }
        let request = SignupRequest {
            email: Some(email),
            display_name: Some(display_name),
            external_user_id: None,
            code: None,
        };
        if Proof::of(infra) == Proof::Mail {
            let signup = request.check()?;
            Client::new(&accounts.limits, credentials.net).admit(Limit::Signups)?;
            return sign_up::start(infra, signup).await.map(SignUpStep::Code);
        }
        let opened = CreateAccount::run(accounts, credentials, request).await?;
        let browser = Browser { name: &browser, former: former.as_deref() };
        confirm_at_once(infra, opened, browser).await.map(SignUpStep::SignedIn)
    }
}

/// Where no mail is sent, the link in the answer confirms the address.
async fn confirm_at_once(
    infra: &Infra,
    opened: OpenedAccount,
    browser: Browser<'_>,
) -> Result<NewSession> {
    let link = opened.verification_url.unwrap_or_default();
    let account = confirmation::confirm_by_link(infra, &link_token::of_link(&link)?).await?;
    let (now, email) = (infra.clock.now(), &account.email);
    let mut transaction = infra.pool.begin().await?;
    let membership = lock_membership(&mut transaction, &account.account_id, email).await?;
    let membership = membership.ok_or(AccountNotFound)?;
    let session = sessions::open(&mut transaction, now, &membership, email, browser).await?;
    transaction.commit().await?;
    Ok(session)
}
