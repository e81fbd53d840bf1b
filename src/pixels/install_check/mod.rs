//! Install checks: the service fetches the home page of a site, and determines whether its pixel is on it.

pub mod daily_checks;
pub mod install_state;
pub(super) mod observation;
pub(super) mod page_check;

use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;
use utoipa::ToSchema;

use self::install_state::{AfterCheck, after_check, kept_findings, put_event};
use self::page_check::check_page;
use super::input::OfPixel;
use super::pixel::{InstallStatus, Pixel};
use super::setup::find_for;
use super::store;
use super::store::install_checks::KnownInstall;
use super::usage;
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::scope::{Operates, Reads};
use crate::accounts::tool::Tool;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::fetch::slots::{FetchSlot, FetchSlots};
use crate::page_analysis::diagnostics::finding::Finding;
use crate::types::host::SiteHost;
use crate::types::ids::PixelId;

/// The outcome of a check.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct InstallView {
    pub pixel_id: PixelId,
    pub domain: SiteHost,
    pub install_status: InstallStatus,
    #[schema(required = true)]
    pub checked_at: Option<Timestamp>,
    /// What failed, in one short phrase, when the page could not be read.
    #[schema(required = true)]
    pub check_error: Option<String>,
    /// What was found at the site, and what helps: errors first, at most one of each kind.
    pub findings: Vec<Finding>,
    /// Since when every look has found it; null unless it is installed.
    #[schema(required = true)]
    pub installed_since: Option<Timestamp>,
    /// Since when looks have not found it that was installed; null when it was not, or is found again.
    #[schema(required = true)]
    pub missing_since: Option<Timestamp>,
}

impl InstallView {
    fn of(pixel: Pixel, known: KnownInstall) -> Self {
        let is_installed = pixel.install_status == InstallStatus::Installed;
        Self {
            findings: kept_findings(&pixel, &known),
            installed_since: known.installed_since.filter(|_| is_installed).map(Timestamp),
            missing_since: known.missing_since.map(Timestamp),
            pixel_id: pixel.pixel_id,
            domain: pixel.domain,
            install_status: pixel.install_status,
            checked_at: pixel.checked_at.map(Timestamp),
            check_error: pixel.check_error,
        }
    }

    pub async fn read(connection: &mut PgConnection, pixel: Pixel) -> Result<Self> {
        let known = store::install_checks::find_install(connection, &pixel.pixel_id).await?;
        Ok(Self::of(pixel, known.unwrap_or_default()))
    }

    /// Like [`Self::read`], for several pixels, in their order.
    pub async fn read_all(connection: &mut PgConnection, pixels: &[Pixel]) -> Result<Vec<Self>> {
        let ids = pixels.iter().map(|pixel| pixel.pixel_id.to_string()).collect::<Vec<_>>();
        let mut known = store::install_checks::list_installs(connection, &ids).await?;
        let view = |pixel: &Pixel| {
            let known = known.remove(pixel.pixel_id.as_str()).unwrap_or_default();
            Self::of(pixel.clone(), known)
        };
        Ok(pixels.iter().map(view).collect())
    }
}

/// Reads the result of the last check.
pub struct ShowInstall;

impl Capability for ShowInstall {
    const NAME: &'static str = "show_install";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Show the last install check",
        "Tells what the last look found; installed pixels are looked at daily.",
    ));
    type Service = Infra;
    type Access = GoodStanding<Reads>;
    type Input = OfPixel;
    type Output = InstallView;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OfPixel { pixel_id }: OfPixel,
    ) -> Result<InstallView> {
        let pixel = find_for(&infra.pool, &caller, &pixel_id).await?;
        let mut connection = infra.pool.acquire().await?;
        InstallView::read(&mut connection, pixel).await
    }
}

/// Fetches the pixel's home page and keeps what was found.
pub struct CheckInstall;

impl Capability for CheckInstall {
    const NAME: &'static str = "check_install";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.idempotent().open_world().described(
        "Check the install",
        "Fetches the site's home page over HTTPS and tells whether the pixel is on it. \
         `installed` is the goal; `unreachable` comes with `check_error`, always for \
         `localhost`. `findings` says what is in its way, with a cure for each.",
    ));
    type Service = Infra;
    type Access = GoodStanding<Operates>;
    type Input = OfPixel;
    type Output = InstallView;

    fn refusals() -> Vec<Error> {
        vec![
            Error::PixelNotFound,
            Error::InstallCheckerOff,
            Error::TooManyRequests { retry_after: 6 },
            Error::Busy { retry_after: 5 },
        ]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OfPixel { pixel_id }: OfPixel,
    ) -> Result<InstallView> {
        let pixel = find_for(&infra.pool, &caller, &pixel_id).await?;
        if !infra.config.install_check.enabled {
            return Err(Error::InstallCheckerOff);
        }
        let _slot = slot_of(&infra.fetch_slots, &caller)?;
        let check = check_page(infra, &pixel).await?;
        let subscribers = infra.events.subscribers(&pixel.account_id).await?;
        let mut transaction = infra.pool.begin().await?;
        let current = store::lock_pixel(&mut transaction, &pixel.pixel_id)
            .await?
            .ok_or(Error::PixelNotFound)?;
        if current.domain != pixel.domain {
            // Renamed in the meantime: the new host has not been checked.
            return InstallView::read(&mut transaction, current).await;
        }
        let now = infra.clock.now();
        let error = check.observation.error();
        usage::record_check(&mut transaction, &pixel.pixel_id, &check, now).await?;
        let before = store::install_checks::lock_install(&mut transaction, &pixel.pixel_id).await?;
        let AfterCheck { known, status, change } =
            after_check(before.unwrap_or_default(), &current, &check, now)?;
        store::install_checks::upsert_install(
            &mut transaction,
            &pixel.pixel_id,
            &pixel.domain,
            &known,
        )
        .await?;
        let checked =
            store::update_install(&mut transaction, &pixel.pixel_id, status, now, error.as_deref())
                .await?;
        let is_wanted =
            put_event(&mut transaction, &subscribers, &pixel.pixel_id, change, now).await?;
        transaction.commit().await?;
        if is_wanted {
            infra.events.wake();
        }
        tracing::info!(pixel_id = %checked.pixel_id, status = status.as_str(), error, "install checked");
        Ok(InstallView::of(checked, known))
    }
}

/// A slot for a fetch of a site, taken from those of the caller's account. Operators need none, because
/// their keys are used for the sites of all accounts.
pub(super) fn slot_of(slots: &FetchSlots, caller: &Caller) -> Result<Option<FetchSlot>> {
    match caller.is_unlimited() {
        true => Ok(None),
        false => slots.take(caller.account_id().as_str()).map(Some),
    }
}
