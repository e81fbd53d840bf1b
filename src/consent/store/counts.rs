//! The SQL of counts per day.

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::{PgConnection, query, query_as};

use crate::consent::stats::{ChoiceCount, ShownCount};
use crate::consent::terms::Purpose;
use crate::error::Result;
use crate::ids::{PixelId, VisitorId};

/// Counts a shown popup once per visitor, pixel and day.
pub async fn insert_shown(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    day: NaiveDate,
    visitor_id: &VisitorId,
) -> Result<()> {
    query!(
        "INSERT INTO consent_shown (pixel_id, shown_on, visitor_id) VALUES ($1, $2, $3)
         ON CONFLICT DO NOTHING",
        pixel_id.as_str(),
        day,
        visitor_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Choices from `start` until before `end`, per UTC day, answer and granted purposes.
///
/// All answers are named because the index that knows the time lists each answer by itself.
pub async fn count_choices(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    start: DateTime<Utc>,
    end: DateTime<Utc>,
) -> Result<Vec<ChoiceCount>> {
    let rows = query!(
        "SELECT (recorded_at AT TIME ZONE 'UTC')::date AS \"day!\", consent_state, purposes,
             count(*) AS \"count!\"
         FROM consent_receipts
         WHERE pixel_id = $1 AND consent_state IN ('accepted', 'declined', 'withdrawn')
             AND recorded_at >= $2 AND recorded_at < $3
         GROUP BY 1, 2, 3",
        pixel_id.as_str(),
        start,
        end,
    )
    .fetch_all(connection)
    .await?;
    let counts = rows.into_iter().map(|row| ChoiceCount {
        day: row.day,
        state: row.consent_state.into(),
        purposes: row.purposes.into_iter().map(Purpose::from).collect(),
        count: row.count,
    });
    Ok(counts.collect())
}

/// Visitors who saw the popup, per day, both days included.
pub async fn count_shown(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    from: NaiveDate,
    to: NaiveDate,
) -> Result<Vec<ShownCount>> {
    let counts = query_as!(
        ShownCount,
        "SELECT shown_on AS day, count(*) AS \"count!\" FROM consent_shown
         WHERE pixel_id = $1 AND shown_on BETWEEN $2 AND $3
         GROUP BY shown_on",
        pixel_id.as_str(),
        from,
        to,
    )
    .fetch_all(connection)
    .await?;
    Ok(counts)
}
