use std::collections::HashMap;

use chrono::{DateTime, Utc};
use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;
use serde_json::{Value, json};

use super::linked::{due_day, people_of, requested_day, titles_of};
use super::person_words::beginning_of;
use crate::contacts::reading::finding::OfContact;
use crate::erasure::contact::CountPerson;
use crate::erasure::finding::FindErasureRequest;
use crate::erasure::owner::{
    CompleteErasureRequest, ErasureRefusal, ListErasureRequests, OfRequest, PageRequest,
    RefuseErasureRequest, RefuseRequest,
};
use crate::erasure::view::{ErasureRequestStatus, ErasureRequestView, ReceivedBy};
use crate::erasure::visitor::{CountVisitor, OfVisitor};
use crate::error::{Error, Result};
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::pixels::view::PixelView;
use crate::types::hem::Hem;
use crate::types::ids::PixelParam;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::words::{of_visitor, sentence};
use crate::web::console::sites::install::find;

pub fn routes() -> Vec<Route> {
    routes![requests, answer, complete, refuse]
}

fn screen<'a>(pixel: &'a PixelView, template: &'static str, title: Message) -> Screen<'a> {
    Screen {
        template,
        title,
        location: NavLocation::of(pixel, "requests"),
        calls: &[
            "GET /v1/pixels/{pixel_id}/erasure-requests",
            "POST /v1/pixels/{pixel_id}/erasure-requests/{request_id}/complete",
            "POST /v1/pixels/{pixel_id}/erasure-requests/{request_id}/refuse",
        ],
    }
}

fn notice_of(done: &str) -> Option<Message> {
    match done {
        "erased" => Some(tr("The visitor was erased. The list shows what was erased.")),
        "refused" => Some(tr("The request is refused, with your reason.")),
        "erased-mailed" => Some(tr("The person is erased. Now send the answer below.")),
        "refused-mailed" => Some(tr("The request is refused. Now send the answer below.")),
        _ => None,
    }
}

const FILTERS: [(&str, Message); 4] = [
    ("open", tr("Open")),
    ("completed", tr("Erased")),
    ("refused", tr("Refused")),
    ("", tr("All")),
];

#[get("/console/sites/<pixel_id>/requests")]
async fn requests(
    member: Member<'_>,
    pixel_id: PixelParam,
    query: Query,
) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    let status = query.get("status").unwrap_or("open");
    let request = PageRequest {
        pixel_id,
        status: Some(status.to_owned()),
        after: query.get("after").map(str::to_owned),
        limit: Some("50".to_owned()),
    };
    let page = member.ask::<ListErasureRequests>(request).await?;
    let hems = page.requests.iter().filter_map(|request| request.hem).collect();
    let titles = titles_of(&member, &pixel.pixel_id, hems).await?;
    let now = member.app.infra.clock.now();
    let rows = page.requests.iter().map(|request| row(request, &titles, now));
    let content = context! {
        notice: query.get("done").and_then(notice_of),
        rows: rows.collect::<Vec<_>>(),
        next: page.next_after,
        status,
        filters: FILTERS.map(|(word, name)| json!({"word": word, "name": name})),
    };
    Ok(member.screen(screen(&pixel, "console/requests.html", tr("Requests")), content))
}

/// `titles` are the names or email addresses of the people who are stored.
fn row(request: &ErasureRequestView, titles: &HashMap<Hem, String>, now: DateTime<Utc>) -> Value {
    let left = (request.due_at.0 - now).num_days();
    let clock = match (request.status, left) {
        (ErasureRequestStatus::Open, ..0) => Some(tr("overdue")),
        (ErasureRequestStatus::Open, 0) => Some(tr("due today")),
        (ErasureRequestStatus::Open, 1) => Some(tr("1 day left")),
        (ErasureRequestStatus::Open, left) => Some(tr("{{ many }} days left").with("many", left)),
        _ => None,
    };
    json!({
        "id": request.request_id,
        "visitor_id": request.visitor_id,
        "hem": request.hem,
        "person": request.hem.map(|hem| title(hem, titles)),
        "by_mail": request.received_by == ReceivedBy::Mail,
        "asked": requested_day(request),
        "due": due_day(request),
        "clock": clock,
        "closed": request.closed_at.map(|time| Message::DayOf(time.0)),
        "is_late": request.status == ErasureRequestStatus::Open && left < 7,
        "status": request.status,
        "reason": request.reason,
        "erased": request.erased.as_ref().map(of_visitor),
    })
}

fn title(hem: Hem, titles: &HashMap<Hem, String>) -> String {
    titles.get(&hem).cloned().unwrap_or_else(|| beginning_of(&hem.to_hex()))
}

#[get("/console/sites/<pixel_id>/requests/<request_id>")]
async fn answer(
    member: Member<'_>,
    pixel_id: PixelParam,
    request_id: &str,
    query: Query,
) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    let notice = query.get("done").and_then(notice_of);
    answer_screen(&member, 200, &pixel, request_id, context! { notice }).await
}

