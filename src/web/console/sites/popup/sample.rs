//! A preview of the popup beside the form: the real script with a draft's configuration. Nothing is stored.

use rocket::http::{ContentType, Header};
use rocket::{Responder, Route, get, routes};

use super::fields::Fields;
use crate::delivery::bundles::Script;
use crate::delivery::configs::{Draft, TagConfig};
use crate::error::{Error, Result};
use crate::http::html::Reader;
use crate::http::query::Query;
use crate::pixels::view::PixelView;
use crate::policies::consent_request::ConsentSettings;
use crate::types::ids::PixelParam;
use crate::types::locales;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::words::sentence;
use crate::web::console::sites::install::find;

pub fn routes() -> Vec<Route> {
    routes![sample]
}

#[derive(Responder)]
struct Sample {
    text: String,
    kind: ContentType,
    kept: Header<'static>,
}

/// The script for the fields in the query. For invalid fields, it only passes the error to the page.
#[get("/console/sites/<pixel_id>/popup/sample.js")]
async fn sample(
    member: Member<'_>,
    pixel_id: PixelParam,
    query: Query,
    reader: Reader,
) -> Result<Sample, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    let scheme = query.present("sample_scheme").unwrap_or_default();
    let fields = Fields::read_with(|name| query.present(name).map(str::to_owned)).seen_in(scheme);
    let text = match fields.request().check() {
        Ok(settings) => script(&member, &pixel, settings, query.present("sample_lang"))?,
        Err(error) => explanation(&error, reader)?,
    };
    let kind = ContentType::parse_flexible("text/javascript; charset=utf-8");
    let kind = kind.ok_or_else(|| Error::internal("no type for scripts"))?;
    Ok(Sample { text, kind, kept: Header::new("Cache-Control", "no-store") })
}

fn script(
    member: &Member<'_>,
    pixel: &PixelView,
    settings: ConsentSettings,
    lang: Option<&str>,
) -> Result<String> {
    let ConsentSettings { text, appearance, .. } = settings;
    let draft = Draft { pixel_id: &pixel.pixel_id, text: &text, appearance: appearance.as_ref() };
    let locale = locales::choose(lang, None);
    let config = TagConfig::of_draft(member.app.infra.base_url(), &draft, locale);
    Ok(Script::ConsentTag.with_config(&config)?.text())
}

fn explanation(error: &Error, reader: Reader) -> Result<String> {
    let words = reader.language.localiser(reader.time_zone).text(&sentence(error));
    let words = serde_json::to_string(&words).map_err(Error::internal)?;
    let words = words.replace('<', "\\u003c");
    Ok(format!("document.documentElement.dataset.problem={words};"))
}
