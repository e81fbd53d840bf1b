use rocket::response::Redirect;
use rocket::{State, get};
use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use crate::accounts::account::Status;
use crate::app::App;
use crate::delivery::bundles::Script;
use crate::delivery::configs::{BaseConfig, PopupConfig, PreferencesConfig, TagConfig};
use crate::delivery::script_cache::ScriptKey;
use crate::error::{Error, Result};
use crate::http::client::AcceptLanguage;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::prebuilt::PrebuiltScript;
use crate::http::query::Query;
use crate::http::refusals::refusals;
use crate::infra::Infra;
use crate::infra::limits::account_rate::OperationKind;
use crate::types::ids::{PixelId, PixelRef};
use crate::types::locales;

described_routes![consent_tag, pixel, dev_beacon, popup, preferences, tag, tag_pixel];

refusals!(ConsentTagRefusals: [Infra] ConsentTagNotFound, TooManyRequests { retry_after: 1 });

/// The permission popup of a pixel
#[get("/px/<file>")]
#[utoipa::path(
    get,
    path = "/px/{pixel_id}.js",
    tag = "Scripts",
    security(()),
    params(
        ("pixel_id" = PixelRef, Path, description = "Canonical id, alias or test id."),
        ("lang" = Option<String>, Query, description = "The visitor's language, before `Accept-Language`."),
    ),
    responses((status = 200, description = "The script, never cached", content_type = "application/javascript", body = String), ConsentTagRefusals),
)]
async fn consent_tag(
    app: &State<App>,
    file: &str,
    query: Query,
    accepted: AcceptLanguage<'_>,
) -> Result<PrebuiltScript> {
    let name = file.strip_suffix(".js").ok_or(Error::ConsentTagNotFound)?;
    let named = app.sites.find_named(name).await?.ok_or(Error::ConsentTagNotFound)?;
    let (site, pixel_id) = (&named.site, named.pixel_id());
    let policy = site.policy_in_force().ok_or(Error::ConsentTagNotFound)?;
    app.infra.account_rates.wait(OperationKind::Read, &site.pixel.account_id).await?;
    if !named.is_test() {
        site.known_use.record_served(&app.infra.pool, &app.infra.clock, &pixel_id);
    }
    let locale = locales::choose(query.present("lang"), accepted.0.as_deref());
    let key = ScriptKey {
        script: Script::ConsentTag,
        lang: &locale.lang,
        site: Some((pixel_id.clone(), site.fingerprint)),
    };
    let config = || {
        let config = TagConfig::new(app.infra.base_url(), site, policy, locale);
        if named.is_test() { config.for_tests(&pixel_id) } else { config }
    };
    let script = app.scripts.get(key, || Script::ConsentTag.with_config(&config())).await;
    script.map(PrebuiltScript)
}

refusals!(PixelRefusals: [] Internal(String::new()));

/// Identification for the immediate snippet
#[utoipa::path(
    tag = "Scripts",
    operation_id = "pixel_script",
    responses((status = 200, description = "The script", content_type = "application/javascript", body = String), PixelRefusals),
)]
#[get("/pixel.js")]
async fn pixel(app: &State<App>) -> Result<PrebuiltScript> {
    plain(app, Script::Pixel).await
}

/// A beacon that tells developers what the tag does
#[utoipa::path(
    tag = "Scripts",
    operation_id = "dev_beacon_script",
    responses((status = 200, description = "The script", content_type = "application/javascript", body = String), PixelRefusals),
)]
#[get("/pixel.dev.js")]
async fn dev_beacon(app: &State<App>) -> Result<PrebuiltScript> {
    plain(app, Script::DevBeacon).await
}

async fn plain(app: &App, script: Script) -> Result<PrebuiltScript> {
    let key = ScriptKey { script, lang: "", site: None };
    let config = BaseConfig { base: app.infra.base_url() };
    app.scripts.get(key, || script.with_config(&config)).await.map(PrebuiltScript)
}

/// The notice for the immediate snippet
#[utoipa::path(
    tag = "Scripts",
    operation_id = "popup_script",
    params(("lang" = Option<String>, Query, description = "The visitor's language, before `Accept-Language`.")),
    responses((status = 200, description = "The script", content_type = "application/javascript", body = String), PixelRefusals),
)]
#[get("/pixel_popup.js")]
async fn popup(
    app: &State<App>,
    query: Query,
    accepted: AcceptLanguage<'_>,
) -> Result<PrebuiltScript> {
    let locale = locales::choose(query.present("lang"), accepted.0.as_deref());
    let key = ScriptKey { script: Script::Popup, lang: &locale.lang, site: None };
    let config = PopupConfig {
        base: app.infra.base_url(),
        lang: &locale.lang,
        dir: &locale.dir,
        texts: &locale.popup,
    };
    app.scripts.get(key, || Script::Popup.with_config(&config)).await.map(PrebuiltScript)
}

