//! An attempt to sign in: its secrets, its limits and its mail.

use chrono::{DateTime, Duration, Utc};
use sqlx::PgConnection;

use super::known_browser::KnownBrowser;
use super::mail::{self, Counting};
use super::secrets::{SIGN_IN_LIFE, Secrets};
use super::store::{self, Destination};
use crate::accounts::limits::buckets::{Bucket, BucketKey, take};
use crate::accounts::sessions;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::limits::client_net::ClientNet;
use crate::types::email::Email;
use crate::types::mailbox::Mailbox;

/// Sign-ins per mailbox and network: an IPv4 address, or a /64 of IPv6.
const PER_CLIENT: Bucket = Bucket { at_once: 5, then_one_every: Duration::minutes(10) };
/// The same for a /48 of IPv6, which anybody can rent.
const PER_WIDE_NET: Bucket = Bucket { at_once: 10, then_one_every: Duration::minutes(10) };
/// With five guesses per sign-in, the long-term probability of guessing the digits is about 1 in 8,000 per day.
const TOGETHER: Bucket = Bucket { at_once: 40, then_one_every: Duration::hours(1) };
/// Sign-ins per mailbox and known browser. Nobody else can exhaust this bucket.
const PER_KNOWN_BROWSER: Bucket = PER_CLIENT;

/// A started sign-in. No `Debug`, because it contains the browser's secret.
pub struct StartedSignIn {
    secret: String,
}

impl StartedSignIn {
    pub fn new(secrets: &Secrets) -> Self {
        Self { secret: secrets.browser.clone() }
    }

    pub fn expose(&self) -> &str {
        &self.secret
    }
}

/// Starts a sign-in and mails six digits if the address is a member's. In a browser with a session
/// of the address (`former`), it signs in to that session's account.
pub async fn start(
    infra: &Infra,
    net: ClientNet,
    email: Email,
    browser: Option<&KnownBrowser>,
    former: Option<&str>,
) -> Result<StartedSignIn> {
    let former = match former {
        Some(secret) => sessions::find(&infra.pool, &infra.clock, secret).await?,
        None => None,
    };
    let former = former.filter(|member| member.address == email.as_str());
    let destination = former.map(|member| Destination {
        account_id: member.account.account_id,
        member_id: member.member_id,
    });
    let now = infra.clock.now();
    let secrets = Secrets::random();
    let mut transaction = infra.pool.begin().await?;
    admit(&mut transaction, now, net, &Mailbox::of(&email), browser).await?;
    let expires_at = now + SIGN_IN_LIFE;
    insert(&mut transaction, &secrets, &email, destination.as_ref(), expires_at).await?;
    transaction.commit().await?;
    let started = StartedSignIn::new(&secrets);
    infra.spawn(|infra| async move {
        let sent = mail::send(&infra, &email, &secrets, destination, Counting::SignIn(net)).await;
        if let Err(error) = sent {
            tracing::error!(?error, "the code of a sign-in was not mailed");
        }
    });
    Ok(started)
}

pub async fn insert(
    connection: &mut PgConnection,
    secrets: &Secrets,
    email: &Email,
    destination: Option<&Destination>,
    expires_at: DateTime<Utc>,
) -> Result<()> {
    let new = store::NewRow {
        token_hash: &secrets.token_hash(),
        address: email.as_str(),
        account_id: None,
        destination,
        code_hash: &secrets.code_hash(),
        expires_at,
    };
    store::insert_sign_in(connection, &new).await
}

/// Counts the sign-in separately from other mails, whether or not a mail is sent.
async fn admit(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    net: ClientNet,
    mailbox: &Mailbox,
    browser: Option<&KnownBrowser>,
) -> Result<()> {
    let too_many = |retry_after| Error::TooManyRequests { retry_after };
    if let Some(browser) = browser {
        let key = BucketKey::sign_ins_in(mailbox, browser);
        return take(connection, &key, now, PER_KNOWN_BROWSER, too_many).await;
    }
    for net in net.nets() {
        let bucket = if net.is_wide() { PER_WIDE_NET } else { PER_CLIENT };
        let key = BucketKey::sign_ins_from(mailbox, net);
        take(connection, &key, now, bucket, too_many).await?;
    }
    take(connection, &BucketKey::sign_ins(mailbox), now, TOGETHER, too_many).await
}
