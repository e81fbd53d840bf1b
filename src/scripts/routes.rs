//! HTTP routes of the scripts, and of what they ask.

use rocket::response::Redirect;
use rocket::{State, get};
use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::bundles::Script;
use super::configs::{BaseConfig, PopupConfig, TagConfig};
use super::prebuilt::{PrebuiltScript, ScriptKey, ScriptTable};
use crate::accounts::Status;
use crate::consent::directory::Directory;
use crate::contacts::pause::Pauses;
use crate::error::{Error, Result};
use crate::http::client::AcceptLanguage;
use crate::http::described::described_routes;
use crate::http::json::Json;
use crate::http::query::Query;
use crate::http::refusals::refusals;
use crate::ids::{PixelId, PixelRef};
use crate::locales;
use crate::platform::Platform;

described_routes![consent_tag, pixel, dev_beacon, popup, tag, tag_pixel];

refusals!(ConsentTagRefusals: [Platform] ConsentTagNotFound);

/// The permission popup of a pixel
#[get("/px/<file>")]
#[utoipa::path(
    get,
    path = "/px/{pixel_id}.js",
    tag = "Scripts",
    security(()),
    params(
        ("pixel_id" = PixelRef, Path, description = "Canonical id or alias."),
        ("lang" = Option<String>, Query, description = "The visitor's language, before `Accept-Language`."),
    ),
    responses((status = 200, description = "The script, never cached", content_type = "application/javascript", body = String), ConsentTagRefusals),
)]
async fn consent_tag(
    platform: &State<Platform>,
    directory: &State<Directory>,
    scripts: &State<ScriptTable>,
    file: &str,
    query: Query,
    accepted: AcceptLanguage<'_>,
) -> Result<PrebuiltScript> {
    let name = file.strip_suffix(".js").ok_or(Error::ConsentTagNotFound)?;
    let site = directory.find_text(name).await?.ok_or(Error::ConsentTagNotFound)?;
    let policy = site.policy_in_force().ok_or(Error::ConsentTagNotFound)?;
    let locale = locales::choose(query.present("lang"), accepted.0.as_deref());
    let key = ScriptKey {
        script: Script::ConsentTag,
        lang: &locale.lang,
        site: Some((site.pixel.pixel_id.clone(), site.fingerprint)),
    };
    let config = || TagConfig::new(platform.base_url(), &site, policy, locale);
    scripts.get(key, || Script::ConsentTag.with_config(&config())).await
}

refusals!(PixelRefusals: [] Internal(String::new()));

/// Identification for the immediate snippet
#[utoipa::path(
    tag = "Scripts",
    operation_id = "pixel_script",
    responses((status = 200, description = "The script", content_type = "application/javascript", body = String), PixelRefusals),
)]
#[get("/pixel.js")]
async fn pixel(platform: &State<Platform>, scripts: &State<ScriptTable>) -> Result<PrebuiltScript> {
    plain(platform, scripts, Script::Pixel).await
}

/// A beacon that tells developers what the tag does
#[utoipa::path(
    tag = "Scripts",
    operation_id = "dev_beacon_script",
    responses((status = 200, description = "The script", content_type = "application/javascript", body = String), PixelRefusals),
)]
#[get("/pixel.dev.js")]
async fn dev_beacon(
    platform: &State<Platform>,
    scripts: &State<ScriptTable>,
) -> Result<PrebuiltScript> {
    plain(platform, scripts, Script::DevBeacon).await
}

async fn plain(
    platform: &Platform,
    scripts: &ScriptTable,
    script: Script,
) -> Result<PrebuiltScript> {
    let key = ScriptKey { script, lang: "", site: None };
    let config = BaseConfig { base: platform.base_url() };
    scripts.get(key, || script.with_config(&config)).await
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
    platform: &State<Platform>,
    scripts: &State<ScriptTable>,
    query: Query,
    accepted: AcceptLanguage<'_>,
) -> Result<PrebuiltScript> {
    let locale = locales::choose(query.present("lang"), accepted.0.as_deref());
    let key = ScriptKey { script: Script::Popup, lang: &locale.lang, site: None };
    let config = PopupConfig {
        base: platform.base_url(),
        lang: &locale.lang,
        dir: &locale.dir,
        texts: &locale.popup,
    };
    scripts.get(key, || Script::Popup.with_config(&config)).await
}

refusals!(TagRefusals: [] PixelNotFound);

/// The identification tag on its delivery network
#[utoipa::path(
    tag = "Scripts",
    operation_id = "redirect_to_tag",
    params(("pixel" = PixelRef, Path, description = "Canonical id or alias.")),
    responses(
        (status = 302, description = "It lies there", headers(("Location" = String, description = "The tag's address."))),
        TagRefusals,
    ),
)]
#[get("/pixels/<pixel>/p.js")]
fn tag(platform: &State<Platform>, pixel: &str) -> Result<Redirect> {
    let pixel = PixelRef::parse(pixel).ok_or(Error::PixelNotFound)?;
    Ok(Redirect::found(format!("{}/pixels/{pixel}/p.js", platform.config.tag_cdn_base)))
}

/// Whether the identification tag may run on a host.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct TagPixel {
    /// The canonical id when it may, else null.
    #[schema(required = true)]
    pub pixel_id: Option<PixelId>,
}

refusals!(TagPixelRefusals: [Platform]);

/// May the identification tag run on this host?
///
/// It may when the answer names the pixel, which it does not while the owner's resolution is
/// paused.
#[utoipa::path(
    tag = "Scripts",
    params(
        ("pid" = Option<String>, Query, description = "Canonical id or alias."),
        ("dpid" = Option<String>, Query, description = "The same, under its other name."),
        ("host" = Option<String>, Query, description = "The page's host."),
    ),
    responses((status = 200, description = "The answer", body = TagPixel), TagPixelRefusals),
)]
#[get("/external_api/install-pixel/tag-pixel")]
async fn tag_pixel(
    platform: &State<Platform>,
    directory: &State<Directory>,
    pauses: &State<Pauses>,
    query: Query,
) -> Result<Json<TagPixel>> {
    let name = query.present("pid").or_else(|| query.present("dpid")).unwrap_or_default();
    let host = query.present("host").unwrap_or_default();
    let site = directory.find_text(name).await?;
    let allowed = site.filter(|site| {
        site.pixel.owner_status == Status::Active && site.admits_host(host, platform)
    });
    let Some(site) = allowed else { return Ok(Json(TagPixel { pixel_id: None })) };
    let is_paused = pauses.is_paused(platform.clock.now(), &site.pixel.account_id).await?;
    let pixel_id = (!is_paused).then(|| site.pixel.pixel_id.clone());
    Ok(Json(TagPixel { pixel_id }))
}
