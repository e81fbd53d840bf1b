//! Allocation of hosts: one pixel per host, first come first served, except that demo pixels give
//! way and the service's own host is reserved for the demo.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::accounts::access::Caller;
use crate::accounts::account::{Account, PIXELS_INCLUDED, Plan};
use crate::accounts::actor::Actor;
use crate::accounts::demo::DEMO_ACCOUNT;
use crate::accounts::event::ActivityKind;
use crate::accounts::events;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::infra::changes::Invalidation;
use crate::pixels::pixel::Pixel;
use crate::pixels::store;
use crate::types::host::{SiteHost, without_www};
use crate::types::ids::{AccountId, PixelId, PixelRef};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Allowance {
    Enforced,
    Waived,
}

#[derive(Clone, Copy)]
pub struct Terms<'a> {
    pub allowance: Allowance,
    pub contacts_need_consent: bool,
    /// The actor for the activity log; `None` for the demo.
    pub actor: Option<&'a Actor>,
}

/// The [`Terms::contacts_need_consent`] of a pixel that the caller creates: false for keys, since
/// older programs expect that every contact that they send is stored; true for members.
pub fn contacts_need_consent(caller: &Caller) -> bool {
    caller.is_member()
}

/// Returns the account's pixel for a host, or creates it. The account's row must be locked, so that
/// the limit holds for concurrent requests. `invalidation` receives the changes: the new pixel, and
/// a deleted demo pixel.
pub(in crate::pixels) async fn claim_host(
    connection: &mut PgConnection,
    clock: &Clock,
    own_host: &str,
    invalidation: &mut Invalidation,
    owner: &Account,
    host: &SiteHost,
    terms: Terms<'_>,
) -> Result<Pixel> {
    // Between query and insert another demo pixel may appear, which is deleted as well.
    for _ in 0..2 {
        let holder =
            find_holder(connection, clock, own_host, invalidation, host, &owner.account_id).await?;
        if let Some(pixel) = holder {
            return match pixel.account_id == owner.account_id {
                true => Ok(pixel),
                false => Err(Error::DomainRegistered),
            };
        }
        if terms.allowance == Allowance::Enforced {
            check_allowance(connection, owner).await?;
        }
        let need = terms.contacts_need_consent;
        let inserted =
            insert(connection, clock, invalidation, &owner.account_id, host, need).await?;
        if let Some(pixel) = inserted {
            if let Some(actor) = terms.actor {
                record_created(connection, clock.now(), actor, &pixel).await?;
            }
            tracing::info!(pixel_id = %pixel.pixel_id, "pixel created");
            return Ok(pixel);
        }
    }
    Err(Error::DomainRegistered)
}

pub(super) async fn record_created(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    actor: &Actor,
    pixel: &Pixel,
) -> Result<()> {
    let (kind, subject) = (ActivityKind::PixelCreated, Some(pixel.pixel_id.as_str()));
    events::record(connection, now, &pixel.account_id, actor, kind, subject).await
}

/// Returns the pixel that has a host, whether it belongs to `taker` or to another account. Deletes
/// a demo pixel if `taker` is a real account, so that nobody can occupy a host through the demo.
/// Fails for the service's own host, unless `taker` is the demo account, for which it is reserved.
pub(in crate::pixels) async fn find_holder(
    connection: &mut PgConnection,
    clock: &Clock,
    own_host: &str,
    invalidation: &mut Invalidation,
    host: &SiteHost,
    taker: &AccountId,
) -> Result<Option<Pixel>> {
    let is_demo = |account: &AccountId| account.as_str() == DEMO_ACCOUNT;
    let holder = store::find_pixel_by_host(connection, host).await?;
    if holder.as_ref().is_some_and(|pixel| pixel.account_id == *taker) {
        return Ok(holder);
    }
    if !is_demo(taker) && is_reserved(host, own_host) {
        return Err(Error::DomainRegistered);
    }
    match holder {
        Some(pixel) if is_demo(&pixel.account_id) && !is_demo(taker) => {
            store::delete_pixel(connection, &pixel.pixel_id).await?;
            invalidation.add_pixel(&pixel.pixel_id);
            tracing::info!(pixel_id = %pixel.pixel_id, "demo pixel gave way");
            Ok(None)
        }
        None => refuse_former_host(connection, clock, host, taker).await.map(|()| None),
        holder => Ok(holder),
    }
}

/// Refuses a host that a site has moved away from and keeps until its move ends.
async fn refuse_former_host(
    connection: &mut PgConnection,
    clock: &Clock,
    host: &SiteHost,
    taker: &AccountId,
) -> Result<()> {
    let now = clock.now();
    match store::moves::find_owner_of_former_host(connection, host, now).await? {
        None => Ok(()),
        Some(owner) if owner == *taker => Err(Error::MoveUnderWay),
        Some(_) => Err(Error::DomainRegistered),
    }
}

/// Whether a host is the service's own public host. A loopback name is not reserved, so that people
/// can try the service on their own machine with their own pixels.
pub(super) fn is_reserved(host: &SiteHost, own_host: &str) -> bool {
    let is_loopback = own_host == "localhost" || own_host.ends_with(".localhost");
    !is_loopback && without_www(host.as_str()) == without_www(own_host)
}

pub(super) async fn check_allowance(connection: &mut PgConnection, owner: &Account) -> Result<()> {
    if owner.plan == Plan::Unlimited {
        return Ok(());
    }
    let remaining = PIXELS_INCLUDED - store::count_pixels(connection, &owner.account_id).await?;
    if remaining <= 0 {
        return Err(Error::PixelAllowanceReached { remaining: 0 });
    }
    Ok(())
}

/// `None` when the host was taken meanwhile. Other failures are `pixel could not be created`: retry.
async fn insert(
    connection: &mut PgConnection,
    clock: &Clock,
    invalidation: &mut Invalidation,
    owner: &AccountId,
    host: &SiteHost,
    contacts_need_consent: bool,
) -> Result<Option<Pixel>> {
    let (pixel_id, alias) = (PixelId::random(), PixelRef::random_alias());
    let (now, need) = (clock.now(), contacts_need_consent);
    let inserted = store::insert_pixel(connection, &pixel_id, owner, host, &alias, need, now).await;
    if let Ok(Some(_)) = inserted {
        invalidation.add_pixel(&pixel_id);
        invalidation.add_alias(&alias);
    }
    inserted.map_err(|error| {
        if matches!(error, Error::DomainRegistered) {
            return error;
        }
        let cause = match &error {
            Error::Internal(cause) => cause.as_str(),
            _ => "the database is away",
        };
        tracing::error!(cause, "pixel could not be created");
        Error::PixelNotCreated
    })
}
