use rocket::http::ContentType;
use rocket::{Route, State, get, routes};
use rocket_dyn_templates::context;
use serde_json::json;

use super::articles::{Article, search};
use super::pages::listed;
use crate::app::App;
use crate::error::{Error, Result};
use crate::http::html::{Page, Reader};
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::infra::uptime;
use crate::web::layout::page;

pub fn routes() -> Vec<Route> {
    routes![help, article, contact, status, sitemap]
}

/// The maximum length of a search text in characters; the rest is ignored.
const LONGEST_SEARCH: usize = 100;

#[get("/help")]
fn help(app: &State<App>, reader: Reader, query: Query) -> Page {
    let asked = query.present("q").unwrap_or_default();
    let asked = asked.chars().take(LONGEST_SEARCH).collect::<String>();
    let content = context! { articles: search(&asked, reader.language), asked };
    Page::for_everybody(page(app.infra.base_url(), "pages/help.html", tr("Help"), content))
}

#[get("/help/<slug>")]
fn article(app: &State<App>, reader: Reader, slug: &str) -> Result<Page> {
    let article = Article::find(slug, reader.language).ok_or(Error::NotFound)?;
    let title = article.title.clone();
    let content = context! { body: article.html(), article, others: search("", reader.language) };
    Ok(Page::for_everybody(page(app.infra.base_url(), "pages/help_article.html", &title, content)))
}

#[get("/contact")]
fn contact(app: &State<App>) -> Page {
    let operator = &app.infra.config.operator;
    let content = context! {
        operator: &operator.name,
        address: &operator.address,
        email: operator.email.as_ref().map(ToString::to_string),
    };
    Page::for_everybody(page(app.infra.base_url(), "pages/contact.html", tr("Contact"), content))
}

#[get("/status")]
async fn status(app: &State<App>) -> Page {
    let now = app.infra.clock.now();
    let history = match uptime::history(&app.infra.pool, now).await {
        Ok(history) => Some(history),
        Err(error) => {
            tracing::warn!(%error, "the history of the service could not be read");
            None
        }
    };
    let days = history.iter().flatten().map(|day| {
        json!({
            "day": Message::Day(day.day),
            "availability": Message::Percent(day.percent()),
            "percent": day.percent(),
        })
    });
    let content = context! {
        works: history.is_some(),
        days: days.collect::<Vec<_>>(),
        checked: Message::Moment(now),
    };
    Page::ok(page(app.infra.base_url(), "pages/status.html", tr("Status"), content)).public()
}

/// The pages that search engines may list (sitemaps.org).
#[get("/sitemap.xml")]
fn sitemap(app: &State<App>) -> (ContentType, String) {
    let base_url = app.infra.base_url();
    let lines = listed().map(|path| format!("<url><loc>{base_url}{path}</loc></url>\n"));
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n{}</urlset>\n",
        lines.collect::<String>()
    );
    (ContentType::XML, text)
}
