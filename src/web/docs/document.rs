use std::sync::{Arc, OnceLock};

use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use super::error_uses::ErrorUses;
use super::page::DocsPage;
use super::{examples, lists, older, repeats, tags, tidy, webhooks};
use crate::error::{Error, FieldError, Result};
use crate::http::html::markdown::markdown_of;
use crate::http::problem::{Problem, ValidationProblem};
use crate::infra::templates::{STAND_IN, with_index};
use crate::receipts::check::LatestReceipt;
use crate::receipts::export::{PolicyLine, ReceiptLine};
use crate::webhooks::event_payload::kinds::{
    AllowanceNews, ChoiceNews, ContactNews, ErasureNews, InstallNews, PolicyNews, SilenceNews,
    WithdrawnNews,
};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Assent",
        version = "1.0.0",
        description = "Puts an identification pixel on a website, gated by a consent popup whose every choice ends in a signed receipt.\n\nErrors are problem documents (RFC 9457): an unknown path is a 404 `not found`, a known path with another method a 405 with `Allow`, a body that is too large a 413. A 429 or 503 says in `Retry-After` when to come back, `RateLimit` what is left of a limit.\n\nEvery list has `next`, the address of its next page. A `POST` below `/v1/` with `Idempotency-Key` (up to 255 characters) may be repeated for a day: the first answer comes again.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    servers((url = "https://stand-in.invalid")),
    components(schemas(
        Problem, ValidationProblem, FieldError, PolicyLine, ReceiptLine, LatestReceipt, ContactNews,
        WithdrawnNews, ChoiceNews, PolicyNews, InstallNews, AllowanceNews, ErasureNews, SilenceNews,
    )),
    modifiers(&Credentials),
    tags(
        (name = "Service", description = "Is it there, and what can it do."),
        (name = "Accounts", description = "Signing up, confirming an address, and the credentials that prove who calls."),
        (name = "Billing", description = "What an account costs, and the payment provider's pages."),
        (name = "Pixels", description = "One per site host, with the snippet that installs it."),
        (name = "Contacts", description = "The people that were resolved on a pixel's site."),
        (name = "Webhooks", description = "Servers of yours that are told what happens, by signed messages."),
        (name = "Consent", description = "What visitors are asked, and what they answered."),
        (name = "Watch", description = "Whether sites load anything without consent."),
        (name = "Visitors", description = "What visitors' pages call, from any origin and without credentials."),
        (name = "Scripts", description = "The scripts that sites load."),
        (name = "Log", description = "The public log of what is published, for anybody who checks it."),
        (name = "Agents", description = "The same features as tools, for agents."),
        (name = "Pages", description = "Pages for people."),
    ),
)]
struct Frame;

struct Credentials;

impl Modify for Credentials {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let header = |name: &str, description: &str| {
            let value = ApiKeyValue::with_description(name, description);
            SecurityScheme::ApiKey(ApiKey::Header(value))
        };
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("An API key: `Authorization: Bearer px_…`."))
            .build();
        let components = document.components.get_or_insert_default();
        for (name, scheme) in [
            ("api_key", SecurityScheme::Http(bearer)),
            ("x_api_key", header("X-API-Key", "An API key in a header of its own.")),
            ("signup_token", header("x-signup-token", "A signup token, valid for one hour.")),
            ("payment_signature", header("payment-signature", "The payment provider's signature.")),
            (
                "stripe_signature",
                header("Stripe-Signature", "The same, under the provider's own name."),
            ),
        ] {
            components.add_security_scheme(name, scheme);
        }
    }
}

/// The description, created at the first request because that takes more memory than the rest of the start.
pub struct ApiDescription {
    modules: fn() -> Vec<utoipa::openapi::OpenApi>,
    assembled: OnceLock<Assembled>,
    html: [OnceLock<Arc<str>>; 2],
    markdown: [OnceLock<Arc<str>>; 2],
}

#[derive(Clone, Copy)]
pub enum DocsForm {
    Index,
    Reference,
}

pub struct Assembled {
    pub json: Arc<str>,
    pub page: DocsPage,
    pub uses: ErrorUses,
    older: OnceLock<Arc<str>>,
    parts: Vec<(String, OnceLock<Arc<str>>)>,
}

fn made(cell: &OnceLock<Arc<str>>, make: impl FnOnce() -> Result<String>) -> Result<Arc<str>> {
    if let Some(made) = cell.get() {
        return Ok(Arc::clone(made));
    }
    let made = make()?;
    Ok(Arc::clone(cell.get_or_init(|| made.into())))
}

impl ApiDescription {
    pub fn new(modules: fn() -> Vec<utoipa::openapi::OpenApi>) -> Self {
        let (html, markdown) = Default::default();
        Self { modules, assembled: OnceLock::new(), html, markdown }
    }

    pub fn get(&self, base_url: &str) -> &Assembled {
        self.assembled.get_or_init(|| Assembled::of((self.modules)(), base_url))
    }

    /// A page, created by `render` at the first request.
    pub fn html(
        &self,
        form: DocsForm,
        base_url: &str,
        render: impl FnOnce(&DocsPage) -> Option<String>,
    ) -> Option<Arc<str>> {
        let created = &self.html[form as usize];
        if let Some(html) = created.get() {
            return Some(Arc::clone(html));
        }
        let html = render(&self.get(base_url).page)?;
        Some(Arc::clone(created.get_or_init(|| html.into())))
    }

    pub fn markdown(&self, form: DocsForm, base_url: &str, html: &str) -> Arc<str> {
        let created = &self.markdown[form as usize];
        let made =
            created.get_or_init(|| with_index(&markdown_of(html, base_url), base_url).into());
        Arc::clone(made)
    }
}

impl Assembled {
    fn of(modules: Vec<utoipa::openapi::OpenApi>, base_url: &str) -> Self {
        let frame = Frame::openapi();
        let joined = modules.into_iter().fold(frame, |joined, module| joined.merge_from(module));
        let mut document = serde_json::to_value(joined).expect("a description is JSON");
        webhooks::add_to(&mut document);
        tidy::tidy(&mut document);
        lists::add_to(&mut document);
        repeats::add_to(&mut document);
        examples::fill_in(&mut document);
        let json = document.to_string().replace(STAND_IN, base_url);
        let uses = ErrorUses::of(&document);
        let parts = tags::names(&document);
        let parts = parts.map(|name| (name.to_owned(), OnceLock::new())).collect();
        let page = DocsPage::of(&document);
        Self { json: json.into(), page, uses, older: OnceLock::new(), parts }
    }

    pub fn older(&self) -> Result<Arc<str>> {
        made(&self.older, || older::of(&self.json))
    }

    pub fn part(&self, tag: &str) -> Result<Arc<str>> {
        let Some((_, part)) = self.parts.iter().find(|(name, _)| name == tag) else {
            let names = self.parts.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
            return Err(Error::Validation(vec![tags::unknown(&names)]));
        };
        made(part, || tags::only(&self.json, tag))
    }
}
