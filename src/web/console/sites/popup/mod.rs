pub mod fields;
pub mod review;
pub mod sample;
mod words;

use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;
use serde::Serialize;
use serde_json::{Value, json};

use self::fields::Fields;
use self::review::{changes_between, gaps, summary, unused_colors};
use self::words::{CORNERS, POSITIONS, channel_name, position_option, purpose_text};
use super::install::find;
use super::notice_diff::{Passage, passages};
use crate::error::{Error, Result};
use crate::http::html::Reader;
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::pixels::input::OfPixel;
use crate::pixels::view::PixelView;
use crate::policies::configuration::{ConfigureConsent, ConfigureRequest, ConsentOutcome};
use crate::policies::history::{ConsentConfiguration, ReadConsentConfiguration, find_policy};
use crate::policies::notice::plain_text;
use crate::policies::policy::Policy;
use crate::policies::turning_off::TurnOffConsent;
use crate::types::consent::{Channel, ControllerType, Purpose};
use crate::types::ids::PixelParam;
use crate::types::locales::{self, Locale};
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::words::sentence;
use crate::web::console::visitors::choice_words::purpose_title;

pub fn routes() -> Vec<Route> {
    routes![popup, save, turn_off, preview]
}

pub fn screen<'a>(pixel: &'a PixelView, template: &'static str, title: Message) -> Screen<'a> {
    Screen {
        template,
        title,
        location: NavLocation::of(pixel, "popup"),
        calls: &[
            "GET /v1/pixels/{pixel_id}/consent/configuration",
            "POST /v1/pixels/{pixel_id}/consent",
            "DELETE /v1/pixels/{pixel_id}/consent",
        ],
    }
}

pub async fn configuration(
    member: &Member<'_>,
    pixel_id: &PixelParam,
) -> Result<ConsentConfiguration> {
    member.ask::<ReadConsentConfiguration>(OfPixel { pixel_id: pixel_id.clone() }).await
}

fn notice_of(done: &str, pixel: &PixelView) -> Option<Message> {
    Some(match done {
        "published" => tr("Published. The popup uses it from now on."),
        "off" => {
            tr("The popup is off. Receipts are kept. To turn it on again, review and publish it.")
        }
        "taken-over" => tr("The site is now in your account. Set up its popup."),
        "taken" => {
            tr("Your site is {{ host }}: the domain of what you typed.").with("host", &pixel.domain)
        }
        _ => return None,
    })
}

#[get("/console/sites/<pixel_id>/popup")]
async fn popup(member: Member<'_>, pixel_id: PixelParam, query: Query) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    let now = configuration(&member, &pixel_id).await?;
    let number = query.get("version").and_then(|number| number.parse::<i32>().ok());
    let chosen = match number {
        Some(number) => now.versions.iter().find(|version| version.policy_version == number),
        None => now.versions.first(),
    };
    let fields = match chosen {
        Some(version) => Fields::of(version, &now),
        None => Fields::fresh(&member.member.account.display_name, &now),
    };
    let notice = query.get("done").and_then(|done| notice_of(done, &pixel));
    let earlier = number.filter(|_| chosen.is_some());
    Ok(form_screen(&member, 200, &pixel, &fields, context! { notice, earlier }))
}

fn form_screen(
    member: &Member<'_>,
    status: u16,
    pixel: &PixelView,
    fields: &Fields,
    more: impl Serialize,
) -> Reply {
    let more = serde_json::to_value(more).unwrap_or_default();
    let content = context! {
        fields,
        notice: &more["notice"],
        error: &more["error"],
        field: more["field"].as_str().unwrap_or_default(),
        earlier: &more["earlier"],
        asks: pixel.consent_enabled,
        purposes: purposes(),
        channels: channels(),
        positions: POSITIONS.map(position_option),
        corners: CORNERS.map(position_option),
        languages: locales::all().map(|it| (&it.lang, &it.name)).collect::<Vec<_>>(),
        controller_types: ControllerType::ALL.iter().map(|kind| kind.as_str()).collect::<Vec<_>>(),
    };
    let screen = screen(pixel, "console/popup.html", tr("Popup and notice"));
    member.screen_with_status(status, screen, content)
}

fn purposes() -> Vec<Value> {
    let describe = |purpose: Purpose| {
        let (title, text) = (purpose_title(purpose), purpose_text(purpose));
        json!({"name": purpose.as_str(), "title": title, "text": text})
    };
    Purpose::most_sensitive_first(Purpose::ALL).map(describe).collect()
}

fn channels() -> Vec<Value> {
    let describe =
        |channel: &Channel| json!({"name": channel.as_str(), "title": channel_name(*channel)});
    Channel::ALL.iter().map(describe).collect()
}

