//! Addresses that are typed, bookmarked or reloaded, and the header of pages for signed-in people.

use reqwest::Method;

use assent::server;
use assent::web::console;

use crate::support::console::{Browser, leads_to};
use crate::support::shop::Shop;
use crate::support::{Answer, App, MailServer, fresh_address};

const PAGE: &str = "text/html,application/xhtml+xml";
const SIGN_IN: &str = "<li><a href=\"/console/sign-in\">Sign in</a></li>";
const CONSOLE: &str = "<li><a href=\"/console\">Console</a></li>";

/// The paths that take forms or bodies with `POST`.
fn posted_paths() -> Vec<String> {
    let routes = [server::routes(), console::routes()].concat();
    let posted = routes.iter().filter(|route| route.method == rocket::http::Method::Post);
    posted.map(|route| route.uri.path().to_owned()).collect()
}

/// The path with the site's id; other parameters name nothing.
fn filled(path: &str, pixel_id: &str) -> String {
    let fill = |segment: &str| match segment {
        "<pixel_id>" => pixel_id.to_owned(),
        segment if segment.starts_with('<') => "00000000-0000-4000-8000-000000000000".to_owned(),
        segment => segment.to_owned(),
    };
    path.split('/').map(fill).collect::<Vec<_>>().join("/")
}

/// Where a browser ends that opens an address.
async fn opened(browser: &mut Browser<'_>, address: &str) -> (String, Answer) {
    let mut address = address.to_owned();
    for _ in 0..4 {
        let request = browser.request(Method::GET, &address).header("accept", PAGE);
        let answer = browser.send(request).await;
        match answer.header("location") {
            Some(next) => address = next.split('#').next().unwrap().to_owned(),
            None => return (address, answer),
        }
    }
    panic!("{address} leads round and round");
}

