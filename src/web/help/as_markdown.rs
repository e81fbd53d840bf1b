//! Pages as Markdown by their address: `/help/billing.md` is `/help/billing` as Markdown.

use rocket::fairing::{Fairing, Info, Kind};
use rocket::http::ext::IntoOwned;
use rocket::http::{Header, Method};
use rocket::{Data, Request};

use super::pages::has_markdown;

/// Rewrites such an address to that of the page. The guide and documents about single subjects have their own routes.
pub struct MarkdownAddresses;

#[rocket::async_trait]
impl Fairing for MarkdownAddresses {
    fn info(&self) -> Info {
        Info { name: "Addresses of Markdown", kind: Kind::Request }
    }

    async fn on_request(&self, request: &mut Request<'_>, _: &mut Data<'_>) {
        if !matches!(request.method(), Method::Get | Method::Head) {
            return;
        }
        let Some(page) = page_of(request.uri().path().as_str()).map(str::to_owned) else { return };
        if let Some(to) = request.uri().map_path(|_| page).map(|uri| uri.into_owned()) {
            request.set_uri(to);
            request.replace_header(Header::new("Accept", "text/markdown"));
        }
    }
}

/// The page of an address that ends in `.md`; `/index.md` is the front page.
fn page_of(path: &str) -> Option<&str> {
    let page = match path.strip_suffix(".md")? {
        "/index" => "/",
        "/guide" => return None,
        page => page,
    };
    has_markdown(page).then_some(page)
}

#[cfg(test)]
mod tests {
    use super::page_of;

    #[test]
    fn only_pages_for_everybody_have_such_an_address() {
        for (path, page) in [
            ("/index.md", Some("/")),
            ("/help/billing.md", Some("/help/billing")),
            ("/guide/tag.md", Some("/guide/tag")),
            ("/guide.md", None),
            ("/docs/errors.md", None),
            ("/console.md", None),
            ("/help/nothing.md", None),
            ("/help", None),
            ("/.md", Some("/")),
        ] {
            assert_eq!(page_of(path), page, "{path}");
        }
    }
}
