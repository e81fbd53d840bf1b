//! Security mails of an account, which cannot be turned off: a new key, a new sign-in, a new app, a
//! passkey that was added or removed.

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::facts::{browser, maker, shown};
use super::owners_mail::{always, receives_notifications, to};
use super::passkey_notice::{ChangedPasskey, passkey_notice};
use crate::accounts::account::Account;
use crate::accounts::actor::Actor;
use crate::accounts::event::ActivityKind;
use crate::accounts::members::member::membership_in;
use crate::accounts::scope::Scope;
use crate::accounts::store;
use crate::clock::Clock;
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::outbox::{ClaimedMail, Kind, NewMail, Outbox};
use crate::infra::smtp::{Notice, NoticeLink, RenderedMail};
use crate::infra::templates::{Message, tr};
use crate::types::ids::AccountId;

/// The first key after the confirmation of the address causes no mail.
const JUST_CONFIRMED: Duration = Duration::hours(1);
/// The number of new keys per day that cause mails, so that nobody can flood a mailbox.
const MOST_KEYS: i64 = 20;
const ONE_DAY: Duration = Duration::days(1);

#[derive(Deserialize, Serialize)]
struct NewKey {
    prefix: String,
    name: Option<String>,
    scope: Scope,
    made_at: DateTime<Utc>,
    made_by: String,
}

/// Queues the mail about a new key, after its event was recorded; `None` where no mail is due.
pub async fn put_new_key(
    connection: &mut PgConnection,
    outbox: &Outbox,
    clock: &Clock,
    account_id: &AccountId,
    (prefix, name, scope): (&str, Option<&str>, Scope),
    actor: &Actor,
) -> Result<Option<ClaimedMail>> {
    let made_at = clock.now();
    let account = store::find_account(connection, account_id).await?;
    let Some(account) = account.filter(receives_notifications) else { return Ok(None) };
    if is_first_step(connection, &account, made_at).await? {
        return Ok(None);
    }
    let (kind, since) = (ActivityKind::KeyIssued, made_at - ONE_DAY);
    if store::count_events_since(connection, account_id, kind, since).await? > MOST_KEYS {
        return Ok(None);
    }
    let name = name.map(str::to_owned);
    let (prefix, made_by) = (prefix.to_owned(), actor.to_string());
    let key = NewKey { prefix, name, scope, made_at, made_by };
    let new = NewMail { kind: Kind::NewKey, account_id: Some(account_id), pixel_id: None };
    outbox.put(connection, new, &key).await
}

async fn is_first_step(
    connection: &mut PgConnection,
    account: &Account,
    now: DateTime<Utc>,
) -> Result<bool> {
    let just_confirmed = account.email_verified_at.is_some_and(|time| now - time < JUST_CONFIRMED);
    Ok(just_confirmed && store::count_keys_ever(connection, &account.account_id).await? == 1)
}

#[derive(Deserialize, Serialize)]
struct NewSignIn {
    address: String,
    browser: String,
    at: DateTime<Utc>,
    #[serde(default)]
    by: SignInMethod,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize)]
pub enum SignInMethod {
    #[default]
    Code,
    Passkey,
}

pub async fn put_new_sign_in(
    connection: &mut PgConnection,
    outbox: &Outbox,
    clock: &Clock,
    account: &Account,
    address: &str,
    browser: &str,
    by: SignInMethod,
) -> Result<Option<ClaimedMail>> {
    if !receives_notifications(account) {
        return Ok(None);
    }
    let (address, browser) = (address.to_owned(), browser.to_owned());
    let sign_in = NewSignIn { address, browser, at: clock.now(), by };
    let account_id = Some(&account.account_id);
    let new = NewMail { kind: Kind::NewSignIn, account_id, pixel_id: None };
    outbox.put(connection, new, &sign_in).await
}

#[derive(Deserialize, Serialize)]
pub struct NewGrant {
    /// The app's own name.
    pub app: String,
    pub host: Option<String>,
    pub scope: Scope,
    pub made_by: String,
    pub at: DateTime<Utc>,
}

/// Queues the mail about a connected app, after its event was recorded; `None` where no mail is due.
pub async fn put_new_grant(
    connection: &mut PgConnection,
    outbox: &Outbox,
    account: &Account,
    grant: &NewGrant,
) -> Result<Option<ClaimedMail>> {
    let (account_id, kind) = (&account.account_id, ActivityKind::AppConnected);
    let since = grant.at - ONE_DAY;
    if !receives_notifications(account)
        || store::count_events_since(connection, account_id, kind, since).await? > MOST_KEYS
    {
        return Ok(None);
    }
    let new = NewMail { kind: Kind::NewGrant, account_id: Some(account_id), pixel_id: None };
    outbox.put(connection, new, grant).await
}

/// Queues the mail to the person; `None` where no mail is due.
pub async fn put_changed_passkey(
    connection: &mut PgConnection,
    outbox: &Outbox,
    account: &Account,
    change: &ChangedPasskey,
) -> Result<Option<ClaimedMail>> {
    if !receives_notifications(account) {
        return Ok(None);
    }
    let account_id = Some(&account.account_id);
    let new = NewMail { kind: Kind::ChangedPasskey, account_id, pixel_id: None };
    outbox.put(connection, new, change).await
}

