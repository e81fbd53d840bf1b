use std::collections::HashMap;

use sqlx::{PgConnection, query};

use super::rows::pixels_of;
use crate::error::{Error, Result};
use crate::infra::postgres::server_watch::require_writable;
use crate::types::ids::PixelId;

#[derive(Clone)]
pub struct NamedPixel {
    pub pixel_id: PixelId,
    /// Whether the popup is on and the owner not suspended. False for a deleted pixel.
    pub consent_in_force: bool,
}

/// The pixels of ids or aliases, each looked up once and by index. An unknown name is used as an id: a
/// deleted pixel's receipts are found by its id.
pub async fn list_named(
    connection: &mut PgConnection,
    names: &[&str],
) -> Result<HashMap<String, NamedPixel>> {
    let rows = query!(
        "SELECT name AS \"name!\", pixel_id AS \"pixel_id!: PixelId\",
             COALESCE((SELECT consent_enabled AND status <> 'suspended'
                 FROM pixels JOIN accounts USING (account_id)
                 WHERE pixels.pixel_id = named.pixel_id), false) AS \"consent_in_force!\",
             (SELECT current_setting('transaction_read_only') = 'off') AS \"is_writable!\"
         FROM (
             SELECT name, COALESCE(
                 (SELECT a.pixel_id FROM pixel_aliases AS a WHERE alias = name), name) AS pixel_id
             FROM unnest($1::text[]) AS question (name) OFFSET 0
         ) AS named",
        &pixels_of(names.iter().copied()),
    )
    .fetch_all(connection)
    .await?;
    require_writable(rows.iter().all(|row| row.is_writable))?;
    let named = rows.into_iter().map(|row| {
        let consent_in_force = row.consent_in_force;
        (row.name, NamedPixel { pixel_id: row.pixel_id, consent_in_force })
    });
    Ok(named.collect())
}

/// Like [`list_named`], for a single name.
pub async fn find_named(connection: &mut PgConnection, name: &str) -> Result<NamedPixel> {
    let found = list_named(connection, &[name]).await?.remove(name);
    found.ok_or_else(|| Error::internal("every name stands for a pixel"))
}
