//! Moves of sites to other domains. Until a move ends, the site has both: visitors of the former domain can
//! change their choices there, and no other pixel can have it.

use chrono::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;
use utoipa::ToSchema;

use super::claims::host_claim::find_holder;
use super::input::OfPixel;
use super::pixel::Pixel;
use super::setup::find_for;
use super::store;
use super::store::moves::SiteMove;
use super::view::PixelView;
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::actor::Actor;
use crate::accounts::capability::Capability;
use crate::accounts::event::ActivityKind;
use crate::accounts::events;
use crate::accounts::scope::{Governs, Reads};
use crate::accounts::tool::Tool;
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::changes::Invalidation;
use crate::infra::isolation::isolate;
use crate::types::host::SiteHost;
use crate::types::ids::PixelId;

/// The period in which a site has both domains, unless its owner ends that earlier.
pub const LASTS: Duration = Duration::days(30);
/// Maximum number of moves that one round ends.
const MOST_ENDED: i64 = 1_000;

/// A move of a site to another domain that is under way.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct MoveView {
    pub pixel_id: PixelId,
    /// The site's domain from now on.
    pub domain: SiteHost,
    /// The domain before the move. Choices are recorded there as well until `ends_at`.
    pub former_domain: SiteHost,
    pub moved_at: Timestamp,
    /// When the former domain is served no longer, and is free for others.
    pub ends_at: Timestamp,
}

impl MoveView {
    fn of(pixel: &Pixel, site_move: SiteMove) -> Self {
        Self {
            pixel_id: pixel.pixel_id.clone(),
            domain: pixel.domain.clone(),
            former_domain: site_move.former_host,
            moved_at: Timestamp(site_move.moved_at),
            ends_at: Timestamp(site_move.ends_at),
        }
    }
}

/// Gives a locked pixel another host and keeps its present one for [`LASTS`]. The installation has not been
/// checked at the new host, and is checked soon.
pub async fn start(
    connection: &mut PgConnection,
    clock: &Clock,
    own_host: &str,
    invalidation: &mut Invalidation,
    pixel: &Pixel,
    host: &SiteHost,
) -> Result<(Pixel, MoveView)> {
    let (pixel_id, now) = (&pixel.pixel_id, clock.now());
    if store::moves::find_move(connection, pixel_id, now).await?.is_some() {
        return Err(Error::MoveUnderWay);
    }
    if let Some(holder) =
        find_holder(connection, clock, own_host, invalidation, host, &pixel.account_id).await?
    {
        let is_own = holder.account_id == pixel.account_id;
        return Err(if is_own { Error::HostIsYours } else { Error::DomainRegistered });
    }
    let former_host = pixel.domain.clone();
    let site_move = SiteMove { former_host, moved_at: now, ends_at: now + LASTS };
    if !store::moves::insert_move(connection, pixel_id, &site_move).await? {
        return Err(Error::MoveUnderWay);
    }
    let moved = store::update_domain(connection, pixel_id, host, now).await?;
    // A pixel with two domains is not deleted for lack of use at the new one.
    store::moves::update_unused_since(connection, pixel_id, site_move.ends_at).await?;
    store::install_checks::upsert_plan(connection, pixel_id, now).await?;
    let view = MoveView::of(&moved, site_move);
    Ok((moved, view))
}

/// Reverts the move of a locked pixel: the pixel gets its former host back, and the other host becomes free.
pub async fn turn_back(
    connection: &mut PgConnection,
    clock: &Clock,
    pixel: &Pixel,
) -> Result<Pixel> {
    let (pixel_id, now) = (&pixel.pixel_id, clock.now());
    let site_move = store::moves::find_move(connection, pixel_id, now).await?;
    let former_host = site_move.ok_or(Error::MoveNotFound)?.former_host;
    store::moves::delete_move(connection, pixel_id).await?;
    let back = store::update_domain(connection, pixel_id, &former_host, now).await?;
    store::install_checks::upsert_plan(connection, pixel_id, now).await?;
    Ok(back)
}

