//! Moving a site to another domain, and back. The notice names the domain, so both publish it again.

use serde_json::json;
use sqlx::PgConnection;

use super::publication_limit::count_publication;
use super::screenshots::due;
use super::{revision, store};
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::event::ActivityKind;
use crate::accounts::lock_account;
use crate::accounts::scope::Governs;
use crate::accounts::tool::Tool;
use crate::clock::Clock;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::idempotency;
use crate::infra::Infra;
use crate::infra::changes::Invalidation;
use crate::infra::events::{self, NewEvent, Subscribers};
use crate::pixels;
use crate::pixels::input::{OfPixel, OnPixel, PixelRequest};
use crate::pixels::moves::{self, MoveView};
use crate::pixels::pixel::{InstallStatus, Pixel};
use crate::pixels::setup::find_for;
use crate::pixels::view::PixelView;
use crate::types::host::SiteHost;

/// A site moves to another domain and keeps everything that is stored for it.
pub struct MovePixel;

impl Capability for MovePixel {
    const NAME: &'static str = "move_pixel";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.described(
        "Move a site to another domain",
        "Moves a pixel, installed or not, to another domain. Snippet, receipts, contacts and \
         notices stay. For 30 days the former domain is served too; `end_move` ends that, \
         `cancel_move` goes back. Next: the snippet on the new domain, then `check_install`.",
    ));
    type Service = Infra;
    type Access = GoodStanding<Governs>;
    type Input = OnPixel<PixelRequest>;
    type Output = MoveView;

    fn refusals() -> Vec<Error> {
        let own = [
            Error::PixelNotFound,
            Error::MoveUnderWay,
            Error::HostIsYours,
            Error::DomainRegistered,
            Error::PolicyAllowanceReached,
            Error::TooManyRequests { retry_after: 30 },
        ];
        PixelRequest::refusals().into_iter().chain(own).collect()
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OnPixel { pixel_id, input }: OnPixel<PixelRequest>,
    ) -> Result<MoveView> {
        let (clock, config, own_host) = (&infra.clock, &infra.config, infra.base_host());
        let host = input.host(&own_host)?;
        let found = find_for(&infra.pool, &caller, &pixel_id).await?;
        let subscribers = infra.events.subscribers(&found.account_id).await?;
        let mut transaction = infra.pool.begin().await?;
        // The account's row is locked first, because rows of two of its pixels may be locked.
        let owner = lock_account(&mut transaction, &found.account_id).await?;
        owner.ok_or(Error::NotInGoodStanding)?;
        let pixel = pixels::lock_pixel(&mut transaction, &found.pixel_id).await?;
        let pixel = pixel.ok_or(Error::PixelNotFound)?;
        let mut invalidation = Invalidation::of_pixel(&pixel.pixel_id);
        replace_unused(&mut transaction, clock, &caller, &mut invalidation, &pixel, &host).await?;
        let started =
            moves::start(&mut transaction, clock, &own_host, &mut invalidation, &pixel, &host);
        let (moved, view) = started.await.map_err(|error| match error {
            // The account's other sites must not be revealed to a caller restricted to some.
            Error::HostIsYours if !caller.sites.are_all() => Error::DomainRegistered,
            error => error,
        })?;
        let kind = ActivityKind::PixelMoved;
        let is_wanted = record_and_publish(
            &mut transaction,
            clock,
            config,
            &caller,
            &subscribers,
            &moved,
            kind,
        )
        .await?;
        idempotency::keep(&infra.answer_encryptor, &mut transaction, Some(201), &view).await?;
        infra.changes.commit(transaction, &invalidation).await?;
        if is_wanted {
            infra.events.wake();
        }
        tracing::info!(pixel_id = %moved.pixel_id, "site moved");
        Ok(view)
    }
}

/// A site that is moving returns to its former domain.
pub struct CancelMove;

