use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;
use serde::Serialize;

use crate::accounts::preferences::zones::{self, UTC};
use crate::accounts::preferences::{self, Preferences};
use crate::error::Result;
use crate::http::html::reader::KeptLanguage;
use crate::http::query::Query;
use crate::infra::templates::{Message, language, tr};
use crate::web::console::kit::cookies;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};

pub fn routes() -> Vec<Route> {
    routes![form, save]
}

const PREFERENCES: Screen<'static> = Screen {
    template: "console/preferences.html",
    title: tr("Language and time zone"),
    location: NavLocation::AccountPart("preferences"),
    calls: &[],
};
const ADDRESS: &str = "/console/account/preferences";

#[derive(Serialize)]
struct LanguageChoice {
    tag: &'static str,
    name: &'static str,
}

/// The content of the form: the chosen values, and the errors at the fields.
#[derive(Default)]
struct Shown<'a> {
    language: &'a str,
    time_zone: &'a str,
    language_error: Option<Message>,
    time_zone_error: Option<Message>,
}

#[get("/console/account/preferences")]
fn form(member: Member<'_>, kept: KeptLanguage, query: Query) -> Reply {
    let Preferences { language, time_zone } = member.member.preferences;
    // A language that was chosen in this browser before the sign-in is kept when another field is saved.
    let language = language.or(kept.0).map_or("", |language| language.tag);
    let notice = query.get("done").filter(|&done| done == "saved").map(|_| tr("Saved."));
    let shown = Shown { language, time_zone: time_zone.name(), ..Shown::default() };
    screen(&member, 200, notice, shown)
}

fn screen(member: &Member<'_>, status: u16, notice: Option<Message>, shown: Shown<'_>) -> Reply {
    let known = language::all().iter();
    let content = context! {
        notice,
        error: shown.language_error.is_some() || shown.time_zone_error.is_some(),
        choices: known.map(|one| LanguageChoice { tag: one.tag, name: one.name }).collect::<Vec<_>>(),
        regions: zones::regions(),
        language: shown.language,
        time_zone: shown.time_zone,
        language_error: shown.language_error,
        time_zone_error: shown.time_zone_error,
    };
    member.screen_with_status(status, PREFERENCES, content)
}

#[post("/console/account/preferences", data = "<form>")]
async fn save(member: Member<'_>, form: Form) -> Result<Reply, Refusal> {
    let (tag, name) = (form.text("language"), form.text("time_zone"));
    let language = language::all().iter().find(|known| known.tag == tag);
    let is_known = tag.is_empty() || language.is_some();
    let time_zone = zones::find(if name.is_empty() { UTC } else { &name });
    let (true, Some(time_zone)) = (is_known, time_zone) else {
        let shown = Shown {
            language: &tag,
            time_zone: &name,
            language_error: (!is_known).then_some(tr("Choose a language of the list.")),
            time_zone_error: time_zone.is_none().then_some(tr("Choose a time zone of the list.")),
        };
        return Ok(screen(&member, 400, None, shown));
    };
    let infra = &member.app.infra;
    let chosen = Preferences { language, time_zone };
    preferences::save(&infra.pool, &infra.clock, &member.member.address, chosen).await?;
    match language {
        Some(language) => cookies::keep_language(infra.base_url(), member.jar, language),
        None => cookies::forget_language(infra.base_url(), member.jar),
    }
    Ok(Reply::to(format!("{ADDRESS}?done=saved")))
}