#[post("/console/sites/<pixel_id>/popup", data = "<form>")]
async fn save(
    member: Member<'_>,
    pixel_id: PixelParam,
    form: Form,
    reader: Reader,
) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    let fields = Fields::read(&form);
    let step = form.get("step").unwrap_or_default();
    if step == "change" {
        return Ok(form_screen(&member, 200, &pixel, &fields, context! {}));
    }
    let gaps = gaps(&fields);
    // An incomplete notice is published only after one more confirmation.
    let is_unconfirmed = step == "publish" && !gaps.is_empty() && form.get("incomplete").is_none();
    let publishes = step == "publish" && !is_unconfirmed;
    let request = ConfigureRequest {
        pixel_id: pixel_id.clone(),
        dry_run: Some(!publishes),
        settings: fields.request(),
    };
    match member.ask::<ConfigureConsent>(request).await {
        // After the first publication, the next step is the snippet.
        Ok(_) if publishes && !pixel.consent_enabled => {
            Ok(Reply::to(format!("/console/sites/{pixel_id}/install?done=published")))
        }
        Ok(_) if publishes => {
            Ok(Reply::to(format!("/console/sites/{pixel_id}/popup?done=published")))
        }
        Ok(outcome) => {
            let language = locales::named(reader.language.tag).unwrap_or_else(locales::english);
            let draft = Draft { fields: &fields, outcome, language, is_unconfirmed };
            Ok(review_screen(&member, &pixel, draft).await?)
        }
        Err(error) if error.status() == 400 => {
            let more = context! { error: sentence(&error), field: field_of(&error) };
            Ok(form_screen(&member, 400, &pixel, &fields, more))
        }
        Err(error) => Err(error.into()),
    }
}

/// A notice that is not published yet.
struct Draft<'a> {
    fields: &'a Fields,
    outcome: ConsentOutcome,
    /// The language in which the member reads the notice.
    language: &'static Locale,
    /// Whether the member must confirm the publication, because information is missing.
    is_unconfirmed: bool,
}

async fn review_screen(member: &Member<'_>, pixel: &PixelView, draft: Draft<'_>) -> Result<Reply> {
    let Draft { fields, outcome, language, is_unconfirmed } = draft;
    let now = configuration(member, &pixel.pixel_id.clone().into()).await?;
    let configured = &outcome.configured;
    let is_first = configured.policy_version == 1 && !pixel.consent_enabled;
    let changes = now.versions.first().map(|newest| {
        let changes = changes_between(&Fields::of(newest, &now), fields);
        context! { summary: summary(&changes), rows: changes }
    });
    let content = context! {
        is_back: now.versions.iter().any(|version| version.policy_hash == configured.policy_hash),
        gaps: gaps(fields),
        is_unconfirmed,
        unused: unused_colors(fields),
        sent: fields.pairs(),
        asked_again: outcome.visitors_asked_again,
        is_first,
        asks: pixel.consent_enabled,
        changes,
        notice_lang: &language.lang,
        passages: marked_notice(member, pixel, &now, &outcome, language).await?,
    };
    let status = if is_unconfirmed { 400 } else { 200 };
    let screen = screen(pixel, "console/popup_confirm.html", tr("Review changes"));
    Ok(member.screen_with_status(status, screen, content))
}

/// The notice in a language, with its differences from the newest version.
async fn marked_notice(
    member: &Member<'_>,
    pixel: &PixelView,
    now: &ConsentConfiguration,
    outcome: &ConsentOutcome,
    language: &Locale,
) -> Result<Vec<Passage>> {
    let ConsentOutcome { policy, configured, .. } = outcome;
    let notice = &plain_text(policy, language);
    let infra = &member.app.infra;
    let before = match now.versions.first() {
        Some(newest) if newest.policy_hash != configured.policy_hash => {
            find_policy(&infra.pool, &pixel.pixel_id, newest.policy_version).await?
        }
        _ => None,
    };
    let Some(before) = before else { return Ok(passages(notice, notice)) };
    // Number, date and hash differ between all versions, so they are not compared.
    let before = Policy {
        version: configured.policy_version,
        hash: configured.policy_hash.clone(),
        published_at: infra.clock.now(),
        shares_subdomains: now.share_subdomains,
        ..before
    };
    Ok(passages(&plain_text(&before, language), notice))
}

fn field_of(error: &Error) -> String {
    match error {
        Error::ControllerNameRequired => "controller_name".to_owned(),
        Error::PurposeRequired => "purposes".to_owned(),
        Error::SitePolicyUrlNotHttps => "site_policy_url".to_owned(),
        Error::Naming { fields, .. } => match fields.first().map(|field| &*field.loc) {
            Some([.., colors, scheme, color]) if colors == "colors" => format!("{scheme}_{color}"),
            Some([.., last]) => last.clone(),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

#[post("/console/sites/<pixel_id>/popup/off", data = "<_form>")]
async fn turn_off(member: Member<'_>, pixel_id: PixelParam, _form: Form) -> Result<Reply, Refusal> {
    member.ask::<TurnOffConsent>(OfPixel { pixel_id: pixel_id.clone() }).await?;
    Ok(Reply::to(format!("/console/sites/{pixel_id}/popup?done=off")))
}

/// A page with the site's own popup. Choices on it are not recorded, because its host is not the site's.
#[get("/console/sites/<pixel_id>/popup/preview")]
async fn preview(member: Member<'_>, pixel_id: PixelParam) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    if !pixel.consent_enabled {
        return Ok(Reply::to(format!("/console/sites/{pixel_id}/popup")));
    }
    let screen = screen(&pixel, "console/popup_preview.html", tr("Preview"));
    Ok(member.screen(screen, context! {}))
}