impl Capability for CancelMove {
    const NAME: &'static str = "cancel_move";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.described(
        "Cancel a move",
        "Takes a move back while it is under way: the pixel has its former domain again, and \
         the new one is free.",
    ));
    type Service = Infra;
    type Access = GoodStanding<Governs>;
    type Input = OfPixel;
    type Output = PixelView;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, Error::MoveNotFound, Error::DomainRegistered]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OfPixel { pixel_id }: OfPixel,
    ) -> Result<PixelView> {
        let found = find_for(&infra.pool, &caller, &pixel_id).await?;
        let subscribers = infra.events.subscribers(&found.account_id).await?;
        let mut transaction = infra.pool.begin().await?;
        let pixel = pixels::lock_pixel(&mut transaction, &found.pixel_id).await?;
        let pixel = pixel.ok_or(Error::PixelNotFound)?;
        let back = moves::turn_back(&mut transaction, &infra.clock, &pixel).await?;
        let (clock, config, kind) = (&infra.clock, &infra.config, ActivityKind::MoveCancelled);
        let is_wanted =
            record_and_publish(&mut transaction, clock, config, &caller, &subscribers, &back, kind)
                .await?;
        infra.changes.commit(transaction, &Invalidation::of_pixel(&back.pixel_id)).await?;
        if is_wanted {
            infra.events.wake();
        }
        tracing::info!(pixel_id = %back.pixel_id, "move cancelled");
        Ok(PixelView::of(back, infra.base_url()))
    }
}

/// Deletes the account's own pixel of a host if it was never set up: a proven claim leaves one, so that another site
/// can move there.
async fn replace_unused(
    connection: &mut PgConnection,
    clock: &Clock,
    caller: &Caller,
    invalidation: &mut Invalidation,
    moving: &Pixel,
    host: &SiteHost,
) -> Result<()> {
    let holder = pixels::find_pixel_by_host(connection, host).await?;
    let is_other_own = |it: &Pixel| {
        it.account_id == moving.account_id
            && it.pixel_id != moving.pixel_id
            && caller.sites.include(it.pixel_id.as_str())
    };
    let Some(own) = holder.filter(is_other_own) else { return Ok(()) };
    let own = pixels::lock_pixel(connection, &own.pixel_id).await?;
    let Some(own) = own.filter(|own| own.domain == *host) else { return Ok(()) };
    let is_used = own.install_status == InstallStatus::Installed
        || moves::find(connection, clock, &own).await?.is_some()
        || !store::list_newest_policies(connection, &own.pixel_id, 1, i64::MAX).await?.is_empty()
        || pixels::has_contacts(connection, &own.pixel_id).await?;
    if is_used {
        return Ok(());
    }
    pixels::delete_pixel(connection, &own.pixel_id).await?;
    invalidation.add_pixel(&own.pixel_id);
    let (kind, subject) = (ActivityKind::PixelDeleted, Some(own.pixel_id.as_str()));
    caller.record(connection, clock.now(), &own.account_id, kind, subject).await
}

/// Records the activity, and publishes the pixel's policy for the new domain. Returns whether endpoints of
/// webhooks are notified.
async fn record_and_publish(
    connection: &mut PgConnection,
    clock: &Clock,
    config: &Config,
    caller: &Caller,
    subscribers: &Subscribers,
    pixel: &Pixel,
    kind: ActivityKind,
) -> Result<bool> {
    let Pixel { pixel_id, account_id, domain, .. } = pixel;
    let now = clock.now();
    // Only the move itself is limited, so that it can always be cancelled.
    if kind == ActivityKind::PixelMoved {
        count_publication(connection, clock, config, account_id).await?;
        revision::check_room_for_newest(connection, pixel_id).await?;
    }
    caller.record(connection, now, account_id, kind, Some(pixel_id.as_str())).await?;
    let published = revision::publish_for_domain(connection, now, pixel_id, domain).await?;
    let Some(policy) = published else { return Ok(false) };
    let (kind, hash) = (ActivityKind::PolicyPublished, Some(policy.hash.as_str()));
    caller.record(connection, now, account_id, kind, hash).await?;
    due::record(connection, pixel_id, now).await?;
    let event = NewEvent {
        kind: events::EventKind::PolicyPublished,
        pixel_id: Some(pixel_id),
        subject: json!({"version": policy.version}),
        occurred_at: now,
    };
    let is_wanted = subscribers.want(event.kind, event.pixel_id);
    events::put(connection, subscribers, &[event]).await?;
    Ok(is_wanted)
}
