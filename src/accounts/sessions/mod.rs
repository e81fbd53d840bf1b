//! Sessions of members in browsers. Only this module opens, rotates and ends them. A browser stores a random
//! secret, and the database its SHA-256. A sign-in always opens a new session, which prevents session fixation.
//! Switching the account or changing its address rotates the secret but keeps the session's id, age and
//! expiry. Confirming the sign-in with a code rotates the secret and resets the age. A session belongs to a
//! membership, not to an address, and ends with the membership.

pub(super) mod store;

use chrono::{DateTime, Duration, Utc};
use serde::Serialize;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::actor::Actor;
use super::event::ActivityKind;
use super::events;
use super::members::member::{Member, Membership, lock_membership, membership_in, memberships_of};
use super::scope::Scope;
use crate::clock::{Clock, Timestamp};
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::outbox::Outbox;
use crate::infra::secret_hash::secret_hash;
use crate::types::ids::{AccountId, random_text};

pub use store::{delete_expired, is_alive};

/// A session ends this long after the sign-in, whether it is used or not.
pub const SESSION_LIFE: Duration = Duration::days(30);
const SEEN_EVERY: Duration = Duration::hours(1);
const SECRET_LEN: usize = 43;

/// A session with a new secret. No `Debug`, because it contains the secret.
pub struct NewSession {
    secret: String,
    pub expires_at: DateTime<Utc>,
}

/// The session that a sign-in opened, and whether it replaced one of the same membership.
pub struct Finished {
    pub session: NewSession,
    pub is_renewal: bool,
}

impl NewSession {
    fn ending_at(expires_at: DateTime<Utc>) -> Self {
        Self { secret: random_text(SECRET_LEN), expires_at }
    }

    pub fn expose(&self) -> &str {
        &self.secret
    }
}

#[derive(Clone, Copy)]
pub struct Browser<'a> {
    pub name: &'a str,
    /// The secret of the browser's current session, which ends: a browser has only one.
    pub former: Option<&'a str>,
}

/// Opens a session for a member's proven address. The account must be locked, so that the membership cannot end.
pub async fn open(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    membership: &Membership,
    address: &str,
    browser: Browser<'_>,
) -> Result<NewSession> {
    if let Some(former) = browser.former {
        store::delete_session_of_secret(connection, &secret_hash(former)).await?;
    }
    let account_id = &membership.account.account_id;
    let session = NewSession::ending_at(now + SESSION_LIFE);
    let new = store::NewRow {
        token_hash: &secret_hash(&session.secret),
        session_id: Uuid::new_v4(),
        account_id,
        member_id: membership.member_id,
        address,
        browser: browser.name,
        created_at: now,
        expires_at: session.expires_at,
    };
    store::insert_session(connection, &new).await?;
    let (actor, kind) = (Actor::Member(address.to_owned()), ActivityKind::SignedIn);
    events::record(connection, now, account_id, &actor, kind, Some(browser.name)).await?;
    tracing::info!(%account_id, "signed in");
    Ok(session)
}

/// Whether the browser has a session of this membership.
pub async fn has_session(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    membership: &Membership,
    address: &str,
    browser: Browser<'_>,
) -> Result<bool> {
    let Some(former) = browser.former else { return Ok(false) };
    let found = store::find_session(connection, &secret_hash(former), now).await?;
    Ok(found.is_some_and(|(row, _)| {
        row.account_id == membership.account.account_id
            && row.member_id == membership.member_id
            && row.address == address
    }))
}

/// Rotates the secret of the member's session. `None` when the session has ended.
pub async fn rotate(pool: &PgPool, clock: &Clock, member: &Member) -> Result<Option<NewSession>> {
    let session = NewSession::ending_at(member.expires_at);
    let new_hash = secret_hash(&session.secret);
    let mut connection = pool.acquire().await?;
    let rotation = rotation(clock, member, &new_hash);
    let is_rotated = store::update_secret(&mut connection, &rotation).await?;
    Ok(is_rotated.then_some(session))
}

/// Makes the sign-in of the member's session recent, and rotates its secret. `None` when the session has ended.
pub async fn renew(
    connection: &mut PgConnection,
    clock: &Clock,
    member: &Member,
) -> Result<Option<NewSession>> {
    let session = NewSession::ending_at(member.expires_at);
    let new_hash = secret_hash(&session.secret);
    let rotation = rotation(clock, member, &new_hash);
    let is_renewed = store::update_sign_in(connection, &rotation).await?;
    Ok(is_renewed.then_some(session))
}

fn rotation<'a>(clock: &Clock, member: &'a Member, new_hash: &'a [u8]) -> store::Rotation<'a> {
    let (session_id, old_hash) = (member.session_id, &*member.token_hash);
    store::Rotation { session_id, old_hash, new_hash, now: clock.now() }
}

