//! The page on which visitors see their choice at a site, and withdraw it. The fragment of its address
//! contains the ids. Browsers do not send it, so the page is the same for everybody, and its script
//! (`scripts-src/your-data`) requests the rest.

use rocket::http::Header;
use rocket::response::{self, Responder};
use rocket::{Request, Response, get};
use serde_json::{Value, json};

use crate::http::client::AcceptLanguage;
use crate::http::described::described_routes;
use crate::http::html::{Page, Template};
use crate::http::query::Query;
use crate::policies::policy::CURRENT_WORDING;
use crate::types::consent::Purpose;
use crate::types::locales::{self, Locale};

described_routes![your_data];

/// A page that sends no referrer.
struct Private(Page);

impl<'r> Responder<'r, 'static> for Private {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        Response::build_from(self.0.respond_to(request)?)
            .header(Header::new("Referrer-Policy", "no-referrer"))
            .raw_header("Vary", "Accept-Language")
            .raw_header_adjoin("Vary", "Accept")
            .ok()
    }
}

/// The visitor's own page
///
/// What a browser answered at a site, with the notices that it answered; there it can be taken back.
/// The address has the ids in its fragment, `#pixel=…&visitor=…`, so that no log ever has them.
#[utoipa::path(
    tag = "Pages",
    operation_id = "your_data_page",
    params(("lang" = Option<String>, Query, description = "The reader's language, before `Accept-Language`.")),
    responses((status = 200, description = "The page", content_type = "text/html", body = String)),
)]
#[get("/your-data")]
fn your_data(query: Query, accepted: AcceptLanguage<'_>) -> Private {
    let locale = locales::choose(query.present("lang"), accepted.0.as_deref());
    Private(Page::ok(Template::render("pages/your_data.html", context(locale))).public())
}

fn context(locale: &Locale) -> Value {
    let heading = &locale.your_data["title"];
    json!({
        "base_url": "",
        "page_title": heading,
        "heading": heading,
        "lang": locale.lang,
        "dir": locale.dir,
        "languages": languages(),
        "t": locale.your_data,
        "withdraw": locale.tag["withdraw"],
        "close": locale.tag["close"],
        "proof": locale.policy["proof"],
        "page": for_script(locale).to_string(),
    })
}

fn languages() -> Vec<Value> {
    let link = |locale: &Locale| {
        json!({
            "lang": locale.lang,
            "name": locale.name,
            "url": format!("/your-data?lang={}", locale.lang),
        })
    };
    locales::all().map(link).collect()
}

fn for_script(locale: &Locale) -> Value {
    let purposes = Purpose::most_sensitive_first(Purpose::ALL).map(|purpose| {
        (purpose.as_str(), &locale.purpose(purpose.as_str(), CURRENT_WORDING).title)
    });
    json!({
        "lang": locale.lang,
        "texts": locale.your_data,
        "purposes": purposes.collect::<Vec<_>>(),
    })
}
