use sqlx::PgPool;

use super::store;
use super::store::moves::MovedPixel;
use crate::error::Error;
use crate::infra::Infra;
use crate::infra::changes::{Changes, Invalidation};
use crate::types::host::SiteHost;
use crate::types::ids::{AccountId, PixelId, PixelRef};

#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    #[error("no pixel has the id {0}")]
    NoSuchPixel(String),
    #[error("an alias has 1 to 80 letters, digits, '_' or '-'")]
    MalformedAlias,
    #[error("{0} is reserved for a test id")]
    ReservedAlias(PixelRef),
    #[error("{0} is taken")]
    AliasTaken(PixelRef),
    #[error("no pixel has the host {0}")]
    NoSuchHost(String),
    #[error(transparent)]
    Failed(#[from] Error),
}

pub async fn add_alias(
    pool: &PgPool,
    changes: &Changes,
    pixel_id: &str,
    alias: &str,
) -> Result<(), OperatorError> {
    let no_such_pixel = || OperatorError::NoSuchPixel(pixel_id.to_owned());
    let id = PixelId::parse(pixel_id).ok_or_else(no_such_pixel)?;
    let alias = PixelRef::parse(alias).ok_or(OperatorError::MalformedAlias)?;
    if alias.tested().is_some() {
        return Err(OperatorError::ReservedAlias(alias));
    }
    let mut transaction = pool.begin().await.map_err(Error::from)?;
    store::find_any_pixel(&mut transaction, &id).await?.ok_or_else(no_such_pixel)?;
    if !store::insert_alias(&mut transaction, &id, &alias).await? {
        return Err(OperatorError::AliasTaken(alias));
    }
    let mut invalidation = Invalidation::none();
    invalidation.add_alias(&alias);
    changes.commit(transaction, &invalidation).await?;
    Ok(())
}

/// A host that was freed, and the pixel that had it.
pub struct ReleasedHost {
    pub host: SiteHost,
    pub pixel_id: PixelId,
    pub account_id: AccountId,
    /// False for a pixel that had moved away from the host: only its move has ended.
    pub is_deleted: bool,
}

/// Deletes the pixel that has a host, installed or not, so that the host's owner can create one. A pixel that has
/// moved away from the host loses it and stays.
pub async fn release_host(infra: &Infra, host: &str) -> Result<ReleasedHost, OperatorError> {
    let host = SiteHost::parse(host, &infra.base_host())?;
    let mut transaction = infra.pool.begin().await.map_err(Error::from)?;
    let pixel = store::find_pixel_by_host(&mut transaction, &host).await?;
    let is_deleted = pixel.is_some();
    let (pixel_id, account_id) = match pixel {
        Some(pixel) => {
            store::delete_pixel(&mut transaction, &pixel.pixel_id).await?;
            (pixel.pixel_id, pixel.account_id)
        }
        None => {
            let now = infra.clock.now();
            let moved = store::moves::lock_pixel_of_former_host(&mut transaction, &host, now);
            let MovedPixel { pixel_id, account_id } =
                moved.await?.ok_or_else(|| OperatorError::NoSuchHost(host.to_string()))?;
            store::moves::delete_move(&mut transaction, &pixel_id).await?;
            (pixel_id, account_id)
        }
    };
    infra.changes.commit(transaction, &Invalidation::of_pixel(&pixel_id)).await?;
    Ok(ReleasedHost { host, pixel_id, account_id, is_deleted })
}
