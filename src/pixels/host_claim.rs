//! Who gets a host: one pixel per host, first come first served, except that the demo gives way.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::host::SiteHost;
use super::pixel::Pixel;
use super::store;
use crate::accounts::{Account, DEMO_ACCOUNT, Plan};
use crate::error::{Error, Result};
use crate::ids::{AccountId, PixelId, PixelRef};

/// Pixels that the plans `free` and `paid` include.
pub const PIXELS_INCLUDED: i64 = 3;

/// Whether a new pixel is refused when the account has all that its plan includes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Allowance {
    Enforced,
    Waived,
}

/// Gives the account its pixel for a host: the one that it has, or a new one.
///
/// The account's row must be locked, so that the allowance holds for requests at once. Commit
/// through `platform.changes`: a demo pixel may have gone.
pub(super) async fn claim_host(
    connection: &mut PgConnection,
    owner: &Account,
    host: &SiteHost,
    allowance: Allowance,
    now: DateTime<Utc>,
) -> Result<Pixel> {
    // Between the look and the insert a pixel of the demo may come, which gives way as well.
    for _ in 0..2 {
        if let Some(pixel) = find_holder(connection, host, &owner.account_id).await? {
            return match pixel.account_id == owner.account_id {
                true => Ok(pixel),
                false => Err(Error::DomainRegistered),
            };
        }
        if allowance == Allowance::Enforced {
            check_allowance(connection, owner).await?;
        }
        if let Some(pixel) = insert(connection, &owner.account_id, host, now).await? {
            tracing::info!(pixel_id = %pixel.pixel_id, "pixel created");
            return Ok(pixel);
        }
    }
    Err(Error::DomainRegistered)
}

/// The pixel that keeps `taker` from a host, or that it has there already. A demo pixel is
/// deleted instead when a real account asks: nobody can hold a host through the demo.
pub(super) async fn find_holder(
    connection: &mut PgConnection,
    host: &SiteHost,
    taker: &AccountId,
) -> Result<Option<Pixel>> {
    let is_demo = |account: &AccountId| account.as_str() == DEMO_ACCOUNT;
    match store::find_pixel_by_host(connection, host).await? {
        Some(pixel) if is_demo(&pixel.account_id) && !is_demo(taker) => {
            store::delete_pixel(connection, &pixel.pixel_id).await?;
            tracing::info!(pixel_id = %pixel.pixel_id, "demo pixel gave way");
            Ok(None)
        }
        holder => Ok(holder),
    }
}

async fn check_allowance(connection: &mut PgConnection, owner: &Account) -> Result<()> {
    if owner.plan == Plan::Unlimited {
        return Ok(());
    }
    let remaining = PIXELS_INCLUDED - store::count_pixels(connection, &owner.account_id).await?;
    if remaining <= 0 {
        return Err(Error::PixelAllowanceReached { remaining: 0 });
    }
    Ok(())
}

/// `None` when the host was taken in the meantime. Any other failure is
/// `pixel could not be created`: the caller may try again.
async fn insert(
    connection: &mut PgConnection,
    owner: &AccountId,
    host: &SiteHost,
    now: DateTime<Utc>,
) -> Result<Option<Pixel>> {
    let alias = PixelRef::random_alias();
    let inserted =
        store::insert_pixel(connection, &PixelId::random(), owner, host, &alias, now).await;
    inserted.map_err(|error| {
        let cause = match &error {
            Error::Internal(cause) => cause.as_str(),
            _ => "the database is away",
        };
        tracing::error!(cause, "pixel could not be created");
        Error::PixelNotCreated
    })
}
