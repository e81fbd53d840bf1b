use super::attempt::{StartedSignIn, start};
use super::known_browser::{KnownBrowser, KnownBrowsers};
use super::proof::Proof;
use crate::accounts::access::{Credentials, UncheckedCredentials};
use crate::accounts::capability::Capability;
use crate::accounts::service::Accounts;
use crate::clock::Clock;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::infra::limits::per_client::{Client, Limit};
use crate::types::email::Email;
use crate::types::mailbox::Mailbox;

pub fn known_browser(
    clock: &Clock,
    config: &Config,
    cookie: Option<&str>,
    email: &Email,
) -> Option<KnownBrowser> {
    let known = KnownBrowsers::new(&config.receipt_secrets, clock.now());
    known.find(cookie?, &Mailbox::of(email))
}

/// The first step: six digits are mailed, should the address be a member's.
pub struct StartSignIn;

pub struct SignInRequest {
    pub email: String,
    /// The cookie that identifies a browser that has signed in before.
    pub known_browser: Option<String>,
    /// The secret of the browser's current session, if it has one.
    pub former: Option<String>,
}

impl Capability for StartSignIn {
    const NAME: &'static str = "start_sign_in";
    type Service = Accounts;
    type Access = UncheckedCredentials;
    type Input = SignInRequest;
    type Output = StartedSignIn;

    fn refusals() -> Vec<Error> {
        vec![Error::InvalidEmail, Error::NotFound, Error::TooManyRequests { retry_after: 60 }]
    }

    async fn run(
        accounts: &Accounts,
        credentials: Credentials,
        request: SignInRequest,
    ) -> Result<StartedSignIn> {
        let infra = &accounts.infra;
        let email = Email::parse(&request.email);
        let cookie = request.known_browser.as_deref();
        let browser = email
            .as_ref()
            .ok()
            .and_then(|it| known_browser(&infra.clock, &infra.config, cookie, it));
        // A known browser has a limit of its own and does not count against its network.
        if browser.is_none() {
            Client::new(&accounts.limits, credentials.net).admit(Limit::Mails)?;
        }
        if Proof::of(&infra.outbox) != Proof::Mail {
            return Err(Error::NotFound);
        }
        let former = request.former.as_deref();
        start(infra, credentials.net, email?, browser.as_ref(), former).await
    }
}
