//! The payload of a delivery, for diagnosing a failure.

use uuid::Uuid;

use super::body;
use super::format::Format;
use super::kinds::known_kinds;
use super::store::deliveries;
use crate::error::Result;
use crate::infra::Infra;

/// The body that would be sent now, if any. The caller must have checked the access to the endpoint.
pub async fn of(
    infra: &Infra,
    endpoint_id: Uuid,
    format: Format,
    event_id: Uuid,
) -> Result<Option<Vec<u8>>> {
    let mut connection = infra.pool.acquire().await?;
    let found = deliveries::find_attempted(&mut connection, endpoint_id, event_id).await?;
    drop(connection);
    let Some(due) = found.filter(|due| known_kinds().contains(&due.kind)) else {
        return Ok(None);
    };
    Ok(body::of(infra, format, &[&due]).await?.pop().flatten())
}
