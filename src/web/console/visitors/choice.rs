use chrono::Duration;
use rocket::http::{ContentType, Header};
use rocket::{Responder, Route, get, post, routes};
use rocket_dyn_templates::context;
use serde_json::{Value, json};

use super::choice_words::{ChoiceWords, SLUG};
use super::linked::{people_of, requests_of};
use crate::consent_receipt::receipt::Receipt;
use crate::erasure::visitor::{CountVisitor, EraseVisitor, OfVisitor};
use crate::error::{Error, Result};
use crate::infra::templates::{Message, tr};
use crate::pixels::input::OfPixel;
use crate::pixels::setup::ShowPixel;
use crate::pixels::view::PixelView;
use crate::policies::notice;
use crate::policies::published::{self, Published};
use crate::receipts::check::check_request;
use crate::receipts::consent_log::{ConsentEvent, LogRequest, ReadConsentLog};
use crate::receipts::log_query::LogFilter;
use crate::receipts::proofs::get_proof::{GetProof, ProofRequest};
use crate::receipts::proofs::proof_file::ProofFile;
use crate::receipts::proofs::verify::{VerifyReceipt, VerifyRequest};
use crate::receipts::records::answered::Answered;
use crate::types::consent::ConsentState;
use crate::types::ids::PixelParam;
use crate::types::locales::{self, Locale};
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::words;

pub fn routes() -> Vec<Route> {
    routes![choice, choice_file, proof_file, record_file, ask_to_erase, erase]
}

const OTHERS: usize = 20;

#[get("/console/sites/<pixel_id>/choices/<receipt_id>")]
async fn choice(
    member: Member<'_>,
    pixel_id: PixelParam,
    receipt_id: &str,
) -> Result<Reply, Refusal> {
    let pixel = show_pixel(&member, &pixel_id).await?;
    let event = find(&member, &pixel_id, receipt_id).await?;
    let receipt = &event.fields;
    let app = member.app;
    let published = answered(&member, &event).await;
    let others = list(&member, &pixel_id, of_visitor(receipt.visitor_id.as_str()), OTHERS).await?;
    let others = others.iter().filter(|other| other.fields.receipt_id != receipt.receipt_id);
    let others = others.map(
        |other| json!({"receipt_id": other.fields.receipt_id, "words": ChoiceWords::of(other)}),
    );
    let (id, host) = (pixel.pixel_id.to_string(), pixel.domain.to_string());
    let content = context! {
        sentence: ChoiceWords::sentence(&event, &host, Message::Moment(receipt.recorded_at)),
        words: ChoiceWords::of(&event),
        origin: &receipt.origin,
        visitor_id: receipt.visitor_id.as_str(),
        receipt_id: receipt.receipt_id,
        is_genuine: is_genuine(&member, &event).await?,
        has_log: app.log.is_kept(),
        cosigners: app.log.count_cosigners().await.unwrap_or_default(),
        checked: Message::Moment(app.infra.clock.now()),
        ends: published.as_ref().and_then(|published| ends(&event, published)),
        notice_shown: published.as_ref().map(|published| notice_of(&event, published)),
        log_key: app.log.verifier().ok().map(ToString::to_string),
        people: people_of(&member, &pixel.pixel_id, &receipt.visitor_id).await?,
        requests: requests_of(&member, &pixel.pixel_id, receipt.visitor_id.clone().into()).await?,
        json: serde_json::to_string_pretty(&signed(&event)).map_err(Error::internal)?,
        others: others.collect::<Vec<_>>(),
    };
    Ok(member.screen(screen("console/choice.html", tr("Choice"), &id, &host), content))
}

fn screen<'a>(
    template: &'static str,
    title: Message,
    pixel_id: &'a str,
    host: &'a str,
) -> Screen<'a> {
    Screen {
        template,
        title,
        location: NavLocation::Site { pixel_id, host, screen: SLUG },
        calls: &[
            "GET /v1/pixels/{pixel_id}/consent",
            "POST /v1/consent/verify",
            "GET /v1/consent/proof",
            "GET /v1/pixels/{pixel_id}/consent/export?format=dpv",
            "DELETE /v1/pixels/{pixel_id}/visitors/{visitor_id}",
        ],
    }
}

