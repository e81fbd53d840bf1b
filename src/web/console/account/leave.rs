use rocket::response::stream::ByteStream;
use rocket::response::{self, Responder};
use rocket::{Either, Request, Response, Route, get, post, routes};
use rocket_dyn_templates::context;

use crate::account_deletion::deletion::{DeleteAccount, DeletionRequest};
use crate::account_deletion::export::ExportAccount;
use crate::account_deletion::summary::{MOST_COUNTED, SummarizeAccount, Summary};
use crate::accounts::capability::NoInput;
use crate::accounts::codes::code_purpose::CodePurpose;
use crate::accounts::scope::Scope;
use crate::error::Result;
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::receipts::export::Lines;
use crate::web::console::kit::cookies;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::{Member, Visitor};
use crate::web::console::kit::proof::{Step, code_of, is_about_the_code};
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::words::counted;
use crate::web::console::sign_in::fresh::{self, has_passkey, is_fresh};

pub fn routes() -> Vec<Route> {
    routes![leave, export, confirm_export, end, ended]
}

const LEAVE: Screen<'static> = Screen {
    template: "console/leave.html",
    title: tr("Export & delete"),
    location: NavLocation::AccountPart("leave"),
    calls: &["GET /v1/account/export", "POST /v1/account/codes", "DELETE /v1/account"],
};
const ADDRESS: &str = "/console/account/leave";

#[get("/console/account/leave")]
async fn leave(member: Member<'_>, query: Query) -> Result<Reply, Refusal> {
    let notice = query.get("done").filter(|&done| done == "confirmed");
    let notice = notice.map(|_| tr("Confirmed. You can export all data now."));
    Ok(leave_screen(&member, 200, notice, None).await?)
}

async fn leave_screen(
    member: &Member<'_>,
    status: u16,
    notice: Option<Message>,
    wrong: Option<Message>,
) -> Result<Reply> {
    let summary = member.ask::<SummarizeAccount>(NoInput {}).await?;
    let content = context! {
        notice,
        email: &member.member.account.email,
        parts: parts(&summary),
        hosts: Message::List(summary.hosts.iter().map(Message::plain).collect()),
        has_hosts: !summary.hosts.is_empty(),
        has_subscription: summary.has_subscription,
        is_fresh: is_fresh(member),
        has_passkey: has_passkey(member).await?,
        error: wrong,
    };
    Ok(member.screen_with_status(status, LEAVE, content))
}

fn parts(summary: &Summary) -> Vec<Message> {
    let sites = i64::try_from(summary.hosts.len()).unwrap_or(i64::MAX);
    let receipts = [
        tr("one receipt of a choice"),
        tr("{{ number }} receipts of choices"),
        tr("more than {{ number }} receipts of choices"),
    ];
    let contacts =
        [tr("one contact"), tr("{{ number }} contacts"), tr("more than {{ number }} contacts")];
    let people = [
        tr("one person who is never stored"),
        tr("{{ number }} people who are never stored"),
        tr("more than {{ number }} people who are never stored"),
    ];
    let parts = [
        part(sites, [tr("one site"), tr("{{ number }} sites")]),
        part_of_many(summary.receipts, receipts),
        part_of_many(summary.contacts, contacts),
        part_of_many(summary.suppressions, people),
        part(summary.keys, [tr("one key"), tr("{{ number }} keys")]),
        part(summary.members, [tr("one other member"), tr("{{ number }} other members")]),
    ];
    parts.into_iter().flatten().collect()
}

fn part(found: i64, [one, more]: [Message; 2]) -> Option<Message> {
    (found > 0).then(|| counted(found, [Message::plain(""), one, more]))
}

/// The text for rows that are counted only up to a limit.
fn part_of_many(found: i64, [one, more, most]: [Message; 3]) -> Option<Message> {
    match found > MOST_COUNTED {
        true => Some(most.with("number", Message::Number(MOST_COUNTED))),
        false => part(found, [one, more]),
    }
}

struct Download {
    name: String,
    lines: Lines,
}

impl<'r> Responder<'r, 'r> for Download {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'r> {
        Response::build_from(ByteStream(self.lines).respond_to(request)?)
            .raw_header("Content-Type", "application/x-ndjson")
            .raw_header("Content-Disposition", format!("attachment; filename=\"{}\"", self.name))
            .raw_header("Cache-Control", "no-store")
            .ok()
    }
}

#[get("/console/account/export")]
async fn export(member: Member<'_>) -> Result<Either<Download, Reply>, Refusal> {
    if member.member.role == Scope::Full && !is_fresh(&member) {
        return Ok(Either::Right(leave_screen(&member, 403, None, None).await?));
    }
    let lines = member.ask::<ExportAccount>(NoInput {}).await?;
    let today = member.app.infra.clock.now().date_naive();
    let name = format!("assent-{today}.ndjson");
    Ok(Either::Left(Download { name, lines }))
}

#[post("/console/account/export", data = "<form>")]
async fn confirm_export(mut member: Member<'_>, form: Form) -> Result<Reply, Refusal> {
    let what = tr(
        "To export all data, confirm that it is you: your last sign-in was more than 15 minutes ago.",
    );
    let (back, part) = (ADDRESS, "leave");
    let step = Step { back, part, ..fresh::step(&member, what, "/console/account/export") };
    let page = fresh::confirm(&mut member, &form, step).await?;
    Ok(page.unwrap_or_else(|| Reply::to(format!("{ADDRESS}?done=confirmed"))))
}

fn step(member: &Member<'_>) -> Step<'static> {
    let email = &member.member.account.email;
    Step {
        title: tr("Delete account"),
        what: tr(
            "The account of {{ email }} and all that is stored for it is deleted immediately and permanently.",
        )
        .with("email", email),
        action: "/console/account/end".to_owned(),
        fields: vec![("address", email.clone())],
        button: tr("Delete account permanently"),
        is_grave: true,
        back: ADDRESS,
        part: "leave",
        purpose: CodePurpose::DeleteAccount,
        mailbox: member.member.address.clone(),
        present: None,
        calls: LEAVE.calls,
    }
}

#[post("/console/account/end", data = "<form>")]
async fn end(member: Member<'_>, form: Form) -> Result<Reply, Refusal> {
    let email = &member.member.account.email;
    if form.text("address").to_lowercase() != *email {
        let wrong = tr("Type {{ email }} to delete the account.").with("email", email);
        return Ok(leave_screen(&member, 400, None, Some(wrong)).await?);
    }
    let step = step(&member);
    let Some(code) = code_of(&form) else { return Ok(step.begin(&member).await?) };
    match member.ask::<DeleteAccount>(DeletionRequest { code: Some(code) }).await {
        Ok(_) => {
            cookies::forget_session(member.app.infra.base_url(), member.jar);
            Ok(Reply::to("/console/ended"))
        }
        Err(error) if is_about_the_code(&error) => {
            Ok(step.page(&member, error.status(), Some(&error)))
        }
        Err(error) => Err(error.into()),
    }
}

#[get("/console/ended")]
fn ended(visitor: Visitor<'_>) -> Reply {
    visitor.page(200, "console/ended.html", tr("Account deleted"), context! {})
}