async fn answer_screen(
    member: &Member<'_>,
    status: u16,
    pixel: &PixelView,
    request_id: &str,
    more: impl serde::Serialize,
) -> Result<Reply, Refusal> {
    let pixel_id = PixelParam::from(pixel.pixel_id.clone());
    let of_request = OfRequest { pixel_id: pixel_id.clone(), request_id: request_id.into() };
    let request = member.ask::<FindErasureRequest>(of_request).await?;
    let more = serde_json::to_value(more).unwrap_or_default();
    let answers = answers(&request, pixel);
    let hems = request.hem.into_iter().collect();
    let titles = titles_of(member, &pixel.pixel_id, hems).await?;
    let row = row(&request, &titles, member.app.infra.clock.now());
    if request.status != ErasureRequestStatus::Open {
        let content = context! { request: row, answers, notice: &more["notice"] };
        let screen = screen(pixel, "console/closed_request.html", tr("Erasure request"));
        return Ok(member.screen_with_status(status, screen, content));
    }
    let (people, stored) = match (&request.visitor_id, request.hem) {
        (Some(visitor_id), _) => {
            let people = people_of(member, &pixel.pixel_id, visitor_id).await?;
            let visitor = OfVisitor { pixel_id, visitor_id: visitor_id.clone().into() };
            (people, member.ask::<CountVisitor>(visitor).await?)
        }
        (None, Some(hem)) => {
            let person = OfContact { pixel_id, hem: hem.into() };
            (Vec::new(), member.ask::<CountPerson>(person).await?)
        }
        (None, None) => return Err(Error::ErasureRequestNotFound.into()),
    };
    let stored = of_visitor(&stored);
    let content = context! {
        request: row, stored, people, answers, error: &more["error"], field: &more["field"],
    };
    let screen = screen(pixel, "console/request.html", tr("Review request"));
    Ok(member.screen_with_status(status, screen, content))
}

/// The paragraphs of the mails with which the owner answers a request by email: after an erasure and after a refusal,
/// with the reason if it is known.
fn answers(request: &ErasureRequestView, pixel: &PixelView) -> Value {
    let filled =
        |text: Message| text.with("day", requested_day(request)).with("host", &pixel.domain);
    let erased = filled(tr(
        "on {{ day }} you asked us to erase your personal data. We have done so: nothing that {{ host }} had stored of you (contact details, choices and the days on which you were asked) is left.",
    ));
    let refused = filled(tr(
        "on {{ day }} you asked us to erase your personal data on {{ host }}. We cannot do so, for this reason:",
    ));
    let reason = request.reason.as_deref().map(Message::plain);
    json!({
        "erased": [
            tr("Hello,"),
            erased,
            tr("If you are not satisfied, you can complain to a data protection authority."),
        ],
        "refused": [
            tr("Hello,"),
            refused,
            reason.unwrap_or(tr("[the reason that you enter above]")),
            tr("You can complain about this to a data protection authority, and you can go to court."),
        ],
    })
}

#[post("/console/sites/<pixel_id>/requests/<request_id>/complete", data = "<form>")]
async fn complete(
    member: Member<'_>,
    pixel_id: PixelParam,
    request_id: &str,
    form: Form,
) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    if !form.names_host(pixel.domain.as_str()) {
        let error = tr("Type {{ host }} to erase the visitor.").with("host", &pixel.domain);
        let more = context! { error, field: "host" };
        return answer_screen(&member, 400, &pixel, request_id, more).await;
    }
    let request = OfRequest { pixel_id: pixel_id.clone(), request_id: request_id.into() };
    let closed = member.ask::<CompleteErasureRequest>(request).await?;
    Ok(after(&pixel_id, &closed, "completed", "erased"))
}

#[post("/console/sites/<pixel_id>/requests/<request_id>/refuse", data = "<form>")]
async fn refuse(
    member: Member<'_>,
    pixel_id: PixelParam,
    request_id: &str,
    form: Form,
) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    let request = OfRequest { pixel_id: pixel_id.clone(), request_id: request_id.into() };
    let refusal = ErasureRefusal { reason: Some(form.text("reason")) };
    match member.ask::<RefuseErasureRequest>(RefuseRequest { request, refusal }).await {
        Ok(closed) => Ok(after(&pixel_id, &closed, "refused", "refused")),
        Err(error @ (Error::ReasonRequired | Error::Validation(_))) => {
            let more = context! { error: sentence(&error), field: "reason" };
            answer_screen(&member, error.status(), &pixel, request_id, more).await
        }
        Err(error) => Err(error.into()),
    }
}

/// Redirects after a request is closed: to the list or, for a request by email, to the answer that must be sent.
fn after(pixel_id: &PixelParam, closed: &ErasureRequestView, status: &str, done: &str) -> Reply {
    let (list, id) = (format!("/console/sites/{pixel_id}/requests"), closed.request_id);
    Reply::to(match closed.received_by {
        ReceivedBy::Page => format!("{list}?status={status}&done={done}"),
        ReceivedBy::Mail => format!("{list}/{id}?done={done}-mailed"),
    })
}
