use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::endpoints::locked;
use super::store::deliveries as store;
use crate::accounts::access::Caller;
use crate::error::{Error, FieldError, Result};
use crate::infra::Infra;

/// From when on.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct ReplayRequest {
    /// RFC 3339. All that happened since and is kept is sent again.
    #[schema(format = DateTime, example = "2026-03-10T12:00:00Z")]
    pub since: String,
}

/// How many are sent again.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct Replayed {
    pub replayed: u64,
}

pub async fn replay_one(
    infra: &Infra,
    caller: &Caller,
    endpoint_id: Uuid,
    event_id: &str,
) -> Result<Replayed> {
    let event_id = Uuid::try_parse(event_id);
    let mut transaction = infra.pool.begin().await?;
    locked(&mut transaction, caller.account_id(), endpoint_id).await?;
    let event_id = event_id.map_err(|_| Error::DeliveryNotFound)?;
    let now = infra.clock.now();
    if !store::update_replayed(&mut transaction, endpoint_id, event_id, now).await? {
        return Err(Error::DeliveryNotFound);
    }
    store::update_retried_now(&mut transaction, endpoint_id).await?;
    transaction.commit().await?;
    infra.events.wake();
    Ok(Replayed { replayed: 1 })
}

/// Replays all stored events since a time to the endpoint, in their order.
pub async fn replay_since(
    infra: &Infra,
    caller: &Caller,
    endpoint_id: Uuid,
    request: &ReplayRequest,
) -> Result<Replayed> {
    let since = DateTime::parse_from_rfc3339(&request.since).map(|time| time.with_timezone(&Utc));
    let mut transaction = infra.pool.begin().await?;
    locked(&mut transaction, caller.account_id(), endpoint_id).await?;
    let since = since.map_err(|_| no_time())?;
    let now = infra.clock.now();
    let replayed = store::update_replayed_since(&mut transaction, endpoint_id, since, now).await?;
    store::update_retried_now(&mut transaction, endpoint_id).await?;
    transaction.commit().await?;
    infra.events.wake();
    Ok(Replayed { replayed })
}

pub fn no_time() -> Error {
    let problem = "must be a time such as 2026-03-10T12:00:00Z";
    Error::Validation(vec![FieldError::new(&["body", "since"], problem, "value_error")])
}
