//! Passkeys (WebAuthn) for signing in to the console, beside mailed codes. A passkey belongs to an address, and
//! is valid in all accounts of which the address is a member. Only passkeys that verify their user are accepted.
//! No attestation is requested, so the parts that the browser extracts suffice, and no CBOR is parsed.

pub mod adding;
mod ceremony;
mod challenge;
pub mod removal;
pub mod sign_in;
pub(super) mod store;

use serde::Serialize;
use sqlx::PgPool;
use uuid::Uuid;

use super::members::member::Member;
use super::sign_in::proof::Proof;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::infra::outbox::Outbox;

pub use store::{delete_expired_challenges, delete_unused};

/// The maximum number of passkeys per person.
pub const MOST_PASSKEYS: usize = 10;

#[derive(Serialize)]
pub struct PasskeyView {
    pub passkey_id: Uuid,
    pub name: String,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
}

/// Whether people can have passkeys. Without a mail server, it is unproven that they own their address.
pub fn are_offered(outbox: &Outbox) -> bool {
    Proof::of(outbox) == Proof::Mail
}

/// Lists the member's passkeys, oldest first.
pub async fn list(pool: &PgPool, member: &Member) -> Result<Vec<PasskeyView>> {
    let mut connection = pool.acquire().await?;
    let rows = store::list_passkeys(&mut connection, &member.address).await?;
    let view = |row: store::Row| PasskeyView {
        passkey_id: row.passkey_id,
        name: row.name,
        created_at: Timestamp(row.created_at),
        last_used_at: row.last_used_at.map(Timestamp),
    };
    Ok(rows.into_iter().map(view).collect())
}
