use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query};

use crate::accounts::account::Status;
use crate::error::Result;
use crate::pixels::pixel::DayZone;
use crate::types::host::SiteHost;
use crate::types::ids::{AccountId, PixelId, PixelRef};

#[derive(Clone, Debug)]
pub struct PublicPixel {
    pub pixel_id: PixelId,
    pub account_id: AccountId,
    pub domain: SiteHost,
    /// The former host of a site that is moving.
    pub former: Option<FormerHost>,
    pub consent_enabled: bool,
    pub owner_status: Status,
    pub is_confirmed: bool,
    pub share_subdomains: bool,
    pub share_ended_at: Option<DateTime<Utc>>,
    pub day_zone: DayZone,
}

/// A host whose pages belong to a site until the site's move ends.
#[derive(Clone, Debug)]
pub struct FormerHost {
    pub host: SiteHost,
    pub ends_at: DateTime<Utc>,
}

pub async fn find_public_pixel(
    connection: &mut PgConnection,
    name: &PixelRef,
) -> Result<Option<PublicPixel>> {
    let row = query!(
        "SELECT pixels.pixel_id AS \"pixel_id!\", account_id AS \"account_id!\", domain AS \"domain!\",
             consent_enabled AS \"consent_enabled!\", status AS \"owner_status!\",
             confirmed_at IS NOT NULL AS \"is_confirmed!\",
             share_subdomains AS \"share_subdomains!\", share_ended_at AS \"share_ended_at?\",
             former_host AS \"former_host?\", site_moves.ends_at AS \"move_ends_at?\",
             time_zone AS \"time_zone?\", time_zone_from AS \"time_zone_from?\"
         FROM pixels JOIN accounts USING (account_id)
             LEFT JOIN site_moves ON site_moves.pixel_id = pixels.pixel_id
         WHERE pixels.pixel_id
             = COALESCE((SELECT pixel_id FROM pixel_aliases WHERE alias = $1), $1)",
        name.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| PublicPixel {
        former: row
            .former_host
            .zip(row.move_ends_at)
            .map(|(host, ends_at)| FormerHost { host: host.into(), ends_at }),
        pixel_id: row.pixel_id.into(),
        account_id: row.account_id.into(),
        domain: row.domain.into(),
        consent_enabled: row.consent_enabled,
        owner_status: row.owner_status.into(),
        is_confirmed: row.is_confirmed,
        share_subdomains: row.share_subdomains,
        share_ended_at: row.share_ended_at,
        day_zone: DayZone::of_stored(row.time_zone.as_deref(), row.time_zone_from),
    }))
}
