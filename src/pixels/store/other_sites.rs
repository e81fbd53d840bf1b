use sqlx::{PgConnection, query_as};

use crate::error::Result;
use crate::types::host::SiteHost;
use crate::types::ids::{AccountId, PixelId};

pub struct OtherSite {
    pub pixel_id: PixelId,
    pub domain: SiteHost,
}

/// The sites of an account except `besides`, sorted by host: all of them, or those in `listed`.
pub async fn list_other_sites(
    connection: &mut PgConnection,
    owner: &AccountId,
    besides: &str,
    listed: Option<&[String]>,
    limit: i64,
) -> Result<Vec<OtherSite>> {
    let sites = query_as!(
        OtherSite,
        "SELECT pixel_id, domain FROM pixels
         WHERE account_id = $1 AND pixel_id <> $2 AND ($3::text[] IS NULL OR pixel_id = ANY($3))
         ORDER BY domain LIMIT $4",
        owner.as_str(),
        besides,
        listed,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(sites)
}
