//! Passkeys (WebAuthn) for signing in to the console, beside mailed codes. A passkey belongs to a person: an
//! address, in all accounts of which it is a member. Only passkeys that verify their user are accepted, and
//! no attestation is requested, so the browser's parts of a new credential are used without CBOR.

pub mod adding;
mod ceremony;
mod challenge;
pub mod sign_in;
pub(super) mod store;

use serde::Serialize;
use uuid::Uuid;

use super::actor::Actor;
use super::event::EventKind;
use super::events;
use super::mails::passkey_notice::ChangedPasskey;
use super::mails::safety::{self, put_changed_passkey};
use super::members::member::{Member, lock_membership};
use super::sign_in::proof::Proof;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::infra::Infra;

pub use store::{delete_expired_challenges, delete_unused};

/// The most passkeys of a person.
pub const MOST_PASSKEYS: usize = 10;

#[derive(Serialize)]
pub struct PasskeyView {
    pub passkey_id: Uuid,
    pub name: String,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
}

/// Whether people can have passkeys: without a mail server, nothing has shown that they own their address.
pub fn are_offered(infra: &Infra) -> bool {
    Proof::of(infra) == Proof::Mail
}

/// Lists the member's passkeys, oldest first.
pub async fn list(infra: &Infra, member: &Member) -> Result<Vec<PasskeyView>> {
    let mut connection = infra.pool.acquire().await?;
    let rows = store::list_passkeys(&mut connection, &member.address).await?;
    let view = |row: store::Row| PasskeyView {
        passkey_id: row.passkey_id,
        name: row.name,
        created_at: Timestamp(row.created_at),
        last_used_at: row.last_used_at.map(Timestamp),
    };
    Ok(rows.into_iter().map(view).collect())
}

/// Removes a passkey of the member. `false` when the member has no such passkey.
pub async fn remove(infra: &Infra, member: &Member, passkey_id: Uuid) -> Result<bool> {
    let (now, address) = (infra.clock.now(), &member.address);
    let account_id = &member.account.account_id;
    let mut transaction = infra.pool.begin().await?;
    let membership = lock_membership(&mut transaction, account_id, address).await?;
    let Some(membership) = membership else { return Ok(false) };
    let removed = store::delete_passkey(&mut transaction, address, passkey_id).await?;
    let Some(name) = removed else { return Ok(false) };
    let (actor, kind) = (Actor::Member(address.clone()), EventKind::PasskeyRemoved);
    events::note(&mut transaction, now, account_id, &actor, kind, Some(&name)).await?;
    let change = ChangedPasskey { address: address.clone(), name, at: now, is_added: false };
    let account = &membership.account;
    let mail = put_changed_passkey(&mut transaction, infra, account, &change).await?;
    transaction.commit().await?;
    safety::send(infra, mail);
    Ok(true)
}