/// Lists the accounts that the member may switch to, including the session's own. Without a mail
/// server the address is unproven, and only the session's account is listed.
pub async fn memberships(
    pool: &PgPool,
    outbox: &Outbox,
    member: &Member,
) -> Result<Vec<Membership>> {
    let mut connection = pool.acquire().await?;
    let (account_id, address) = (&member.account.account_id, &member.address);
    match outbox.mailer.is_configured() {
        true => memberships_of(&mut connection, address).await,
        false => {
            Ok(membership_in(&mut connection, account_id, address).await?.into_iter().collect())
        }
    }
}

/// Moves the member's session into another account of the same address. `None` when the address is
/// not a member there, the session has ended, or no mail server is configured.
pub async fn switch_to(
    infra: &Infra,
    member: &Member,
    account_id: &AccountId,
    browser: &str,
) -> Result<Option<NewSession>> {
    if !infra.outbox.mailer.is_configured() {
        return Ok(None);
    }
    let (now, address) = (infra.clock.now(), &member.address);
    let mut transaction = infra.pool.begin().await?;
    let membership = lock_membership(&mut transaction, account_id, address).await?;
    let Some(membership) = membership else { return Ok(None) };
    let session = NewSession::ending_at(member.expires_at);
    let new_hash = secret_hash(&session.secret);
    let (rotation, member_id) = (rotation(&infra.clock, member, &new_hash), membership.member_id);
    if !store::update_account(&mut transaction, &rotation, account_id, member_id).await? {
        return Ok(None);
    }
    let (actor, kind) = (Actor::Member(address.clone()), ActivityKind::AccountEntered);
    events::record(&mut transaction, now, account_id, &actor, kind, Some(browser)).await?;
    transaction.commit().await?;
    Ok(Some(session))
}

pub async fn find(pool: &PgPool, clock: &Clock, secret: &str) -> Result<Option<Member>> {
    let now = clock.now();
    let token_hash = secret_hash(secret);
    let mut connection = pool.acquire().await?;
    let found = store::find_session(&mut connection, &token_hash, now).await?;
    let Some((session, preferences)) = found else { return Ok(None) };
    let (account_id, address) = (&session.account_id, session.address);
    let membership = membership_in(&mut connection, account_id, &address).await?;
    let membership = membership.filter(|it| it.member_id == session.member_id);
    let Some(Membership { account, member_id, role, sites }) = membership else { return Ok(None) };
    if now - session.last_seen_at >= SEEN_EVERY {
        store::update_seen(&mut connection, session.session_id, now).await?;
    }
    let store::Row { session_id, created_at: signed_in_at, expires_at, .. } = session;
    Ok(Some(Member {
        account,
        member_id,
        address,
        role,
        sites,
        preferences,
        session_id,
        token_hash,
        signed_in_at,
        expires_at,
    }))
}

#[derive(Serialize)]
pub struct SessionView {
    pub session_id: Uuid,
    pub address: String,
    pub browser: String,
    pub created_at: Timestamp,
    pub last_seen_at: Timestamp,
    pub expires_at: Timestamp,
    pub is_this: bool,
    pub is_elsewhere: bool,
}

/// Lists a member's sessions in all accounts, newest first. Members with full scope also see all
/// sessions that are or were in their account.
pub async fn list(infra: &Infra, member: &Member) -> Result<Vec<SessionView>> {
    let mut connection = infra.pool.acquire().await?;
    let (account_id, now) = (&member.account.account_id, infra.clock.now());
    let sees_all = member.role == Scope::Full && member.sites.are_all();
    let may_see = |row: &store::Row| sees_all || row.address == member.address;
    let mut rows = store::list_sessions(&mut connection, account_id, now).await?;
    rows.retain(may_see);
    // Without a mail server, it is unproven that the person reads the mailbox.
    if infra.outbox.mailer.is_configured() {
        for own in store::list_sessions_of(&mut connection, &member.address, now).await? {
            if rows.iter().all(|row| row.session_id != own.session_id) {
                rows.push(own);
            }
        }
        rows.sort_by_key(|row| (std::cmp::Reverse(row.created_at), row.session_id));
    }
    let view = |row: store::Row| SessionView {
        is_this: row.session_id == member.session_id,
        is_elsewhere: row.account_id != *account_id,
        session_id: row.session_id,
        address: row.address,
        browser: row.browser,
        created_at: Timestamp(row.created_at),
        last_seen_at: Timestamp(row.last_seen_at),
        expires_at: Timestamp(row.expires_at),
    };
    Ok(rows.into_iter().map(view).collect())
}

/// Ends a session that the member may see, on every node. `false` when it does not exist.
pub async fn end(infra: &Infra, member: &Member, session_id: Uuid) -> Result<bool> {
    if !list(infra, member).await?.iter().any(|session| session.session_id == session_id) {
        return Ok(false);
    }
    store::delete_session(&mut *infra.pool.acquire().await?, session_id).await
}
