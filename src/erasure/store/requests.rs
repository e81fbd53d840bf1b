use chrono::{DateTime, Utc};
use sqlx::types::Json;
use sqlx::{PgConnection, query, query_scalar};
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::erasure::view::{ErasedRows, ErasureRequestStatus, ErasureRequestView};
use crate::error::Result;
use crate::types::hem::Hem;
use crate::types::ids::{PixelId, VisitorId};

pub struct NewRequest<'a> {
    pub pixel_id: &'a PixelId,
    pub request_id: Uuid,
    pub visitor_id: &'a VisitorId,
    pub requested_at: DateTime<Utc>,
    pub due_at: DateTime<Utc>,
}

/// Inserts a request if the visitor has a receipt of the pixel and no open request; `false` otherwise.
pub async fn insert_request(connection: &mut PgConnection, new: &NewRequest<'_>) -> Result<bool> {
    if !has_receipt(&mut *connection, new.pixel_id, new.visitor_id).await? {
        return Ok(false);
    }
    let inserted = query!(
        "INSERT INTO erasure_requests (pixel_id, request_id, visitor_id, requested_at, due_at)
         SELECT pixel_id, $2, $3, $4, $5 FROM pixels WHERE pixel_id = $1
         ON CONFLICT (pixel_id, visitor_id) WHERE status = 'open' DO NOTHING",
        new.pixel_id.as_str(),
        new.request_id,
        new.visitor_id.as_str(),
        new.requested_at,
        new.due_at,
    )
    .execute(connection)
    .await?;
    Ok(inserted.rows_affected() == 1)
}

pub struct MailedRequest<'a> {
    pub pixel_id: &'a PixelId,
    pub request_id: Uuid,
    pub hem: Hem,
    pub requested_at: DateTime<Utc>,
    pub due_at: DateTime<Utc>,
    pub recorded_at: DateTime<Utc>,
}

/// Inserts a request that was received by email. If the person has an open one, returns its id. The account
/// is not notified by mail, because it has recorded the request itself.
pub async fn insert_mailed(connection: &mut PgConnection, new: &MailedRequest<'_>) -> Result<Uuid> {
    let request_id = query_scalar!(
        "INSERT INTO erasure_requests
             (pixel_id, request_id, hem, received_by, requested_at, due_at, told_at)
         VALUES ($1, $2, $3, 'mail', $4, $5, $6)
         ON CONFLICT (pixel_id, hem) WHERE status = 'open' AND hem IS NOT NULL
         DO UPDATE SET hem = excluded.hem
         RETURNING request_id",
        new.pixel_id.as_str(),
        new.request_id,
        new.hem as Hem,
        new.requested_at,
        new.due_at,
        new.recorded_at,
    )
    .fetch_one(connection)
    .await?;
    Ok(request_id)
}

async fn has_receipt(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    visitor_id: &VisitorId,
) -> Result<bool> {
    let found = query_scalar!(
        "SELECT EXISTS (SELECT FROM consent_receipts
             WHERE pixel_id = $1 AND visitor_id = $2) AS \"found!\"",
        pixel_id.as_str(),
        visitor_id.as_str(),
    )
    .fetch_one(connection)
    .await?;
    Ok(found)
}

macro_rules! view_of {
    ($row:expr) => {{
        let row = $row;
        ErasureRequestView {
            request_id: row.request_id,
            visitor_id: row.visitor_id.map(VisitorId::from),
            received_by: row.received_by.into(),
            hem: row.hem,
            requested_at: Timestamp(row.requested_at),
            due_at: Timestamp(row.due_at),
            status: row.status.into(),
            closed_at: row.closed_at.map(Timestamp),
            reason: row.reason,
            erased: row.erased.map(|erased| erased.0),
        }
    }};
}

macro_rules! select_request {
    ($rest:literal, $($argument:expr),+ $(,)?) => {
        query!(
            "SELECT request_id, visitor_id, received_by, hem AS \"hem: Hem\", requested_at, due_at, status, closed_at, reason,
                 erased AS \"erased: Json<ErasedRows>\"
             FROM erasure_requests " + $rest,
            $($argument),+
        )
    };
}

