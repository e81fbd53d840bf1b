/// Defines a function that deletes a batch of a table's expired rows. Rows that are renewed meanwhile are kept.
macro_rules! deletion {
    ($(#[$comment:meta])* $name:ident, $table:literal, $key:literal, $expired:literal) => {
        $(#[$comment])*
        pub async fn $name(
            connection: &mut ::sqlx::PgConnection,
            until: ::chrono::DateTime<::chrono::Utc>,
            limit: i64,
        ) -> $crate::error::Result<u64> {
            let deleted = ::sqlx::query!(
                "DELETE FROM " + $table + " WHERE " + $expired + " AND " + $key + " IN (
                     SELECT " + $key + " FROM " + $table + " WHERE " + $expired + " LIMIT $2)",
                until,
                limit,
            )
            .execute(connection)
            .await?;
            Ok(deleted.rows_affected())
        }
    };
}
pub(crate) use deletion;
