//! The HTML pages and the files they load: one test per row.

use reqwest::Method;

use crate::support::{Answer, App};

/// Every page that can be read without having made anything, with its title.
const PAGES: [(&str, &str); 11] = [
    ("/", "Assent"),
    ("/site/pixel", "The pixel · Assent"),
    ("/site/permission", "The permission popup · Assent"),
    ("/demo", "Demo · Assent"),
    ("/log", "Consent log · Assent"),
    ("/your-data", "Your data · Assent"),
    ("/privacy", "Privacy · Assent"),
    ("/terms", "Terms · Assent"),
    ("/dpa", "Data processing agreement · Assent"),
    ("/subprocessors", "Subprocessors · Assent"),
    ("/accessibility", "Accessibility · Assent"),
];

fn title(page: &Answer) -> &str {
    let start = page.text.find("<title>").expect("a title") + "<title>".len();
    let end = page.text.find("</title>").expect("the end of the title");
    &page.text[start..end]
}

async fn front(app: &App, host: &str) -> Answer {
    Answer::of(app.request(Method::GET, "/").header("Host", host)).await
}

#[tokio::test]
async fn every_page_is_html_with_its_title() {
    let app = App::spawn().await;
    for (path, expected) in PAGES {
        let page = app.get(path).await;
        assert_eq!(page.status, 200, "{path}");
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
        assert_eq!(title(&page), expected, "{path}");
        assert!(page.text.starts_with("<!doctype html>"), "{path}");
        assert!(page.text.contains("<html lang=\"en\" dir=\"ltr\">"), "{path}");
    }
}

#[tokio::test]
async fn pages_load_only_what_the_service_itself_serves() {
    let app = App::spawn().await;
    for (path, _) in PAGES {
        let page = app.get(path).await;
        let policy = page.header("content-security-policy").expect(path);
        // The popup of the demo loads the identification tag after a "yes".
        let scripts = match path {
            "/demo" => "script-src 'self' https://tags.example;",
            _ => "script-src 'self';",
        };
        for directive in [
            "default-src 'none'",
            scripts,
            "style-src 'self'",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(directive), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        for inline in ["<style", " style=", " onclick=", "javascript:"] {
            assert!(!page.text.contains(inline), "{path} has {inline}");
        }
        for loaded in sources(&page.text) {
            let file = app.get(&loaded).await;
            assert_eq!(file.status, 200, "{path} loads {loaded}");
        }
    }
}

/// The files that a page loads: scripts, style sheets and icons.
fn sources(html: &str) -> Vec<String> {
    let attributes = ["src=\"", "rel=\"stylesheet\" href=\"", "rel=\"icon\" href=\""];
    let found = attributes.iter().flat_map(|attribute| html.split(attribute).skip(1));
    let found = found.map(|rest| rest.split('"').next().unwrap());
    // The others are snippets to be read.
    found.filter(|path| path.starts_with('/')).map(str::to_owned).collect()
}

#[tokio::test]
async fn links_within_the_service_lead_somewhere() {
    let app = App::spawn().await;
    for (path, _) in PAGES {
        let page = app.get(path).await;
        for link in page.text.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            let link = link.strip_prefix(&app.base).unwrap_or(link).split('#').next().unwrap();
            if !link.is_empty() {
                assert!(link.starts_with('/'), "{path} links to {link}");
                assert_eq!(app.get(link).await.status, 200, "{path} links to {link}");
            }
        }
    }
}

#[tokio::test]
async fn head_answers_like_get_without_a_body() {
    let app = App::spawn().await;
    for path in PAGES.map(|(path, _)| path).into_iter().chain(["/assets/site.css"]) {
        let get = app.get(path).await;
        let head = Answer::of(app.request(Method::HEAD, path)).await;
        assert_eq!((head.status, head.text.as_str()), (200, ""), "{path}");
        for name in ["content-type", "content-length", "content-security-policy"] {
            assert_eq!(head.header(name), get.header(name), "{path}: {name}");
        }
    }
}