pub async fn find_request(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    request_id: Uuid,
) -> Result<Option<ErasureRequestView>> {
    let row =
        select_request!("WHERE pixel_id = $1 AND request_id = $2", pixel_id.as_str(), request_id)
            .fetch_optional(connection)
            .await?;
    Ok(row.map(|row| view_of!(row)))
}

/// Requests after `after`, in the order of their ids, which is that of their times.
pub async fn list_requests(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    status: Option<ErasureRequestStatus>,
    after: Option<Uuid>,
    limit: i64,
) -> Result<Vec<ErasureRequestView>> {
    let rows = select_request!(
        "WHERE pixel_id = $1 AND ($2::text IS NULL OR status = $2)
             AND request_id > COALESCE($3::uuid, '00000000-0000-0000-0000-000000000000')
         ORDER BY request_id LIMIT $4",
        pixel_id.as_str(),
        status.map(ErasureRequestStatus::as_str),
        after,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| view_of!(row)).collect())
}

pub async fn update_refused(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    request_id: Uuid,
    now: DateTime<Utc>,
    reason: &str,
) -> Result<()> {
    query!(
        "UPDATE erasure_requests SET status = 'refused', closed_at = $3, reason = $4
         WHERE pixel_id = $1 AND request_id = $2",
        pixel_id.as_str(),
        request_id,
        now,
        reason,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn update_erased(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    visitor_id: &VisitorId,
    now: DateTime<Utc>,
    erased: &ErasedRows,
) -> Result<()> {
    query!(
        "UPDATE erasure_requests SET visitor_id = NULL, closed_at = COALESCE(closed_at, $3),
             erased = CASE status WHEN 'open' THEN $4 ELSE erased END,
             status = CASE status WHEN 'open' THEN 'completed' ELSE status END
         WHERE pixel_id = $1 AND visitor_id = $2",
        pixel_id.as_str(),
        visitor_id.as_str(),
        now,
        Json(erased) as _,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn update_erased_person(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    hem: Hem,
    now: DateTime<Utc>,
    erased: &ErasedRows,
) -> Result<()> {
    query!(
        "UPDATE erasure_requests SET hem = NULL, closed_at = COALESCE(closed_at, $3),
             erased = CASE status WHEN 'open' THEN $4 ELSE erased END,
             status = CASE status WHEN 'open' THEN 'completed' ELSE status END
         WHERE pixel_id = $1 AND hem = $2",
        pixel_id.as_str(),
        hem as Hem,
        now,
        Json(erased) as _,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_requests_of_pixels(
    connection: &mut PgConnection,
    pixel_ids: &[String],
) -> Result<u64> {
    let deleted = query!("DELETE FROM erasure_requests WHERE pixel_id = ANY($1)", pixel_ids)
        .execute(connection)
        .await?;
    Ok(deleted.rows_affected())
}

pub async fn delete_closed_requests(
    connection: &mut PgConnection,
    before: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    let deleted = query!(
        "DELETE FROM erasure_requests WHERE (pixel_id, request_id) IN (
             SELECT pixel_id, request_id FROM erasure_requests WHERE closed_at < $1 LIMIT $2)",
        before,
        limit,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

pub async fn list_requests_of_visitor(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    visitor_id: &VisitorId,
) -> Result<Vec<ErasureRequestView>> {
    let rows = select_request!(
        "WHERE pixel_id = $1 AND visitor_id = $2 ORDER BY request_id DESC LIMIT 20",
        pixel_id.as_str(),
        visitor_id.as_str(),
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| view_of!(row)).collect())
}

pub async fn list_requests_of_person(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    hem: Hem,
) -> Result<Vec<ErasureRequestView>> {
    let rows = select_request!(
        "WHERE pixel_id = $1 AND hem = $2 ORDER BY request_id DESC LIMIT 20",
        pixel_id.as_str(),
        hem as Hem,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| view_of!(row)).collect())
}