pub async fn show_pixel(member: &Member<'_>, pixel_id: &PixelParam) -> Result<PixelView> {
    member.ask::<ShowPixel>(OfPixel { pixel_id: pixel_id.clone() }).await
}

pub fn of_visitor(visitor_id: &str) -> LogFilter {
    LogFilter { visitor_id: Some(visitor_id.to_owned()), ..nothing() }
}

fn nothing() -> LogFilter {
    LogFilter {
        state: None,
        visitor_id: None,
        receipt_id: None,
        policy_hash: None,
        from: None,
        to: None,
        before: None,
    }
}

pub async fn list(
    member: &Member<'_>,
    pixel_id: &PixelParam,
    filter: LogFilter,
    limit: usize,
) -> Result<Vec<ConsentEvent>> {
    let pixel_id = pixel_id.clone();
    let request = LogRequest { pixel_id, filter, limit: limit.to_string() };
    Ok(member.ask::<ReadConsentLog>(request).await?.events)
}

/// A malformed id is treated like an unknown receipt.
pub async fn find(
    member: &Member<'_>,
    pixel_id: &PixelParam,
    receipt_id: &str,
) -> Result<ConsentEvent> {
    let filter = LogFilter { receipt_id: Some(receipt_id.to_owned()), ..nothing() };
    let found = match list(member, pixel_id, filter, 1).await {
        Err(Error::Validation(_)) => Vec::new(),
        found => found?,
    };
    found.into_iter().next().ok_or(Error::NotFound)
}

pub fn signed(event: &ConsentEvent) -> Value {
    json!(event.envelope)
}

pub async fn is_genuine(member: &Member<'_>, event: &ConsentEvent) -> Result<bool> {
    let request = serde_json::from_value::<VerifyRequest>(signed(event));
    Ok(member.ask::<VerifyReceipt>(request.map_err(Error::internal)?).await?.valid)
}

pub async fn answered(member: &Member<'_>, event: &ConsentEvent) -> Option<Published> {
    let Receipt { pixel_id, policy_hash, recorded_at, .. } = &event.fields;
    let (infra, sites) = (&member.app.infra, &member.app.receipts.sites);
    let (hash, at) = (Some(&**policy_hash), Some(*recorded_at));
    published::find_at(&infra.pool, sites, pixel_id.as_str(), hash, at).await.ok()
}

fn ends(event: &ConsentEvent, published: &Published) -> Option<Message> {
    let lasts = Duration::days(published.policy.text.consent_days.into());
    let is_acceptance = event.fields.consent_state == ConsentState::Accepted;
    is_acceptance.then(|| Message::Moment(event.fields.recorded_at + lasts))
}

/// The language of the popup, and whether it is known; English if it is unknown.
fn shown_in(event: &ConsentEvent) -> (bool, &'static Locale) {
    let language = event.shown.as_ref().map(|shown| &*shown.language);
    let locale = language.and_then(locales::named).unwrap_or_else(locales::english);
    (language.is_some(), locale)
}

/// The notice in the language of the popup, or in English if that is unknown.
pub fn notice_of(event: &ConsentEvent, published: &Published) -> Value {
    let Published { policy, is_current, .. } = published;
    let (is_known, locale) = shown_in(event);
    json!({
        "version": policy.version,
        "since": Message::DayOf(policy.published_at),
        "is_current": is_current,
        "is_known": is_known,
        "hash": policy.hash,
        "lang": locale.lang,
        "dir": locale.dir,
        "language": locale.name,
        "text": notice::plain_text(policy, locale),
    })
}

#[derive(Responder)]
struct ReceiptFile {
    text: String,
    media_type: ContentType,
    name: Header<'static>,
}

pub async fn proof_of(member: &Member<'_>, receipt: &Receipt) -> Result<ProofFile> {
    let visitor = check_request::OfVisitor {
        pixel_id: Some(receipt.pixel_id.to_string()),
        visitor_id: Some(receipt.visitor_id.as_str().to_owned()),
    };
    let receipt_id = Some(receipt.receipt_id.to_string());
    let request = ProofRequest { visitor, receipt_id, old_size: None };
    member.ask::<GetProof>(request).await
}

