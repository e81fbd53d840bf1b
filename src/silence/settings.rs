use schemars::JsonSchema;
use serde::Deserialize;
use sqlx::PgConnection;
use utoipa::ToSchema;

use super::daily::watches_sites;
use super::store;
use super::view::WatchView;
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::{Capability, InvalidInput};
use crate::accounts::event::ActivityKind;
use crate::accounts::scope::{Operates, Reads};
use crate::accounts::tool::Tool;
use crate::clock::Timestamp;
use crate::error::{Error, Result, wrong_at, wrong_field};
use crate::infra::Infra;
use crate::pixels::input::{OfPixel, OnPixel};
use crate::pixels::lock_pixel;
use crate::pixels::pixel::{InstallStatus, Pixel};
use crate::pixels::setup::find_for;
use crate::watch::parse_allowed;

const FIELD: &str = "watch_allow";
const MAX_ALLOWED: usize = 50;

impl WatchView {
    async fn read(connection: &mut PgConnection, infra: &Infra, pixel: Pixel) -> Result<Self> {
        let Pixel { pixel_id, domain, install_status, .. } = pixel;
        let site = store::sites::find_site(connection, &pixel_id).await?;
        let page = format!("{}/watch/{pixel_id}", infra.base_url());
        // The stored time remains while the tag is missing, and after the last node with a browser has stopped.
        let is_watched = install_status == InstallStatus::Installed
            && watches_sites(connection, &infra.config, &infra.clock).await?;
        Ok(Self {
            verdict: site.known.verdict,
            reported_at: site.known.reported_at.map(Timestamp),
            broken_since: site.known.broken_since.map(Timestamp),
            next_watch_at: site.next_watch_at.filter(|_| is_watched).map(Timestamp),
            watch_allow: site.allowed,
            public_page: site.is_public.then_some(page),
            pixel_id,
            domain,
        })
    }
}

/// Tells whether a site is silent, and how it is watched.
pub struct ShowWatch;

impl Capability for ShowWatch {
    const NAME: &'static str = "show_watch";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Show the watch of a site",
        "Tells whether the site loads nothing before consent, since when not, and its settings.",
    ));
    type Service = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = OfPixel;
    type Output = WatchView;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OfPixel { pixel_id }: OfPixel,
    ) -> Result<WatchView> {
        let pixel = find_for(&infra.pool, &caller, &pixel_id).await?;
        let mut connection = infra.pool.acquire().await?;
        WatchView::read(&mut connection, infra, pixel).await
    }
}

/// Settings to change; those that are left out stay.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct WatchSettings {
    /// Sites and hosts, with their subdomains, whose requests the service's reports list separately; at
    /// most 50.
    pub watch_allow: Option<Vec<String>>,
    /// Whether everybody can see the last verdict of the service, and what it does not count.
    pub public_page: Option<bool>,
}

pub struct ChangeWatch;

impl Capability for ChangeWatch {
    const NAME: &'static str = "change_watch";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.idempotent().described(
        "Change the watch of a site",
        "Sets which sites reports list separately, and whether the last verdict is public.",
    ));
    const INVALID_INPUT: InvalidInput = InvalidInput::InvalidRequest;
    type Service = Infra;
    type Access = ActiveAccount<Operates>;
    type Input = OnPixel<WatchSettings>;
    type Output = WatchView;

    fn refusals() -> Vec<Error> {
        vec![
            Error::PixelNotFound,
            wrong_field(FIELD, format!("must have at most {MAX_ALLOWED} sites")),
        ]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OnPixel { pixel_id, input }: OnPixel<WatchSettings>,
    ) -> Result<WatchView> {
        let pixel_id = find_for(&infra.pool, &caller, &pixel_id).await?.pixel_id;
        let allowed = input.watch_allow.as_deref().map(parse).transpose()?;
        let mut transaction = infra.pool.begin().await?;
        let pixel = lock_pixel(&mut transaction, &pixel_id).await?.ok_or(Error::PixelNotFound)?;
        let site = store::sites::find_site(&mut transaction, &pixel_id).await?;
        let is_public = input.public_page.unwrap_or(site.is_public);
        let allowed = allowed.unwrap_or_else(|| site.allowed.clone());
        if (&allowed, is_public) != (&site.allowed, site.is_public) {
            store::sites::upsert_settings(&mut transaction, &pixel_id, &allowed, is_public).await?;
            let (now, kind) = (infra.clock.now(), ActivityKind::WatchChanged);
            let subject = Some(pixel_id.as_str());
            caller.record(&mut transaction, now, &pixel.account_id, kind, subject).await?;
        }
        let view = WatchView::read(&mut transaction, infra, pixel).await?;
        transaction.commit().await?;
        Ok(view)
    }
}

fn parse(sites: &[String]) -> Result<Vec<String>> {
    if sites.len() > MAX_ALLOWED {
        return Err(wrong_field(FIELD, format!("must have at most {MAX_ALLOWED} sites")));
    }
    let site = |(index, name): (usize, &String)| {
        let wrong =
            || wrong_at(&[FIELD, &index.to_string()], "must be a site, such as cdn.example");
        parse_allowed(name).map_err(|_| wrong())
    };
    let mut sites = sites.iter().enumerate().map(site).collect::<Result<Vec<_>>>()?;
    sites.sort_unstable();
    sites.dedup();
    Ok(sites)
}
