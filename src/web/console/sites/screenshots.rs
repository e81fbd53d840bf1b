use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use rocket::http::ContentType;
use rocket::{Route, get, routes};
use rocket_dyn_templates::context;
use serde_json::{Value, json};

use super::install::find;
use crate::http::html::Reader;
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::policies::screenshots::due;
use crate::policies::screenshots::reading::{
    ListScreenshots, OfScreenshot, PageRequest, ReadScreenshot,
};
use crate::policies::screenshots::view::ScreenshotView;
use crate::types::device::Device;
use crate::types::ids::PixelParam;
use crate::types::locales;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};

pub fn routes() -> Vec<Route> {
    routes![screenshots, picture]
}

/// The page size: more than are stored for one language.
const ALL: &str = "200";

/// The screenshots of the popup in one language, grouped by the form of the popup.
#[get("/console/sites/<pixel_id>/popup/screenshots")]
async fn screenshots(
    member: Member<'_>,
    pixel_id: PixelParam,
    query: Query,
    reader: Reader,
) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    let language = query.present("language").and_then(locales::named);
    let language =
        language.or_else(|| locales::named(reader.language.tag)).unwrap_or_else(locales::english);
    let request = PageRequest {
        pixel_id,
        language: Some(language.lang.clone()),
        before: None,
        limit: Some(ALL.to_owned()),
    };
    let found = member.ask::<ListScreenshots>(request).await?.screenshots;
    let content = context! {
        forms: forms_of(found),
        language: &language.lang,
        language_name: &language.name,
        languages: locales::all().map(|it| (&it.lang, &it.name)).collect::<Vec<_>>(),
        is_due: due::is_due(&member.app.infra.pool, &pixel.pixel_id).await?,
    };
    let screen = Screen {
        template: "console/screenshots.html",
        title: tr("Screenshots of the popup"),
        location: NavLocation::of(&pixel, "popup"),
        calls: &[
            "GET /v1/pixels/{pixel_id}/screenshots",
            "GET /v1/pixels/{pixel_id}/screenshots/{screenshot_id}",
        ],
    };
    Ok(member.screen(screen, content))
}

/// Newest first.
fn forms_of(found: Vec<ScreenshotView>) -> Vec<Value> {
    let mut forms = BTreeMap::<(DateTime<Utc>, i32), Vec<ScreenshotView>>::new();
    for picture in found {
        let form = (picture.configured_at.0, picture.policy_version);
        forms.entry(form).or_default().push(picture);
    }
    let form = |((since, version), mut pictures): ((DateTime<Utc>, i32), Vec<ScreenshotView>)| {
        pictures.sort_by_key(|picture| picture.device);
        let first = pictures.first();
        json!({
            "since": Message::Moment(since),
            "version": version,
            "list_sha256": first.map(|picture| &picture.list_sha256),
            "entry": first.and_then(|picture| picture.log_entry),
            "pictures": pictures.iter().map(picture_of).collect::<Vec<_>>(),
        })
    };
    forms.into_iter().rev().map(form).collect()
}

fn picture_of(picture: &ScreenshotView) -> Value {
    let (width, height) = picture.device.viewport();
    json!({
        "id": picture.screenshot_id,
        "is_phone": picture.device == Device::Phone,
        "width": width,
        "height": height,
        "taken": Message::Moment(picture.taken_at.0),
        "sha256": picture.sha256,
    })
}

#[get("/console/sites/<pixel_id>/popup/screenshots/<screenshot_id>")]
async fn picture(
    member: Member<'_>,
    pixel_id: PixelParam,
    screenshot_id: &str,
) -> Result<(ContentType, Vec<u8>), Refusal> {
    let screenshot_id = screenshot_id.into();
    let png = member.ask::<ReadScreenshot>(OfScreenshot { pixel_id, screenshot_id }).await?;
    Ok((ContentType::PNG, png))
}