#[get("/console/sites/<pixel_id>/choices/<receipt_id>/receipt.json")]
async fn choice_file(
    member: Member<'_>,
    pixel_id: PixelParam,
    receipt_id: &str,
) -> Result<ReceiptFile, Refusal> {
    let event = find(&member, &pixel_id, receipt_id).await?;
    let name = format!("attachment; filename=\"receipt-{}.json\"", event.fields.receipt_id);
    Ok(ReceiptFile {
        text: signed(&event).to_string(),
        media_type: ContentType::JSON,
        name: Header::new("Content-Disposition", name),
    })
}

#[get("/console/sites/<pixel_id>/choices/<receipt_id>/proof.json")]
async fn proof_file(
    member: Member<'_>,
    pixel_id: PixelParam,
    receipt_id: &str,
) -> Result<ReceiptFile, Refusal> {
    let receipt = find(&member, &pixel_id, receipt_id).await?.fields;
    let name = format!("attachment; filename=\"proof-{}.json\"", receipt.receipt_id);
    Ok(ReceiptFile {
        text: serde_json::to_string(&proof_of(&member, &receipt).await?)
            .map_err(Error::internal)?,
        media_type: ContentType::JSON,
        name: Header::new("Content-Disposition", name),
    })
}

#[get("/console/sites/<pixel_id>/choices/<receipt_id>/record.jsonld")]
async fn record_file(
    member: Member<'_>,
    pixel_id: PixelParam,
    receipt_id: &str,
) -> Result<ReceiptFile, Refusal> {
    let event = find(&member, &pixel_id, receipt_id).await?;
    let published = answered(&member, &event).await;
    let record = Answered {
        receipt: &event.fields,
        shown: event.shown.as_ref(),
        policy: published.as_ref().map(|published| &published.policy),
        base_url: member.app.infra.base_url(),
    };
    let name = format!("attachment; filename=\"record-{}.jsonld\"", event.fields.receipt_id);
    Ok(ReceiptFile {
        text: record.document().to_string(),
        media_type: ContentType::new("application", "ld+json"),
        name: Header::new("Content-Disposition", name),
    })
}

#[get("/console/sites/<pixel_id>/choices/<receipt_id>/erase")]
async fn ask_to_erase(
    member: Member<'_>,
    pixel_id: PixelParam,
    receipt_id: &str,
) -> Result<Reply, Refusal> {
    let pixel = show_pixel(&member, &pixel_id).await?;
    let event = find(&member, &pixel_id, receipt_id).await?;
    Ok(erase_form(&member, &pixel, &event, None).await?)
}

async fn erase_form(
    member: &Member<'_>,
    pixel: &PixelView,
    event: &ConsentEvent,
    error: Option<Message>,
) -> Result<Reply> {
    let visitor_id = &event.fields.visitor_id;
    let (id, host) = (pixel.pixel_id.to_string(), pixel.domain.to_string());
    let of_pixel = pixel.pixel_id.clone().into();
    let visitor = OfVisitor { pixel_id: of_pixel, visitor_id: visitor_id.clone().into() };
    let stored = member.ask::<CountVisitor>(visitor).await?;
    let content = context! {
        visitor_id,
        receipt_id: event.fields.receipt_id,
        host: &host,
        stored: words::of_visitor(&stored),
        error: &error,
    };
    let screen = screen("console/erase_visitor.html", tr("Erase a visitor"), &id, &host);
    Ok(member.screen_with_status(if error.is_some() { 400 } else { 200 }, screen, content))
}

#[post("/console/sites/<pixel_id>/choices/<receipt_id>/erase", data = "<form>")]
async fn erase(
    member: Member<'_>,
    pixel_id: PixelParam,
    receipt_id: &str,
    form: Form,
) -> Result<Reply, Refusal> {
    let pixel = show_pixel(&member, &pixel_id).await?;
    let event = find(&member, &pixel_id, receipt_id).await?;
    if !form.names_host(pixel.domain.as_str()) {
        let error = tr("This is not the site's name. Nothing was erased.");
        return Ok(erase_form(&member, &pixel, &event, Some(error)).await?);
    }
    let visitor_id = event.fields.visitor_id.into();
    let address = format!("/console/sites/{pixel_id}/choices?done=erased");
    member.ask::<EraseVisitor>(OfVisitor { pixel_id, visitor_id }).await?;
    Ok(Reply::to(address))
}
