use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_scalar};

use crate::clock::Timestamp;
use crate::contacts::suppressions::entry::{
    ImportStatus, ListedImport, Suppression, SuppressionSource,
};
use crate::error::Result;
use crate::pixels::list_pixel_ids;
use crate::types::hem::Hem;
use crate::types::ids::AccountId;

/// Inserts missing suppressions, and returns their number. The account's row must be locked;
/// storing contacts holds the same lock until the commit.
pub async fn insert_suppressions(
    connection: &mut PgConnection,
    account_id: &AccountId,
    hems: &[Hem],
    source: SuppressionSource,
    now: DateTime<Utc>,
) -> Result<u64> {
    let added = query!(
        "INSERT INTO suppressions (account_id, hem, source, created_at)
         SELECT $1, hem, $3, $4 FROM unnest($2::bytea[]) AS person (hem)
         ON CONFLICT DO NOTHING",
        account_id.as_str(),
        hems as &[Hem],
        source.as_str(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(added.rows_affected())
}

pub async fn has_suppressions(
    connection: &mut PgConnection,
    account_id: &AccountId,
    number: i64,
) -> Result<bool> {
    let has = query_scalar!(
        "SELECT EXISTS (SELECT FROM suppressions WHERE account_id = $1 OFFSET $2) AS \"has!\"",
        account_id.as_str(),
        number - 1,
    )
    .fetch_one(connection)
    .await?;
    Ok(has)
}

pub async fn delete_suppression(
    connection: &mut PgConnection,
    account_id: &AccountId,
    hem: Hem,
) -> Result<bool> {
    let deleted = query!(
        "DELETE FROM suppressions WHERE account_id = $1 AND hem = $2",
        account_id.as_str(),
        hem as Hem,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected() > 0)
}

pub async fn delete_of_account(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<u64> {
    let deleted = query!("DELETE FROM suppressions WHERE account_id = $1", account_id.as_str())
        .execute(connection)
        .await?;
    Ok(deleted.rows_affected())
}

pub async fn list_suppressions(
    connection: &mut PgConnection,
    account_id: &AccountId,
    after: Option<Hem>,
    limit: i64,
) -> Result<Vec<Suppression>> {
    let rows = query!(
        "SELECT hem AS \"hem: Hem\", source, created_at
         FROM suppressions WHERE account_id = $1 AND hem > COALESCE($2, ''::bytea)
         ORDER BY hem LIMIT $3",
        account_id.as_str(),
        after as Option<Hem>,
        limit,
    )
    .fetch_all(connection)
    .await?;
    let suppressions = rows.into_iter().map(|row| Suppression {
        hem: row.hem,
        source: row.source.into(),
        created_at: Timestamp(row.created_at),
    });
    Ok(suppressions.collect())
}

pub async fn find_suppression(
    connection: &mut PgConnection,
    account_id: &AccountId,
    hem: Hem,
) -> Result<Option<Suppression>> {
    let row = query!(
        "SELECT source, created_at FROM suppressions WHERE account_id = $1 AND hem = $2",
        account_id.as_str(),
        hem as Hem,
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| Suppression {
        hem,
        source: row.source.into(),
        created_at: Timestamp(row.created_at),
    }))
}

pub async fn list_hosts_of_person(
    connection: &mut PgConnection,
    account_id: &AccountId,
    hem: Hem,
) -> Result<Vec<String>> {
    let pixel_ids = list_pixel_ids(&mut *connection, account_id).await?;
    let storing = query_scalar!(
        "SELECT pixel_id FROM contacts WHERE pixel_id = ANY($1) AND hem = $2",
        &pixel_ids,
        hem as Hem,
    )
    .fetch_all(&mut *connection)
    .await?;
    let hosts = query_scalar!(
        "SELECT domain FROM pixels WHERE pixel_id = ANY($1) ORDER BY domain",
        &storing,
    )
    .fetch_all(connection)
    .await?;
    Ok(hosts)
}

pub async fn list_newest_imports(
    connection: &mut PgConnection,
    account_id: &AccountId,
    limit: i64,
) -> Result<Vec<ListedImport>> {
    let rows = query!(
        "SELECT import_id, status, lines, read, added, erased, rejected, created_at
         FROM suppression_imports WHERE account_id = $1 AND status <> 'uploading'
         ORDER BY created_at DESC, import_id DESC LIMIT $2",
        account_id.as_str(),
        limit,
    )
    .fetch_all(connection)
    .await?;
    let imports = rows.into_iter().map(|row| ListedImport {
        created_at: row.created_at,
        status: ImportStatus {
            import_id: row.import_id,
            status: row.status.into(),
            lines: row.lines,
            read: row.read,
            added: row.added,
            erased: row.erased,
            rejected: row.rejected,
        },
    });
    Ok(imports.collect())
}