/// The reopened popup: what the consent tag loads when a visitor wants to choose again
#[utoipa::path(
    tag = "Scripts",
    operation_id = "preferences_script",
    params(("lang" = Option<String>, Query, description = "The visitor's language, before `Accept-Language`.")),
    responses((status = 200, description = "The script", content_type = "application/javascript", body = String), PixelRefusals),
)]
#[get("/preferences.js")]
async fn preferences(
    app: &State<App>,
    query: Query,
    accepted: AcceptLanguage<'_>,
) -> Result<PrebuiltScript> {
    let locale = locales::choose(query.present("lang"), accepted.0.as_deref());
    let key = ScriptKey { script: Script::Preferences, lang: &locale.lang, site: None };
    let build = || Script::Preferences.with_config(&PreferencesConfig::new(locale));
    app.scripts.get(key, build).await.map(PrebuiltScript)
}

refusals!(TagRefusals: [] PixelNotFound);

/// The identification tag on its delivery network
#[utoipa::path(
    tag = "Scripts",
    operation_id = "redirect_to_tag",
    params(("pixel" = PixelRef, Path, description = "Canonical id, alias or test id.")),
    responses(
        (status = 302, description = "It lies there", headers(("Location" = String, description = "The tag's address."))),
        TagRefusals,
    ),
)]
#[get("/pixels/<pixel>/p.js")]
async fn tag(app: &State<App>, pixel: &str) -> Result<Redirect> {
    let pixel = PixelRef::parse(pixel).ok_or(Error::PixelNotFound)?;
    // The answer does not depend on the database.
    if let Ok(Some(site)) = app.sites.find(&pixel).await
        && site.pixel.owner_status == Status::Active
    {
        site.known_use.record_served(&app.infra.pool, &app.infra.clock, &site.pixel.pixel_id);
    }
    Ok(Redirect::found(format!("{}/pixels/{pixel}/p.js", app.infra.config.tag_cdn_base)))
}

/// Whether the identification tag may run on a host.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct TagPixel {
    /// The canonical id when it may, else null.
    #[schema(required = true)]
    pub pixel_id: Option<PixelId>,
}

refusals!(TagPixelRefusals: [Infra] TooManyRequests { retry_after: 1 });

/// May the identification tag run on this host?
///
/// It may when the answer names the pixel, which it does not while the owner's resolution is
/// paused. A test id is named on local hosts and the pixel's test hosts.
#[utoipa::path(
    tag = "Scripts",
    params(
        ("pid" = Option<String>, Query, description = "Canonical id, alias or test id."),
        ("dpid" = Option<String>, Query, description = "The same, under its other name."),
        ("host" = Option<String>, Query, description = "The page's host."),
    ),
    responses((status = 200, description = "The answer", body = TagPixel), TagPixelRefusals),
)]
#[get("/external_api/install-pixel/tag-pixel")]
async fn tag_pixel(app: &State<App>, query: Query) -> Result<Json<TagPixel>> {
    let name = query.present("pid").or_else(|| query.present("dpid")).unwrap_or_default();
    let host = query.present("host").unwrap_or_default();
    let named = app.sites.find_named(name).await?;
    let (clock, base_url) = (&app.infra.clock, app.infra.base_url());
    let allowed = named.filter(|named| {
        named.site.pixel.owner_status == Status::Active && named.admits_host(host, clock, base_url)
    });
    let Some(named) = allowed else { return Ok(Json(TagPixel { pixel_id: None })) };
    let site = &named.site;
    app.infra.account_rates.wait(OperationKind::Read, &site.pixel.account_id).await?;
    if named.is_test() {
        return Ok(Json(TagPixel { pixel_id: Some(named.pixel_id()) }));
    }
    site.known_use.record_served(&app.infra.pool, &app.infra.clock, &site.pixel.pixel_id);
    let now = app.infra.clock.now();
    let is_paused = app.contacts.pauses.is_paused(now, &site.pixel.account_id).await?;
    let pixel_id = (!is_paused).then(|| site.pixel.pixel_id.clone());
    Ok(Json(TagPixel { pixel_id }))
}
