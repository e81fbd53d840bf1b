//! Signing up in the console where mails are sent: a sign-in whose digits arrive in the confirmation mail of
//! a new account, or in a sign-in mail when the address has an account.
//!
//! The answer must not reveal whether an account exists, so the work before it is the same: one mail is
//! counted and one sign-in is stored. Everything else happens afterwards, in a separate task.

use tracing::Instrument;

use super::mail::{self, Counting};
use super::secrets::Secrets;
use super::start::{StartedSignIn, insert};
use crate::accounts::limits::mailbox;
use crate::accounts::signup;
use crate::accounts::signup::email_verification::VERIFICATION_LIFE;
use crate::accounts::signup::signup_request::Signup;
use crate::error::{Error, Result};
use crate::infra::Infra;

/// Stores the sign-in. Its digits are in the next mail to the address.
pub async fn start(infra: &Infra, signup: Signup) -> Result<StartedSignIn> {
    let now = infra.clock.now();
    let secrets = Secrets::random();
    let email = &signup.email;
    let too_many = |retry_after| Error::TooManyRequests { retry_after };
    let mut transaction = infra.pool.begin().await?;
    mailbox::admit(&mut transaction, infra, now, email, too_many).await?;
    insert(&mut transaction, &secrets, email, None, now + VERIFICATION_LIFE).await?;
    transaction.commit().await?;
    let started = StartedSignIn::new(&secrets);
    let (infra, held) = (infra.clone(), infra.shutdown.hold());
    let opening = async move {
        let _held = held;
        if let Err(error) = open_or_mail(&infra, signup, &secrets).await {
            tracing::error!(?error, "a sign-up in the console led to no mail");
        }
    };
    tokio::spawn(opening.in_current_span());
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