/// The move of a pixel; `None` if none is under way.
pub async fn find(
    connection: &mut PgConnection,
    clock: &Clock,
    pixel: &Pixel,
) -> Result<Option<MoveView>> {
    let now = clock.now();
    let site_move = store::moves::find_move(connection, &pixel.pixel_id, now).await?;
    Ok(site_move.map(|site_move| MoveView::of(pixel, site_move)))
}

/// Ends the moves that are due.
pub async fn end_due(infra: &Infra) -> Result<()> {
    let ended = {
        let mut connection = infra.pool.acquire().await?;
        let now = infra.clock.now();
        store::moves::list_ended_moves(&mut connection, now, MOST_ENDED).await?
    };
    for pixel_id in &ended {
        if infra.shutdown.has_begun() {
            break;
        }
        isolate(end_one(infra, pixel_id).await, "a move could not be ended", pixel_id)?;
    }
    Ok(())
}

async fn end_one(infra: &Infra, pixel_id: &PixelId) -> Result<()> {
    let mut transaction = infra.pool.begin().await?;
    let pixel = store::lock_pixel(&mut transaction, pixel_id).await?;
    let now = infra.clock.now();
    let is_ended = store::moves::delete_ended_move(&mut transaction, pixel_id, now).await?;
    let Some(pixel) = pixel.filter(|_| is_ended) else { return Ok(()) };
    let (kind, subject) = (ActivityKind::MoveEnded, Some(pixel_id.as_str()));
    events::record(&mut transaction, now, &pixel.account_id, &Actor::Service, kind, subject)
        .await?;
    infra.changes.commit(transaction, &Invalidation::of_pixel(pixel_id)).await?;
    tracing::info!(%pixel_id, "a move has ended");
    Ok(())
}

/// The move of a pixel's site.
pub struct ShowMove;

impl Capability for ShowMove {
    const NAME: &'static str = "show_move";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Show a move",
        "Shows both domains of a site that is moving, and when its former one ends.",
    ));
    type Service = Infra;
    type Access = GoodStanding<Reads>;
    type Input = OfPixel;
    type Output = MoveView;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, Error::MoveNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, OfPixel { pixel_id }: OfPixel) -> Result<MoveView> {
        let pixel = find_for(&infra.pool, &caller, &pixel_id).await?;
        let mut connection = infra.pool.acquire().await?;
        find(&mut connection, &infra.clock, &pixel).await?.ok_or(Error::MoveNotFound)
    }
}

/// Ends a move before its time: the former domain is no longer served, and free for others.
pub struct EndMove;

impl Capability for EndMove {
    const NAME: &'static str = "end_move";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.described(
        "End a move",
        "Ends a move before its 30 days are over: visitors of the former domain can no longer \
         change their choices there, and others can add it. Cannot be undone.",
    ));
    type Service = Infra;
    type Access = GoodStanding<Governs>;
    type Input = OfPixel;
    type Output = PixelView;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, Error::MoveNotFound]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OfPixel { pixel_id }: OfPixel,
    ) -> Result<PixelView> {
        let found = find_for(&infra.pool, &caller, &pixel_id).await?;
        let mut transaction = infra.pool.begin().await?;
        let pixel = store::lock_pixel(&mut transaction, &found.pixel_id)
            .await?
            .ok_or(Error::PixelNotFound)?;
        let (pixel_id, now) = (&pixel.pixel_id, infra.clock.now());
        if store::moves::find_move(&mut transaction, pixel_id, now).await?.is_none() {
            return Err(Error::MoveNotFound);
        }
        store::moves::delete_move(&mut transaction, pixel_id).await?;
        store::moves::update_unused_since(&mut transaction, pixel_id, now).await?;
        let (kind, subject) = (ActivityKind::MoveEnded, Some(pixel_id.as_str()));
        caller.record(&mut transaction, now, &pixel.account_id, kind, subject).await?;
        infra.changes.commit(transaction, &Invalidation::of_pixel(pixel_id)).await?;
        tracing::info!(%pixel_id, "a move was ended");
        Ok(PixelView::of(pixel, infra.base_url()))
    }
}
