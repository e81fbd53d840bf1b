use chrono::{DateTime, NaiveDate, Utc};
use sqlx::{PgConnection, query, query_as};

use crate::error::Result;

pub struct CountedDay {
    pub day: NaiveDate,
    pub minutes: i32,
    pub first_minute: DateTime<Utc>,
}

pub async fn upsert_minute(connection: &mut PgConnection, minute: DateTime<Utc>) -> Result<()> {
    query!(
        "INSERT INTO uptime_days AS known (day, minutes, first_minute, last_minute)
         VALUES ($1, 1, $2, $2)
         ON CONFLICT (day) DO UPDATE SET minutes = known.minutes + 1, last_minute = $2
         WHERE known.last_minute < $2",
        minute.date_naive(),
        minute,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_before(connection: &mut PgConnection, day: NaiveDate) -> Result<()> {
    query!("DELETE FROM uptime_days WHERE day < $1", day).execute(connection).await?;
    Ok(())
}

/// Oldest first.
pub async fn list_days(connection: &mut PgConnection) -> Result<Vec<CountedDay>> {
    let days =
        query_as!(CountedDay, "SELECT day, minutes, first_minute FROM uptime_days ORDER BY day")
            .fetch_all(connection)
            .await?;
    Ok(days)
}
