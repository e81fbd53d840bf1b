//! The activity log. Events are kept for 400 days, and written in the transaction that causes them.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::ToSchema;
use uuid::Uuid;

use super::actor::Actor;
use super::event::{EventKind, EventView};
use super::store;
use crate::error::{Error, FieldError, Result};
use crate::infra::Infra;
use crate::types::ids::{AccountId, uuid_v7};
use crate::types::text::{page_limit, present};

const MOST: i64 = 200;

pub async fn note(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account_id: &AccountId,
    actor: &Actor,
    kind: EventKind,
    subject: Option<&str>,
) -> Result<()> {
    let new = store::NewEvent {
        event_id: uuid_v7(now),
        account_id,
        happened_at: now,
        kind,
        actor: &actor.to_string(),
        subject,
    };
    store::insert_event(connection, &new).await
}

/// A page of events, newest first.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct EventPage {
    pub events: Vec<EventView>,
    /// The next `before`; null after the last page.
    #[schema(required = true)]
    pub next_before: Option<Uuid>,
}

#[derive(Deserialize)]
pub struct EventQuery {
    /// The `next_before` of the previous page.
    pub before: Option<String>,
    pub limit: Option<String>,
}

impl EventQuery {
    fn check(&self) -> Result<(Option<Uuid>, i64)> {
        let before = match present(self.before.as_deref()) {
            Some(text) => Some(
                text.parse()
                    .map_err(|_| invalid_input("before", "must be the next_before of a page"))?,
            ),
            None => None,
        };
        let limit = match present(self.limit.as_deref()) {
            Some(text) => page_limit(text, MOST)
                .ok_or_else(|| invalid_input("limit", "must be from 1 to 200"))?,
            None => MOST,
        };
        Ok((before, limit))
    }
}

pub fn invalid_input(name: &str, wanted: &str) -> Error {
    Error::Validation(vec![FieldError::new(&["query", name], wanted, "value_error")])
}

pub async fn read(infra: &Infra, account_id: &AccountId, query: &EventQuery) -> Result<EventPage> {
    let (before, limit) = query.check()?;
    let mut connection = infra.pool.acquire().await?;
    let mut events = store::list_events(&mut connection, account_id, before, limit + 1).await?;
    let limit = usize::try_from(limit).map_err(Error::internal)?;
    let has_more = events.len() > limit;
    events.truncate(limit);
    let next_before = events.last().filter(|_| has_more).map(|last| last.event_id);
    Ok(EventPage { events, next_before })
}
