//! The evidence of a choice: a ZIP file, in English, with everything that somebody without an account needs to verify
//! the choice.

use std::io::{Cursor, Write};

use chrono::{DateTime, Datelike, Timelike, Utc};
use chrono_tz::Tz;
use rocket::http::{ContentType, Header};
use rocket::{Responder, Route, get, routes};
use serde_json::{Value, json};
use tera::Context;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::choice::{answered, find, is_genuine, notice_of, proof_of, show_pixel, signed};
use super::choice_words::ChoiceWords;
use super::linked::people_of;
use crate::consent_receipt::receipt::Receipt;
use crate::consent_receipt::user_action::{Act, Seen, UserAction};
use crate::error::{Error, Result};
use crate::infra::templates::{self, Message, in_english, language};
use crate::pixels::view::PixelView;
use crate::policies::published::Published;
use crate::policies::screenshots::of_choice::{FormScreenshots, find_of_choice};
use crate::policies::screenshots::view::ScreenshotView;
use crate::receipts::consent_log::ConsentEvent;
use crate::silence::proving::prove_reports;
use crate::types::ids::PixelParam;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::words::device;
use crate::web::verify;

pub fn routes() -> Vec<Route> {
    routes![evidence]
}

#[derive(Responder)]
struct Evidence {
    zip: Vec<u8>,
    media_type: ContentType,
    name: Header<'static>,
}

struct EvidenceSources {
    published: Option<Published>,
    screenshots: Option<FormScreenshots>,
    in_log: Option<InLog>,
}

struct InLog {
    proof: String,
    watch_reports: usize,
    key: String,
}

#[get("/console/sites/<pixel_id>/choices/<receipt_id>/evidence.zip")]
async fn evidence(
    member: Member<'_>,
    pixel_id: PixelParam,
    receipt_id: &str,
) -> Result<Evidence, Refusal> {
    let pixel = show_pixel(&member, &pixel_id).await?;
    let event = find(&member, &pixel_id, receipt_id).await?;
    let in_log = match member.app.log.is_kept() {
        true => Some(in_log(&member, &event.fields).await?),
        false => None,
    };
    let published = answered(&member, &event).await;
    let screenshots = screenshots(&member, &event, published.as_ref()).await?;
    let sources = EvidenceSources { published, screenshots, in_log };
    let now = member.app.infra.clock.now();
    let mut facts = facts(&member, &pixel, &event, &sources, now).await?;
    language::english().localiser(Tz::UTC).localise(&mut facts);
    let context = Context::from_serialize(&facts).map_err(Error::internal)?;
    let page = templates::render("texts/evidence.html", &context).map_err(Error::internal)?;
    let readme = templates::render("texts/evidence.txt", &context).map_err(Error::internal)?;
    let receipt = serde_json::to_string_pretty(&signed(&event)).map_err(Error::internal)?;
    let mut files = vec![
        file("README.txt", readme),
        file("evidence.html", page),
        file("receipt.json", receipt),
    ];
    if let Some(InLog { proof, key, .. }) = sources.in_log {
        files.extend([
            file("proof.json", proof),
            file("log-key.txt", format!("{key}\n")),
            file("verify.html", verify::PAGE),
        ]);
    }
    if let Some(FormScreenshots { pictures, list, proof }) = sources.screenshots {
        files.push(file("screenshots.txt", list));
        if let Some(proof) = proof {
            let proof = serde_json::to_string_pretty(&proof).map_err(Error::internal)?;
            files.push(file("screenshots.json", proof));
        }
        files.extend(pictures.into_iter().map(|(view, png)| (picture_file(&view), png)));
    }
    let name = format!("attachment; filename=\"evidence-{}.zip\"", event.fields.receipt_id);
    Ok(Evidence {
        zip: zipped(&files, now)?,
        media_type: ContentType::ZIP,
        name: Header::new("Content-Disposition", name),
    })
}

fn file(name: &str, text: impl Into<Vec<u8>>) -> (String, Vec<u8>) {
    (name.to_owned(), text.into())
}

fn picture_file(picture: &ScreenshotView) -> String {
    format!("popup-{}.png", picture.device.as_str())
}

/// The screenshots of the popup, if the browser reported that the choice was made in the popup.
async fn screenshots(
    member: &Member<'_>,
    event: &ConsentEvent,
    published: Option<&Published>,
) -> Result<Option<FormScreenshots>> {
    let (Some(published), Some(shown)) = (published, &event.shown) else { return Ok(None) };
    // `seen`, the time until the press, is reported for a button of the popup only: not for a placeholder or a signal.
    if shown.notice.is_none() || shown.action.seen.is_none() {
        return Ok(None);
    }
    let (infra, log, receipt) = (&member.app.infra, &member.app.log, &event.fields);
    let popup = (published.policy.version, &*shown.language);
    find_of_choice(&infra.pool, log, &receipt.pixel_id, popup, receipt.recorded_at).await
}

