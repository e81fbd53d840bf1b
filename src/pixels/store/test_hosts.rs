use sqlx::{PgConnection, query, query_scalar};

use crate::error::Result;
use crate::types::host::SiteHost;
use crate::types::ids::PixelId;

/// Sorted by name.
pub async fn list_test_hosts(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<Vec<SiteHost>> {
    let hosts = query_scalar!(
        "SELECT host FROM pixel_test_hosts WHERE pixel_id = $1 ORDER BY host COLLATE \"C\"",
        pixel_id.as_str(),
    )
    .fetch_all(connection)
    .await?;
    Ok(hosts.into_iter().map(SiteHost::from).collect())
}

pub async fn update_test_hosts(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    hosts: &[SiteHost],
) -> Result<()> {
    let hosts = hosts.iter().map(ToString::to_string).collect::<Vec<_>>();
    query!("DELETE FROM pixel_test_hosts WHERE pixel_id = $1", pixel_id.as_str())
        .execute(&mut *connection)
        .await?;
    query!(
        "INSERT INTO pixel_test_hosts (pixel_id, host) SELECT $1, unnest($2::text[])",
        pixel_id.as_str(),
        &hosts,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Those of the `domains` that pixels of other accounts have, or keep during a move. Ignores the account `except`.
pub async fn list_domains_of_others(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    domains: &[String],
    except: &str,
) -> Result<Vec<SiteHost>> {
    let found = query_scalar!(
        "SELECT domain AS \"domain!\"
         FROM (SELECT domain, account_id FROM pixels
               UNION ALL
               SELECT former_host, account_id FROM site_moves JOIN pixels USING (pixel_id)) AS held
         WHERE domain = ANY($2) AND account_id <> $3
             AND account_id <> (SELECT account_id FROM pixels AS own WHERE own.pixel_id = $1)",
        pixel_id.as_str(),
        domains,
        except,
    )
    .fetch_all(connection)
    .await?;
    Ok(found.into_iter().map(SiteHost::from).collect())
}
