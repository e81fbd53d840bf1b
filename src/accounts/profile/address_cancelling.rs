//! The mailed link that cancels a change of the account's address, and revokes the keys,
//! memberships and sessions created since it was requested.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::{PgConnection, PgPool};

use super::address_change::withdraw;
use crate::accounts::account::Account;
use crate::accounts::actor::Actor;
use crate::accounts::credentials::PREFIX_LEN;
use crate::accounts::event::ActivityKind;
use crate::accounts::events;
use crate::accounts::introduction::Introduction;
use crate::accounts::keys::end_keys;
use crate::accounts::members::membership_end;
use crate::accounts::sessions::store::delete_session;
use crate::accounts::store::{self, AddressChange, StoredMember};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::infra::secret_hash::secret_hash;
use crate::infra::templates::Message;

#[derive(Serialize)]
pub struct Cancellable {
    pub account: Introduction,
    pub new_address: String,
    pub began: Message,
    pub takes_effect: Message,
    pub withdrawn: Option<Message>,
    /// The prefix of the key that made the latest request; `None` for a member.
    pub key: Option<String>,
    pub asked_by: String,
    pub keys: Vec<String>,
    pub members: Vec<String>,
}

pub struct Cancelled {
    pub account: Introduction,
    pub keys: usize,
    pub members: usize,
    pub sessions: u64,
}

/// Finds the change that the link would cancel, without side effects.
pub async fn find(pool: &PgPool, clock: &Clock, token: &str) -> Result<Cancellable> {
    let mut connection = pool.acquire().await?;
    let (account, change) = find_change(&mut connection, token, Locking::Not).await?;
    let made = Made::since(&mut connection, &account, &change, clock.now()).await?;
    Ok(Cancellable {
        account: Introduction::from(&account),
        began: Message::Moment(change.began_at),
        takes_effect: Message::Moment(change.takes_effect_at),
        withdrawn: change.withdrawn_at.map(Message::Moment),
        key: Some(&change.asked_by).filter(|maker| is_key(maker)).cloned(),
        new_address: change.new_address,
        asked_by: change.asked_by,
        keys: made.keys,
        members: made.members.into_iter().map(|stored| stored.email).collect(),
    })
}

/// Cancels the change and revokes what was created since it was first requested; with `end_asker`,
/// also the key or session of the latest request.
pub async fn cancel(
    pool: &PgPool,
    clock: &Clock,
    token: &str,
    end_asker: bool,
) -> Result<Cancelled> {
    let now = clock.now();
    let mut transaction = pool.begin().await?;
    let (account, change) = find_change(&mut transaction, token, Locking::Account).await?;
    let account_id = &account.account_id;
    // The holder of the link reads the mailbox, so the owner is recorded as the actor.
    let actor = Actor::Member(account.email.clone());
    let mut made = Made::since(&mut transaction, &account, &change, now).await?;
    if end_asker && is_key(&change.asked_by) && !made.keys.contains(&change.asked_by) {
        made.keys.push(change.asked_by.clone());
    }
    end_keys(&mut transaction, now, account_id, &actor, &made.keys).await?;
    for stored in &made.members {
        membership_end::end(&mut transaction, &account, &stored.email, None).await?;
        store::delete_member(&mut transaction, account_id, stored.member_id).await?;
        let (kind, subject) = (ActivityKind::MemberRemoved, Some(&*stored.email));
        events::record(&mut transaction, now, account_id, &actor, kind, subject).await?;
    }
    let mut sessions =
        membership_end::end_since(&mut transaction, &account, change.began_at).await?;
    if let Some(session_id) = change.asked_session.filter(|_| end_asker) {
        sessions += u64::from(delete_session(&mut transaction, session_id).await?);
    }
    withdraw(&mut transaction, now, account_id, &actor).await?;
    store::delete_address_change(&mut transaction, account_id).await?;
    transaction.commit().await?;
    tracing::info!(%account_id, "a change of address was cancelled");
    let (keys, members) = (made.keys.len(), made.members.len());
    Ok(Cancelled { account: Introduction::from(&account), keys, members, sessions })
}

#[derive(PartialEq, Eq)]
enum Locking {
    Account,
    Not,
}

async fn find_change(
    connection: &mut PgConnection,
    token: &str,
    locking: Locking,
) -> Result<(Account, AddressChange)> {
    let hash = secret_hash(token);
    let account_id = store::find_account_of_change_link(connection, &hash).await?;
    let account_id = account_id.ok_or(Error::AddressLinkNotFound)?;
    let account = match locking {
        Locking::Account => store::lock_account(connection, &account_id).await?,
        Locking::Not => store::find_account(connection, &account_id).await?,
    };
    let account = account.ok_or(Error::AddressLinkNotFound)?;
    // Read again under the lock, because the change may have taken effect in the meantime.
    if store::find_account_of_change_link(connection, &hash).await? != Some(account_id) {
        return Err(Error::AddressLinkNotFound);
    }
    let change = store::find_cancellable_change(connection, &account.account_id).await?;
    Ok((account, change.ok_or(Error::AddressLinkNotFound)?))
}

struct Made {
    keys: Vec<String>,
    members: Vec<StoredMember>,
}

impl Made {
    async fn since(
        connection: &mut PgConnection,
        account: &Account,
        change: &AddressChange,
        now: DateTime<Utc>,
    ) -> Result<Self> {
        let account_id = &account.account_id;
        let keys =
            store::list_live_keys_since(connection, account_id, change.began_at, now).await?;
        let mut members = store::list_members(connection, account_id).await?;
        members.retain(|stored| stored.created_at >= change.began_at);
        Ok(Self { keys, members })
    }
}

fn is_key(maker: &str) -> bool {
    maker.len() == PREFIX_LEN && maker.starts_with("px_") && !maker.contains('@')
}
