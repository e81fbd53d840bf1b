//! The screen of a suppression import. It must not depend on `suppressed`, which uses this module to show the newest
//! imports.

use rocket::{Route, get, routes};
use rocket_dyn_templates::context;
use serde_json::{Value, json};

use crate::contacts::suppressions::entry::{ImportProgress, ImportStatus, ListedImport};
use crate::contacts::suppressions::import::{OfImport, ShowSuppressionImport};
use crate::error::Result;
use crate::infra::templates::{Message, tr};
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::words::percent;

pub fn routes() -> Vec<Route> {
    routes![import]
}

/// Seconds until the browser reloads the page of a running import.
const LOOK_AGAIN: u32 = 3;

#[get("/console/account/suppressed/imports/<import_id>")]
async fn import(member: Member<'_>, import_id: &str) -> Result<Reply, Refusal> {
    let request = OfImport { import_id: import_id.into() };
    let status = member.ask::<ShowSuppressionImport>(request).await?;
    let screen = Screen {
        template: "console/import.html",
        title: tr("A list of people"),
        location: NavLocation::AccountPart("suppressed"),
        calls: &["GET /v1/suppressions/imports/{import_id}"],
    };
    let reply = member.screen(screen, context! { import: counts(&status) });
    match status.status {
        ImportProgress::Waiting => Ok(reply.again_after(LOOK_AGAIN)),
        ImportProgress::Done => Ok(reply),
    }
}

fn counts(import: &ImportStatus) -> Value {
    let part = percent(import.read, import.lines).unwrap_or(100);
    json!({
        "id": import.import_id,
        "is_done": import.status == ImportProgress::Done,
        "lines": Message::Number(import.lines),
        "read": Message::Number(import.read),
        "part": part,
        "percent": Message::WholePercent(part),
        "added": Message::Number(import.added),
        "erased": Message::Number(import.erased),
        "rejected": Message::Number(import.rejected),
        "has_rejected": import.rejected > 0,
    })
}

pub fn row(listed: &ListedImport) -> Value {
    let mut row = counts(&listed.status);
    row["when"] = json!(Message::Moment(listed.created_at));
    row
}
