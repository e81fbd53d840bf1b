use sqlx::{PgConnection, query, query_scalar};

use crate::consent_receipt::notice_snapshot::{Build, Digest};
use crate::error::{Error, Result};

/// Stores a build, unless it is stored already.
pub async fn insert_build(connection: &mut PgConnection, build: &Build) -> Result<()> {
    query!(
        "INSERT INTO script_builds (build, sha256) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        build.name,
        &build.sha256[..],
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn list_unqueued_builds(connection: &mut PgConnection) -> Result<Vec<Vec<u8>>> {
    let hashes = query_scalar!(
        "SELECT sha256 FROM script_builds WHERE NOT EXISTS (SELECT FROM publications
             WHERE kind = 'script' AND publications.sha256 = script_builds.sha256)"
    )
    .fetch_all(connection)
    .await?;
    Ok(hashes)
}

/// All builds, by name: one per release that changed the script.
pub async fn list_builds(connection: &mut PgConnection) -> Result<Vec<(String, Digest)>> {
    let rows = query!("SELECT build, sha256 FROM script_builds").fetch_all(connection).await?;
    let build = |name, sha256: Vec<u8>| {
        let sha256 = Digest::try_from(sha256).map_err(|_| Error::internal("no SHA-256"))?;
        Ok((name, sha256))
    };
    rows.into_iter().map(|row| build(row.build, row.sha256)).collect()
}