#[tokio::test]
async fn the_host_picks_the_front_page() {
    let app = App::spawn_with(&[
        ("PIXEL_SITE_HOST", "Pixel.example"),
        ("PERMISSION_SITE_HOST", "permission.example"),
    ])
    .await;
    for (host, expected) in [
        ("pixel.example", "The pixel · Assent"),
        ("PIXEL.Example:8443", "The pixel · Assent"),
        ("pixel.example.", "The pixel · Assent"),
        ("permission.example:80", "The permission popup · Assent"),
        ("www.pixel.example", "Assent"),
        ("api.example", "Assent"),
        ("localhost", "Assent"),
        ("127.0.0.1:8000", "Assent"),
        ("[::1]:8000", "Assent"),
    ] {
        let page = front(&app, host).await;
        assert_eq!(page.status, 200, "{host}");
        assert_eq!(title(&page), expected, "{host}");
    }
}

#[tokio::test]
async fn the_front_pages_of_the_sites_are_their_pages() {
    let settings =
        [("PIXEL_SITE_HOST", "pixel.example"), ("PERMISSION_SITE_HOST", "permission.example")];
    let app = App::spawn_with(&settings).await;
    // Only the address itself has a language menu, and links to its translations.
    let main =
        |page: &str| page[page.find("<main").unwrap()..page.find("</main>").unwrap()].to_owned();
    for site in ["pixel", "permission"] {
        let served = front(&app, &format!("{site}.example")).await;
        let page = app.get(&format!("/site/{site}")).await;
        assert_eq!((title(&served), main(&served.text)), (title(&page), main(&page.text)));
    }
}

#[tokio::test]
async fn without_the_settings_every_host_gets_the_api_home() {
    let app = App::spawn().await;
    for host in ["pixel.example", "permission.example", "localhost"] {
        assert_eq!(title(&front(&app, host).await), "Assent", "{host}");
    }
}

#[tokio::test]
async fn the_home_page_shows_its_own_address_in_the_commands() {
    let app = App::spawn_with(&[("BASE_URL", "https://consent.example.com")]).await;
    let home = app.get("/").await;
    assert!(home.text.contains("curl https://consent.example.com/v1/accounts"));
}

#[tokio::test]
async fn assets_have_their_type_and_may_be_kept() {
    let app = App::spawn().await;
    for (path, kind) in [
        ("/assets/site.css", "text/css; charset=utf-8"),
        ("/assets/log.js", "text/javascript; charset=utf-8"),
        ("/assets/copy.js", "text/javascript; charset=utf-8"),
        ("/assets/preview.js", "text/javascript; charset=utf-8"),
        ("/assets/favicon.svg", "image/svg+xml"),
        ("/favicon.ico", "image/svg+xml"),
    ] {
        let asset = app.get(path).await;
        assert_eq!(asset.status, 200, "{path}");
        assert_eq!(asset.header("content-type"), Some(kind), "{path}");
        assert_eq!(asset.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert!(asset.header("cache-control").unwrap().contains("max-age"), "{path}");
        assert!(!asset.text.is_empty(), "{path}");
    }
}

#[tokio::test]
async fn there_are_no_other_assets() {
    let app = App::spawn().await;
    for path in ["/assets/", "/assets/nothing.js", "/assets/..%2fCargo.toml", "/assets/a/b"] {
        app.get(path).await.refused(404, "not found");
    }
}

#[tokio::test]
async fn pages_know_no_other_method() {
    let app = App::spawn().await;
    for (path, _) in PAGES {
        let answer = Answer::of(app.request(Method::POST, path)).await;
        answer.refused(405, "method not allowed");
        assert_eq!(answer.header("allow"), Some("GET, HEAD"), "{path}");
    }
    let answer = app.get("/demo/provision").await;
    answer.refused(405, "method not allowed");
    assert_eq!(answer.header("allow"), Some("POST"));
}
