use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query_as};

use crate::accounts::account::Status;
use crate::error::Result;
use crate::types::host::SiteHost;
use crate::types::ids::{AccountId, PixelId, PixelRef};

#[derive(Clone, Debug)]
pub struct PublicPixel {
    pub pixel_id: PixelId,
    pub account_id: AccountId,
    pub domain: SiteHost,
    pub consent_enabled: bool,
    pub owner_status: Status,
    pub is_confirmed: bool,
    pub share_subdomains: bool,
    pub share_ended_at: Option<DateTime<Utc>>,
}

pub async fn find_public_pixel(
    connection: &mut PgConnection,
    name: &PixelRef,
) -> Result<Option<PublicPixel>> {
    let pixel = query_as!(
        PublicPixel,
        "SELECT pixel_id, account_id, domain, consent_enabled, status AS owner_status,
             confirmed_at IS NOT NULL AS \"is_confirmed!\", share_subdomains, share_ended_at
         FROM pixels JOIN accounts USING (account_id)
         WHERE pixel_id = COALESCE((SELECT pixel_id FROM pixel_aliases WHERE alias = $1), $1)",
        name.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(pixel)
}