pub fn send(infra: &Infra, mail: Option<ClaimedMail>) {
    let Some(mail) = mail else { return };
    infra.spawn(|infra| async move {
        let rendered = rendered(&infra, &mail).await;
        if let Err(error) = infra.outbox.deliver(&mail, rendered).await {
            tracing::error!(?error, "a rejected mail could not be removed from the outbox");
        }
    });
}

/// Renders the mail; `None` once the account is deleted or suspended, or no longer has the address.
pub async fn rendered(infra: &Infra, mail: &ClaimedMail) -> Result<Option<RenderedMail>> {
    let Some(account_id) = &mail.account_id else { return Ok(None) };
    let mut connection = infra.pool.acquire().await?;
    let to_member = match mail.kind {
        Kind::NewSignIn => {
            let sign_in = infra.outbox.secrets::<NewSignIn>(mail)?;
            Some((sign_in_notice(infra.base_url(), &sign_in), sign_in.address))
        }
        Kind::ChangedPasskey => {
            let change = infra.outbox.secrets::<ChangedPasskey>(mail)?;
            Some((passkey_notice(infra.base_url(), &change), change.address))
        }
        _ => None,
    };
    if let Some((notice, address)) = to_member {
        let membership = membership_in(&mut connection, account_id, &address).await?;
        let account =
            membership.map(|membership| membership.account).filter(receives_notifications);
        let Some(account) = account else { return Ok(None) };
        return to(&mut connection, infra.base_url(), &account, &address, notice).await.map(Some);
    }
    let notice = match mail.kind {
        Kind::NewGrant => grant_notice(infra.base_url(), infra.outbox.secrets::<NewGrant>(mail)?),
        _ => key_notice(infra.base_url(), infra.outbox.secrets::<NewKey>(mail)?),
    };
    let account =
        store::find_account(&mut connection, account_id).await?.filter(receives_notifications);
    let Some(account) = account else { return Ok(None) };
    always(&mut connection, infra.base_url(), &account, notice).await.map(Some)
}

fn permitted(scope: Scope) -> Message {
    match scope {
        Scope::Full => tr("Admin"),
        Scope::Operate => tr("Editor: no deletions, keys, billing or account"),
        Scope::Read => tr("Read-only"),
    }
}

fn grant_notice(base_url: &str, grant: NewGrant) -> Notice {
    let url = format!("{base_url}/console/account#apps");
    let host = grant.host.map_or(tr("none: the app registered itself"), Message::Plain);
    Notice {
        subject: tr("An app was connected to your Assent account"),
        paragraphs: vec![
            tr("An app was allowed to use your account through the tool server for agents."),
            tr(
                "If it was you or a member of your account, you can ignore this email. If not, disconnect the app in the console immediately, and remove the member.",
            ),
        ],
        facts: vec![
            (tr("App"), shown(&grant.app)),
            (tr("Its host"), host),
            (tr("Permissions"), permitted(grant.scope)),
            (tr("Connected"), Message::Moment(grant.at)),
            (tr("Connected by"), maker(grant.made_by)),
        ],
        link: Some(NoticeLink { label: tr("View connected apps"), url }),
        ..Notice::default()
    }
}

fn key_notice(base_url: &str, key: NewKey) -> Notice {
    let name = key.name.as_deref().map_or(tr("none"), shown);
    let url = format!("{base_url}/console/account#keys");
    Notice {
        subject: tr("A new API key for your Assent account"),
        paragraphs: vec![
            tr(
                "A new API key was created. Programs that have it can do what its permissions allow.",
            ),
            tr(
                "If it was you or one of your programs, you can ignore this email. If not, revoke the key in the console immediately, and whatever created it too: another key, or a member.",
            ),
        ],
        facts: vec![
            (tr("Prefix"), key.prefix.into()),
            (tr("Name"), name),
            (tr("Permissions"), permitted(key.scope)),
            (tr("Created"), Message::Moment(key.made_at)),
            (tr("Created by"), maker(key.made_by)),
        ],
        link: Some(NoticeLink { label: tr("View API keys"), url }),
        ..Notice::default()
    }
}

fn sign_in_notice(base_url: &str, sign_in: &NewSignIn) -> Notice {
    let url = format!("{base_url}/console/account#sessions");
    let paragraphs = match sign_in.by {
        SignInMethod::Code => vec![
            tr("Someone signed in to the console with the code that we sent you."),
            tr(
                "If it was you, you can ignore this email. If not, someone else reads your email: change the password of your mailbox, then sign out that session in the console.",
            ),
        ],
        SignInMethod::Passkey => vec![
            tr("Someone signed in to the console with one of your passkeys."),
            tr(
                "If it was you, you can ignore this email. If not, sign out that session in the console, then remove the passkey.",
            ),
        ],
    };
    Notice {
        subject: tr("A new sign-in to your Assent account"),
        paragraphs,
        facts: vec![
            (tr("Address"), sign_in.address.clone().into()),
            (tr("Browser"), browser(&sign_in.browser)),
            (tr("Time"), Message::Moment(sign_in.at)),
        ],
        link: Some(NoticeLink { label: tr("View active sessions"), url }),
        ..Notice::default()
    }
}
