//! The header of pages outside the console, for people who are signed in to it.

use std::io::Cursor;

use chrono_tz::Tz;
use rocket::fairing::{Fairing, Info, Kind};
use rocket::http::{ContentType, Header};
use rocket::{Request, Response};

use super::console::kit::cookies;
use crate::accounts::sessions;
use crate::app::App;
use crate::infra::templates::{Message, language, tr};

/// The beginning of the sign-in link in the header of `layout.html`; `END` follows its text.
const SIGN_IN: &str = r#"<li><a href="/console/sign-in">"#;
const END: &str = "</a></li>";
const CONSOLE: Message = tr("Console");

/// Replaces the sign-in link with a link to the console in pages for signed-in people. Such a page is
/// no longer the same for everybody, so only the browser may cache it.
pub struct SignedInHeader;

#[rocket::async_trait]
impl Fairing for SignedInHeader {
    fn info(&self) -> Info {
        Info { name: "Header for signed-in people", kind: Kind::Response }
    }

    async fn on_response<'r>(&self, request: &'r Request<'_>, response: &mut Response<'r>) {
        if response.content_type().is_none_or(|kind| kind != ContentType::HTML) {
            return;
        }
        let Some(app) = request.rocket().state::<App>() else { return };
        let Some(secret) = cookies::session(app.infra.base_url(), request.cookies()) else {
            return;
        };
        if !matches!(sessions::find(&app.infra.pool, &app.infra.clock, &secret).await, Ok(Some(_)))
        {
            return;
        }
        let Ok(text) = response.body_mut().to_string().await else { return };
        let language = response.headers().get_one("Content-Language").and_then(language::find);
        let label = language.unwrap_or_else(language::english).localiser(Tz::UTC).text(&CONSOLE);
        let changed = with_console(&text, &label).unwrap_or_else(|| text.clone());
        if changed != text && response.headers().get_one("Cache-Control") == Some("no-cache") {
            response.set_header(Header::new("Cache-Control", "private, no-cache"));
        }
        response.set_sized_body(changed.len(), Cursor::new(changed));
    }
}

fn with_console(page: &str, label: &str) -> Option<String> {
    let (before, rest) = page.split_once(SIGN_IN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}<li><a href=\"/console\">{label}{END}{after}"))
}