/// The proof of the choice with the watch reports of its day, and the key of the log.
async fn in_log(member: &Member<'_>, receipt: &Receipt) -> Result<InLog> {
    let (infra, log) = (&member.app.infra, &member.app.log);
    let mut proof = proof_of(member, receipt).await?;
    proof.watch_reports =
        prove_reports(&infra.pool, log, &receipt.pixel_id, receipt.recorded_at).await?;
    Ok(InLog {
        watch_reports: proof.watch_reports.len(),
        proof: serde_json::to_string(&proof).map_err(Error::internal)?,
        key: log.verifier()?.to_string(),
    })
}

async fn facts(
    member: &Member<'_>,
    pixel: &PixelView,
    event: &ConsentEvent,
    EvidenceSources { published, screenshots, in_log }: &EvidenceSources,
    now: DateTime<Utc>,
) -> Result<Value> {
    let (receipt, infra) = (&event.fields, &member.app.infra);
    let operator = &infra.config.operator;
    let host = pixel.domain.to_string();
    let time = format!("{} (UTC)", in_english(&Message::Second(receipt.recorded_at)));
    let pictures = screenshots.iter().flat_map(|form| &form.pictures);
    let is_list_proved = screenshots.as_ref().is_some_and(|form| form.proof.is_some());
    Ok(json!({
        "host": host,
        "pixel_id": pixel.pixel_id,
        "service": infra.base_url(),
        "operator": operator.name,
        "operator_address": operator.address,
        "operator_email": operator.email.as_ref().map(ToString::to_string),
        "controller": published.as_ref().map(|published| &published.policy.text.controller),
        "sentence": ChoiceWords::sentence(event, &host, Message::Plain(time)),
        "action": event.shown.as_ref().and_then(|shown| way_of(shown.action)),
        "origin": receipt.origin,
        "visitor_id": receipt.visitor_id.as_str(),
        "receipt_id": receipt.receipt_id,
        "policy_hash": receipt.policy_hash,
        "people": people_of(member, &pixel.pixel_id, &receipt.visitor_id).await?,
        "is_genuine": is_genuine(member, event).await?,
        "issued": in_english(&Message::Minute(now)),
        "notice": published.as_ref().map(|published| notice_of(event, published)),
        "screenshots": pictures.map(|(view, _)| picture_of(view)).collect::<Vec<_>>(),
        "is_list_proved": is_list_proved,
        "other_script": screenshots.as_ref().and_then(|form| other_script(event, form)),
        "log_key": in_log.as_ref().map(|log| &log.key),
        "watch_reports": in_log.as_ref().map(|log| log.watch_reports),
    }))
}

/// The way in which the choice was made, as the browser reported it.
fn way_of(action: UserAction) -> Option<String> {
    let made = match action.act? {
        Act::Pointer => "with a mouse, a finger or a pen",
        Act::Keyboard => "with the keyboard",
        Act::Assistive => "with assistive technology",
        Act::Page => "by a script of the page, not by a press in the popup",
    };
    let seen = match action.seen {
        None => "",
        Some(Seen::UnderOneSecond) => ", less than a second after the popup had opened",
        Some(Seen::UnderFiveSeconds) => ", less than five seconds after the popup had opened",
        Some(Seen::Longer) => ", more than five seconds after the popup had opened",
    };
    let automated = match action.automated {
        Some(true) => ", in a browser that a program controlled",
        Some(false) | None => "",
    };
    Some(format!("{made}{seen}{automated}"))
}

/// The build of the tag in the screenshots, if the browser reported another one.
fn other_script<'f>(event: &ConsentEvent, form: &'f FormScreenshots) -> Option<&'f str> {
    let reported = hex::encode(event.shown.as_ref()?.script?);
    let (view, _) = form.pictures.first()?;
    (view.script != reported).then_some(view.script.as_str())
}

fn picture_of(view: &ScreenshotView) -> Value {
    json!({
        "file": picture_file(view),
        "device": device(view.device),
        "language": view.language,
        "version": view.policy_version,
        "since": in_english(&Message::Minute(view.configured_at.0)),
        "taken": in_english(&Message::Minute(view.taken_at.0)),
        "sha256": view.sha256,
        "list_sha256": view.list_sha256,
    })
}

/// Creates the ZIP without compression, so that every program and the verification page can read it.
fn zipped(files: &[(String, Vec<u8>)], now: DateTime<Utc>) -> Result<Vec<u8>> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(zip_time(now));
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        zip.start_file(name.as_str(), options).map_err(Error::internal)?;
        zip.write_all(bytes).map_err(Error::internal)?;
    }
    Ok(zip.finish().map_err(Error::internal)?.into_inner())
}

/// Times that the format cannot express become its earliest time.
fn zip_time(now: DateTime<Utc>) -> zip::DateTime {
    let part = |value: u32| u8::try_from(value).unwrap_or_default();
    let year = u16::try_from(now.year()).unwrap_or_default();
    let (month, day) = (part(now.month()), part(now.day()));
    let (hour, minute, second) = (part(now.hour()), part(now.minute()), part(now.second()));
    zip::DateTime::from_date_and_time(year, month, day, hour, minute, second).unwrap_or_default()
}
