//! The beginning of a sign-in.

use chrono::{DateTime, Duration, Utc};
use sqlx::PgConnection;
use tracing::Instrument;

use super::secrets::{SIGN_IN_LIFE, Secrets};
use super::{mail, store};
use crate::accounts::credentials::secret_hash;
use crate::accounts::email_verification::VERIFICATION_LIFE;
use crate::accounts::mailbox::{self, Bucket};
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::limits::client_net::ClientNet;
use crate::types::email::Email;
use crate::types::ids::AccountId;

/// What one client may ask for an address, so that no other client can use it up.
const PER_CLIENT: Bucket = Bucket { at_once: 5, then_one_every: Duration::minutes(10) };
/// What all together may ask for an address: with five guesses each, that is a chance of one in ten
/// thousand a day to guess one's way in.
const TOGETHER: Bucket = Bucket { at_once: 40, then_one_every: Duration::hours(1) };

/// A sign-in that has begun. Has no `Debug`: it holds the secret of the browser.
pub struct StartedSignIn {
    secret: String,
}

impl StartedSignIn {
    /// What the browser keeps until the digits are there.
    pub fn expose(&self) -> &str {
        &self.secret
    }
}

/// Begins a sign-in, and mails six digits should the address be a member's.
pub async fn start(infra: &Infra, net: ClientNet, email: Email) -> Result<StartedSignIn> {
    let now = infra.clock.now();
    let secrets = Secrets::random();
    let mut transaction = infra.pool.begin().await?;
    admit(&mut transaction, now, net, &email).await?;
    insert(&mut transaction, &secrets, &email, None, now + SIGN_IN_LIFE).await?;
    transaction.commit().await?;
    let started = StartedSignIn { secret: secrets.browser.clone() };
    let (infra, held) = (infra.clone(), infra.ending.hold());
    let mailing = async move {
        let _held = held;
        if let Err(error) = mail::send(&infra, &email, &secrets).await {
            tracing::error!(?error, "the code of a sign-in was not mailed");
        }
    };
    tokio::spawn(mailing.in_current_span());
    Ok(started)
}

/// Begins the sign-in that ends a signup: it waits for the digits of the confirmation mail, which has
/// been sent.
pub async fn start_signup(
    infra: &Infra,
    email: &Email,
    account_id: &AccountId,
) -> Result<StartedSignIn> {
    let secrets = Secrets::random();
    let expires_at = infra.clock.now() + VERIFICATION_LIFE;
    let mut connection = infra.pool.acquire().await?;
    insert(&mut connection, &secrets, email, Some(account_id), expires_at).await?;
    Ok(StartedSignIn { secret: secrets.browser })
}

async fn insert(
    connection: &mut PgConnection,
    secrets: &Secrets,
    email: &Email,
    account_id: Option<&AccountId>,
    expires_at: DateTime<Utc>,
) -> Result<()> {
    let new = store::NewRow {
        token_hash: &secrets.token_hash(),
        address: email.as_str(),
        account_id,
        code_hash: &secrets.code_hash(),
        expires_at,
    };
    store::insert_sign_in(connection, &new).await
}

/// Counts the mail, apart from all other mails, whether one is sent or not.
async fn admit(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    net: ClientNet,
    email: &Email,
) -> Result<()> {
    let too_many = |retry_after| Error::TooManyRequests { retry_after };
    let address = email.as_str();
    let own = secret_hash(&format!("sign-in {address} {}", hex::encode(net.digest())));
    mailbox::take(connection, &own, now, PER_CLIENT, too_many).await?;
    let all = secret_hash(&format!("sign-in {address}"));
    mailbox::take(connection, &all, now, TOGETHER, too_many).await
}