#[tokio::test]
async fn every_address_that_takes_forms_leads_to_a_page_when_it_is_opened() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    let mut browser = app.browser_of(&ann.key).await;
    let paths = posted_paths();
    assert!(paths.len() > 80, "{}", paths.len());
    for path in paths {
        let (end, answer) = opened(&mut browser, &filled(&path, &site.pixel_id)).await;
        if path.starts_with("/console/") {
            let names_nothing = path.replace("<pixel_id>", "").contains('<');
            let is_page = answer.status == 200 || (names_nothing && answer.status == 404);
            assert!(is_page && end.starts_with("/console"), "{path} → {end}: {}", answer.text);
            assert!(!answer.text.contains("This address is for programs"), "{path} → {end}");
        } else if answer.status == 405 {
            let next = if path.starts_with("/demo") { "href=\"/demo\"" } else { "href=\"/docs\"" };
            assert!(answer.text.contains(next), "{path}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn forms_whose_page_is_elsewhere_lead_there() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    let mut browser = app.browser_of(&ann.key).await;
    let of_site = |rest: &str| format!("/console/sites/{}{rest}", site.pixel_id);
    for (opened, page) in [
        (of_site(""), of_site("/overview")),
        (of_site("/"), of_site("/overview")),
        (of_site("/check"), of_site("/install")),
        (of_site("/mail"), of_site("/install")),
        (of_site("/popup/off"), of_site("/popup")),
        (of_site("/contacts/ab/erase"), of_site("/contacts")),
        ("/console/sites".to_owned(), "/console".to_owned()),
        ("/console/claims".to_owned(), "/console/sites/new".to_owned()),
        ("/console/account/keys".to_owned(), "/console/account".to_owned()),
        ("/console/account/subscribe".to_owned(), "/console/account".to_owned()),
        ("/console/account/sessions/x/end".to_owned(), "/console/account".to_owned()),
        ("/console/account/name".to_owned(), "/console/account/profile".to_owned()),
        ("/console/account/end".to_owned(), "/console/account/leave".to_owned()),
    ] {
        leads_to(&browser.get(&opened).await, &page);
        assert_eq!(browser.get(&page).await.status, 200, "{page}");
    }
    let ben = app.account("ben@example.com").await;
    let mut stranger = app.browser_of(&ben.key).await;
    assert_eq!(stranger.get(&of_site("")).await.status, 404);
}

#[tokio::test]
async fn common_names_lead_to_pages() {
    let app = App::spawn_with_mail().await;
    let mut visitor = Browser::new(&app);
    for (name, end) in [
        ("/login", "/console/sign-in"),
        ("/signup", "/console/sign-up"),
        ("/pricing", "/"),
        ("/dashboard", "/console/sign-in?next=%2Fconsole"),
    ] {
        let (address, answer) = opened(&mut visitor, name).await;
        assert!(end.starts_with(&address), "{name} → {address}");
        assert_eq!(answer.status, 200, "{name}");
    }
    for name in ["/help", "/contact", "/status", "/support"] {
        assert_eq!(opened(&mut visitor, name).await.1.status, 200, "{name}");
    }
    let home = app.get("/").await.text;
    assert!(home.contains("id=\"price\""), "{home}");
}

#[tokio::test]
async fn a_bookmark_keeps_its_query_through_the_sign_in() {
    let app = App::spawn().await;
    let mut visitor = Browser::new(&app);
    let sent = visitor.get("/console/sites/px/overview?days=90").await;
    leads_to(&sent, "/console/sign-in?next=%2Fconsole%2Fsites%2Fpx%2Foverview%3Fdays%3D90");
}

#[tokio::test]
async fn pages_outside_the_console_show_who_is_signed_in() {
    let shop = Shop::open().await;
    let app = &shop.app;
    let (ann, bought) = shop.subscriber("ann@example.com").await;
    let mut browser = app.browser_of(&ann.key).await;
    let paid = format!("/v1/checkout/success?session_id={}", bought.session);
    let pages = ["/", "/demo", "/guide", "/docs", "/terms", "/v1/checkout/cancelled", &paid];
    let refusals = ["/nowhere", "/console/nowhere", "/console/sites/nowhere/overview"];
    let forgotten = Browser::new(app);
    for path in pages.iter().chain(&refusals) {
        let request = browser.request(Method::GET, path).header("accept", PAGE);
        let answer = browser.send(request).await;
        assert!(answer.text.contains(CONSOLE), "{path}: {}", answer.text);
        assert!(!answer.text.contains(SIGN_IN), "{path}");
        let kept = answer.header("cache-control").unwrap_or_default();
        assert!(["private, no-cache", "no-store"].contains(&kept), "{path}: {kept}");
        let request = forgotten.request(Method::GET, path).header("accept", PAGE);
        let answer = Answer::of(request).await;
        assert!(!answer.text.contains(CONSOLE), "{path}");
    }
    let length = browser.request(Method::HEAD, "/terms").header("accept", PAGE);
    assert_eq!(Answer::of(length).await.text, "");
    let cancelled = browser.get("/v1/checkout/cancelled").await.text.replace("&#x2F;", "/");
    assert!(cancelled.contains("href=\"/console/account\""), "{cancelled}");
    browser.submit("/console", "/console/sign-out", &[("sure", "yes")]).await;
    assert!(browser.get("/terms").await.text.contains(SIGN_IN));
}

#[tokio::test]
async fn the_page_after_a_confirmation_leads_into_the_console() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("ann");
    let mut browser = Browser::new(&app);
    browser.post("/console/sign-up", &[("email", &email), ("display_name", "Ann")]).await;
    let mail = MailServer::shared().newest(&email).await;
    let code = mail.code();
    leads_to(&browser.type_code(&code).await, "/console");
    let link = mail.text().split_whitespace().find(|word| word.contains("/v1/email/verify"));
    if let Some(link) = link {
        let path = link.split_once("/v1/").map(|(_, rest)| format!("/v1/{rest}")).unwrap();
        let request = browser.request(Method::GET, &path).header("accept", PAGE);
        let page = browser.send(request).await.text;
        assert!(page.contains("href=\"/console\""), "{page}");
    }
}

/// Every screen as a member with a role sees it: no form that the role may not send.
#[tokio::test]
async fn nobody_is_shown_a_form_that_the_role_may_not_send() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    let screens = [
        "overview",
        "share",
        "choices",
        "popup",
        "contacts",
        "requests",
        "install",
        "test",
        "watch",
        "remove",
        "time-zone",
    ];
    let own = screens.map(|screen| format!("/console/sites/{}/{screen}", site.pixel_id));
    let account = ["", "/members", "/events", "/deliveries", "/mails", "/suppressed"];
    let account = account.map(|screen| format!("/console/account{screen}"));
    let rest = ["/console", "/console/search", "/console/sites/new"].map(str::to_owned);
    let all = [own.to_vec(), account.to_vec(), rest.to_vec()].concat();
    for role in ["read", "operate"] {
        let email = fresh_address(role);
        sqlx::query(
            "INSERT INTO members (member_id, account_id, email, role, created_at)
             VALUES (gen_random_uuid(), $1, $2, $3, now())",
        )
        .bind(&ann.account_id)
        .bind(&email)
        .bind(role)
        .execute(&app.pool)
        .await
        .unwrap();
        let mut browser = Browser::new(&app);
        browser.sign_in(&email).await;
        for screen in &all {
            let answer = browser.get(screen).await;
            if answer.status == 403 {
                continue;
            }
            let token = crate::support::console::token_of(&answer.text);
            let forms =
                answer.text.split("<form").skip(1).filter(|form| form.contains("method=\"post\""));
            for form in forms {
                let action = form.split_once("action=\"").map(|(_, rest)| rest);
                let action = action.and_then(|rest| rest.split('"').next()).unwrap_or(screen);
                if ["/console/sign-out", "/end"].iter().any(|own| action.ends_with(own)) {
                    continue;
                }
                let sent = browser.post(action, &[("form_token", &*token)]).await;
                assert_ne!(sent.status, 403, "{role}: {action} on {screen}");
            }
        }
    }
}
