//! Events of the activity log, written in the transaction that causes them.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::actor::Actor;
use super::event::ActivityKind;
use super::store::events::{NewEvent, insert_event};
use crate::error::Result;
use crate::types::ids::{AccountId, uuid_v7};

pub async fn record(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account_id: &AccountId,
    actor: &Actor,
    kind: ActivityKind,
    subject: Option<&str>,
) -> Result<()> {
    let new = NewEvent {
        event_id: uuid_v7(now),
        account_id,
        happened_at: now,
        kind,
        actor: &actor.to_string(),
        subject,
    };
    insert_event(connection, &new).await
}
