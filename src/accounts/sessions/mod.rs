//! Sessions: who is signed in, in which browser.
//!
//! A browser holds a random secret, the database its SHA-256. A sign-in always makes a new one, so that
//! nobody can prepare a session for somebody else, and a session ends for good when it is ended here:
//! the secret that a browser may keep opens nothing any more.

pub(crate) mod store;

use chrono::{DateTime, Duration, Utc};
use serde::Serialize;
use sqlx::PgConnection;
use uuid::Uuid;

use super::actor::Actor;
use super::credentials::secret_hash;
use super::event::EventKind;
use super::events;
use super::member::{Member, Membership, membership_in, memberships_of};
use super::scope::Scope;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::infra::Infra;
use crate::types::ids::{AccountId, random_text};

/// A session ends this long after the sign-in, whether it is used or not.
pub const SESSION_LIFE: Duration = Duration::days(30);
/// How exactly it is kept when a session was last used.
const SEEN_EVERY: Duration = Duration::hours(1);
const SECRET_LEN: usize = 43;

/// A new session. Has no `Debug`: it holds the secret.
pub struct NewSession {
    secret: String,
}

impl NewSession {
    /// What the browser keeps.
    pub fn expose(&self) -> &str {
        &self.secret
    }
}

/// Opens a session of an account's member, by the address, in the browser of that name.
pub async fn open(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account_id: &AccountId,
    address: &str,
    browser: &str,
) -> Result<NewSession> {
    let session = NewSession { secret: random_text(SECRET_LEN) };
    let new = store::NewRow {
        token_hash: &secret_hash(&session.secret),
        session_id: Uuid::new_v4(),
        account_id,
        address,
        browser,
        created_at: now,
        expires_at: now + SESSION_LIFE,
    };
    store::insert_session(connection, &new).await?;
    let (actor, kind) = (Actor::Member(address.to_owned()), EventKind::SignedIn);
    events::note(connection, now, account_id, &actor, kind, Some(browser)).await?;
    tracing::info!(%account_id, "signed in");
    Ok(session)
}

/// Opens a session of the member's account with another address, which its holder has just shown to
/// read, and ends the member's own.
pub async fn reopen(
    infra: &Infra,
    member: &Member,
    address: &str,
    browser: &str,
) -> Result<NewSession> {
    let account_id = &member.account.account_id;
    let mut transaction = infra.pool.begin().await?;
    store::delete_session(&mut transaction, account_id, member.session_id).await?;
    let now = infra.clock.now();
    let session = open(&mut transaction, now, account_id, address, browser).await?;
    transaction.commit().await?;
    Ok(session)
}

/// The accounts among which the member may choose, the session's own among them. Where no mail is sent
/// nobody has shown to read the address, and there is only the one.
pub async fn memberships(infra: &Infra, member: &Member) -> Result<Vec<Membership>> {
    let mut connection = infra.pool.acquire().await?;
    let (account_id, address) = (&member.account.account_id, &member.address);
    match infra.outbox.mailer.is_configured() {
        true => memberships_of(&mut connection, address).await,
        false => {
            Ok(membership_in(&mut connection, account_id, address).await?.into_iter().collect())
        }
    }
}

/// Opens a session of another account that the member's address belongs to, and ends the member's own.
/// `None` when the address is no member there.
pub async fn move_to(
    infra: &Infra,
    member: &Member,
    account_id: &AccountId,
    browser: &str,
) -> Result<Option<NewSession>> {
    let memberships = memberships(infra, member).await?;
    if !memberships.iter().any(|it| it.account.account_id == *account_id) {
        return Ok(None);
    }
    let mut transaction = infra.pool.begin().await?;
    let own = &member.account.account_id;
    store::delete_session(&mut transaction, own, member.session_id).await?;
    let (now, address) = (infra.clock.now(), &member.address);
    let session = open(&mut transaction, now, account_id, address, browser).await?;
    transaction.commit().await?;
    Ok(Some(session))
}

/// Whose session this is, if it has not ended and its address is still a member's.
pub async fn find(infra: &Infra, secret: &str) -> Result<Option<Member>> {
    let now = infra.clock.now();
    let mut connection = infra.pool.acquire().await?;
    let found = store::find_session(&mut connection, &secret_hash(secret), now).await?;
    let Some(session) = found else { return Ok(None) };
    let (account_id, address) = (&session.account_id, session.address);
    let membership = membership_in(&mut connection, account_id, &address).await?;
    let Some(Membership { account, role, .. }) = membership else { return Ok(None) };
    if now - session.last_seen_at >= SEEN_EVERY {
        store::update_seen(&mut connection, session.session_id, now).await?;
    }
    let (session_id, signed_in_at) = (session.session_id, session.created_at);
    Ok(Some(Member { account, address, role, session_id, signed_in_at }))
}

/// A session as its member sees it.
#[derive(Serialize)]
pub struct SessionView {
    pub session_id: Uuid,
    /// The member's.
    pub address: String,
    /// "Firefox on Windows", as the browser said.
    pub browser: String,
    pub created_at: Timestamp,
    /// To the hour.
    pub last_seen_at: Timestamp,
    pub expires_at: Timestamp,
    /// Whether it is the one that asks.
    pub is_this: bool,
}

/// A member's sessions, the newest first; those of all members for whoever may do everything.
pub async fn list(infra: &Infra, member: &Member) -> Result<Vec<SessionView>> {
    let mut connection = infra.pool.acquire().await?;
    let account_id = &member.account.account_id;
    let now = infra.clock.now();
    let rows = store::list_sessions(&mut connection, account_id, now).await?;
    let view = |row: store::Row| SessionView {
        is_this: row.session_id == member.session_id,
        session_id: row.session_id,
        address: row.address,
        browser: row.browser,
        created_at: Timestamp(row.created_at),
        last_seen_at: Timestamp(row.last_seen_at),
        expires_at: Timestamp(row.expires_at),
    };
    let may_see = |row: &store::Row| member.role == Scope::Full || row.address == member.address;
    Ok(rows.into_iter().filter(may_see).map(view).collect())
}

/// Ends a session that the member may see, on every node at once. `false` when there is none.
pub async fn end(infra: &Infra, member: &Member, session_id: Uuid) -> Result<bool> {
    let account_id = &member.account.account_id;
    if !list(infra, member).await?.iter().any(|session| session.session_id == session_id) {
        return Ok(false);
    }
    let mut connection = infra.pool.acquire().await?;
    store::delete_session(&mut connection, account_id, session_id).await
}
