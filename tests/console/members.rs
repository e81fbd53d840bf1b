//! Members and the activity log in the console.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::console::{Browser, leads_to};
use crate::support::{App, MailServer, fresh_address};

const MEMBERS: &str = "/console/account/members";
const EVENTS: &str = "/console/account/events";
/// For so long a sign-in is as good as a code.
const FRESH: Duration = Duration::minutes(15);

/// The address of the first member's own page.
fn link_of_member(page: &str) -> String {
    let links = page.split("href=\"").skip(1).filter_map(|part| part.split('"').next());
    let found = links.into_iter().find(|link| link.starts_with("/console/account/members/"));
    found.expect("a member to change").to_owned()
}

/// A service without mail, with a member of each requested role.
async fn account_with(app: &App, roles: &[&str]) -> (crate::support::Account, Vec<String>) {
    let ann = app.account("ann@example.com").await;
    let mut ids = Vec::new();
    for role in roles {
        let invitation =
            json!({"email": format!("{role}@example.com"), "role": role, "code": ann.key});
        let made = app.call(Method::POST, "/v1/account/members", &ann.key, invitation).await;
        ids.push(made.expect(201)["member_id"].as_str().unwrap().to_owned());
    }
    (ann, ids)
}

#[tokio::test]
async fn a_member_is_invited_with_digits_from_the_own_mailbox() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let bob = fresh_address("bob");
    let mut browser = Browser::new(&app);
    browser.sign_in(&ann.email).await;
    app.clock.advance(FRESH);
    let before = MailServer::shared().inbox(&ann.email).len();
    let fields = [("email", &*bob), ("role", "operate")];
    let asked = browser.submit(MEMBERS, MEMBERS, &fields).await;
    assert_eq!(asked.status, 200, "{}", asked.text);
    assert!(asked.text.contains(&bob) && asked.text.contains("Editor"), "{}", asked.text);
    let code = MailServer::shared().wait_for(&ann.email, before + 1).await.pop().unwrap().code();

    let wrong = if code == "000000" { "111111" } else { "000000" };
    let fields = [&fields[..], &[("step", "prove"), ("code", wrong)]].concat();
    let refused = browser.submit(MEMBERS, MEMBERS, &fields).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text.contains("The code is wrong"), "{}", refused.text);
    assert!(!browser.page(MEMBERS).await.contains(&bob));

    let spaced = format!(" {} {}", &code[..3], &code[3..]);
    let fields = [("email", &*bob), ("role", "operate"), ("step", "prove"), ("code", &spaced)];
    let invited = browser.submit(MEMBERS, MEMBERS, &fields).await;
    leads_to(&invited, &format!("{MEMBERS}?done=invited"));
    let page = browser.page(MEMBERS).await;
    assert!(page.contains(&bob) && page.contains("invited"), "{page}");

    let mut other = Browser::new(&app);
    other.sign_in(&bob).await;
    assert!(other.page("/console/account").await.contains("Editor"));
    assert_eq!(other.get(MEMBERS).await.status, 403);
    let page = browser.page(MEMBERS).await;
    assert!(!page.contains(">invited<"), "who has signed in was there: {page}");
}

#[tokio::test]
async fn an_invalid_invitation_is_refused_before_a_mail_is_sent() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let mut browser = Browser::new(&app);
    browser.sign_in(&ann.email).await;
    let before = MailServer::shared().inbox(&ann.email).len();
    for (email, sentence) in [
        ("nonsense", "This is not an email address"),
        ("", "This is not an email address"),
        (&*ann.email, "is a member already"),
    ] {
        let refused = browser.submit(MEMBERS, MEMBERS, &[("email", email)]).await;
        assert!(refused.status >= 400, "{email}");
        assert!(refused.text.contains(sentence), "{email}: {}", refused.text);
        assert!(refused.text.contains("aria-invalid"), "{}", refused.text);
    }
    assert_eq!(MailServer::shared().inbox(&ann.email).len(), before);
}

#[tokio::test]
async fn a_role_is_changed_with_a_key_where_no_mail_is_sent_and_a_member_is_removed() {
    let app = App::spawn().await;
    let (ann, _) = account_with(&app, &["read"]).await;
    let mut browser = app.browser_of(&ann.key).await;
    app.clock.advance(FRESH);
    let one = link_of_member(&browser.page(MEMBERS).await);
    assert!(browser.page(&one).await.contains("read@example.com"));
    let change = format!("{one}/role");
    let asked = browser.submit(&one, &change, &[("role", "operate")]).await;
    assert!(asked.text.contains("API key with the role Admin"), "{}", asked.text);
    let prove = |key| [("role", "operate"), ("step", "prove"), ("code", key)];
    let refused = browser.submit(&one, &change, &prove("px_nonsense")).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text.contains("not an Admin key of this account"), "{}", refused.text);
    let changed = browser.submit(&one, &change, &prove(&ann.key)).await;
    leads_to(&changed, &format!("{MEMBERS}?done=changed"));
    assert!(browser.page(MEMBERS).await.contains("operate"));

    let remove = format!("{one}/remove");
    let removed = browser.submit(&one, &remove, &[]).await;
    leads_to(&removed, &format!("{MEMBERS}?done=removed"));
    assert!(!browser.page(MEMBERS).await.contains("read@example.com"));
    assert_eq!(browser.get(&one).await.status, 404);
}

#[tokio::test]
async fn a_recent_sign_in_needs_no_further_proof() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut browser = app.browser_of(&ann.key).await;
    app.clock.advance(FRESH - Duration::seconds(1));
    let fields = [("email", "bob@example.com"), ("role", "read")];
    let invited = browser.submit(MEMBERS, MEMBERS, &fields).await;
    leads_to(&invited, &format!("{MEMBERS}?done=invited"));
    let one = link_of_member(&browser.page(MEMBERS).await);
    let changed = browser.submit(&one, &format!("{one}/role"), &[("role", "operate")]).await;
    leads_to(&changed, &format!("{MEMBERS}?done=changed"));
    app.clock.advance(Duration::seconds(1));
    let asked = browser.submit(&one, &format!("{one}/role"), &[("role", "read")]).await;
    assert!(asked.text.contains("API key with the role Admin"), "{}", asked.text);
    // A key of a program is as good as a code nowhere.
    let invitation = json!({"email": "eve@example.com", "role": "read"});
    let refused = app.call(Method::POST, "/v1/account/members", &ann.key, invitation).await;
    refused.refused(400, "invalid code");
}

#[tokio::test]
async fn a_member_of_two_accounts_chooses_one_and_sees_no_third() {
    let app = App::spawn_with_mail().await;
    let [ann, eve, bob] = ["ann", "eve", "bob"].map(fresh_address);
    let [ann, eve, bob] = [
        app.mailed_account(&ann).await,
        app.mailed_account(&eve).await,
        app.mailed_account(&bob).await,
    ];
    let mut browser = Browser::new(&app);
    browser.sign_in(&ann.email).await;
    let fields = [("email", &*bob.email), ("role", "read")];
    let invited = browser.submit(MEMBERS, MEMBERS, &fields).await;
    leads_to(&invited, &format!("{MEMBERS}?done=invited"));
    assert!(!browser.page("/console/account").await.contains("Switch account"));

    let mut browser = Browser::new(&app);
    let code = browser.ask_for_code(&bob.email).await;
    leads_to(&browser.type_code(&code).await, "/console/accounts");
    let page = browser.page("/console/accounts").await;
    assert!(page.contains(&ann.email) && page.contains(&bob.email), "{page}");
    assert!(!page.contains(&eve.email), "{page}");
    let former = browser.session().cloned();
    let choose = async |browser: &mut Browser<'_>, id: &str| {
        browser.submit("/console/accounts", "/console/accounts", &[("account_id", id)]).await
    };
    leads_to(&choose(&mut browser, &ann.account_id).await, "/console");
    assert_ne!(browser.session().cloned(), former, "another session");
    let account = browser.page("/console/account").await;
    assert!(account.contains(&ann.account_id) && account.contains("Read-only"), "{account}");
    assert!(account.contains("Switch account"), "{account}");
    for foreign in [&*eve.account_id, "acc_unknown", "%"] {
        assert_eq!(choose(&mut browser, foreign).await.status, 404, "{foreign}");
    }
    let mut old = Browser { app: &app, cookies: browser.cookies.clone() };
    old.cookies.insert("assent-session".to_owned(), former.unwrap());
    leads_to(&old.get("/console").await, "/console/sign-in");
    leads_to(&choose(&mut browser, &bob.account_id).await, "/console");
    assert!(browser.page("/console/account").await.contains("Admin"));
}

#[tokio::test]
async fn a_key_shows_nobody_to_read_a_mailbox_and_opens_no_other_account() {
    let app = App::spawn().await;
    let (ann, _) = account_with(&app, &["read"]).await;
    let reader = app.account("read@example.com").await;
    let mut browser = app.browser_of(&reader.key).await;
    assert!(!browser.page("/console/accounts").await.contains("ann@example.com"));
    let fields = [("account_id", &*ann.account_id)];
    let refused = browser.submit("/console/accounts", "/console/accounts", &fields).await;
    assert_eq!(refused.status, 404);
}

#[tokio::test]
async fn members_of_another_account_are_not_there() {
    let app = App::spawn().await;
    let (ann, ids) = account_with(&app, &["read"]).await;
    let eve = app.account("eve@example.com").await;
    let mut stranger = app.browser_of(&eve.key).await;
    let one = format!("{MEMBERS}/{}", ids[0]);
    assert_eq!(stranger.get(&one).await.status, 404);
    for (form, key) in [("role", &ann.key), ("role", &eve.key), ("remove", &eve.key)] {
        let fields = [("role", "full"), ("step", "prove"), ("code", &**key)];
        let refused = stranger.submit(MEMBERS, &format!("{one}/{form}"), &fields).await;
        assert_eq!(refused.status, 404, "{form}");
    }
    assert!(!stranger.page(EVENTS).await.contains("read@example.com"));
    let mut browser = app.browser_of(&ann.key).await;
    assert!(browser.page(MEMBERS).await.contains("read@example.com"));
}

#[tokio::test]
async fn a_role_sees_what_it_may() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let [reader, operator] = ["reader", "operator"].map(fresh_address);
    for (email, role) in [(&reader, "read"), (&operator, "operate")] {
        sqlx::query(
            "INSERT INTO members (member_id, account_id, email, role, created_at)
             VALUES (gen_random_uuid(), $1, $2, $3, now())",
        )
        .bind(&ann.account_id)
        .bind(email)
        .bind(role)
        .execute(&app.pool)
        .await
        .unwrap();
    }
    let mut browser = Browser::new(&app);
    browser.sign_in(&reader).await;
    let account = browser.page("/console/account").await;
    assert!(account.contains("Audit log") && !account.contains("Export & delete"), "{account}");
    assert!(!account.contains("Create key") && !account.contains("Subscribe"), "{account}");
    let members = browser.page(MEMBERS).await;
    assert!(members.contains(&operator) && !members.contains("Invite a member"), "{members}");
    let refused = browser.submit(MEMBERS, MEMBERS, &[("email", "eve@example.com")]).await;
    assert_eq!(refused.status, 403);
    assert_eq!(browser.get("/console/account/profile").await.status, 403);
    assert_eq!(browser.get("/console/account/leave").await.status, 403);
    assert_eq!(browser.get("/console/account/export").await.status, 403);

    let mut browser = Browser::new(&app);
    browser.sign_in(&operator).await;
    let account = browser.page("/console/account").await;
    assert!(!account.contains("API keys") && !account.contains("Members"), "{account}");
    let refused = browser.get(EVENTS).await;
    assert_eq!(refused.status, 403);
    assert!(refused.text.contains("You need the Admin role"), "{}", refused.text);
}

#[tokio::test]
async fn the_activity_log_names_sites_versions_keys_and_browsers() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let body = json!({"name": "shop server", "scope": "operate"});
    let made = app.call(Method::POST, "/v1/api-keys", &ann.key, body).await.expect(201);
    let (key, prefix) = (made["api_key"].as_str().unwrap(), made["prefix"].as_str().unwrap());
    let site = app.consent_site(key, "shop.example").await;
    for name in ["Other Ltd", "Shop Ltd"] {
        app.clock.advance(Duration::seconds(1));
        app.reconfigured(&ann.key, &site, name).await;
    }
    let suppressed = format!("/v1/suppressions/{}", "ab".repeat(32));
    app.call(Method::PUT, &suppressed, &ann.key, Value::Null).await.expect(204);
    let mut browser = app.browser_of(&ann.key).await;
    let page = browser.page(EVENTS).await;
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let at = format!("/console/sites/{}", site.pixel_id);
    for words in [
        format!("Added a site: <a href=\"{at}/overview\"><bdi>shop.example</bdi>"),
        format!("the key shop server ({prefix})"),
        format!("shop server ({prefix})</bdi></th>"),
        format!("<a href=\"{at}/popup/versions\"><bdi>version 1 of shop.example</bdi>"),
        "<bdi>version 2 of shop.example</bdi>".to_owned(),
        "<bdi>version 3 of shop.example</bdi>".to_owned(),
        "Added a person to the suppression list".to_owned(),
        "Signed in <bdi class=\"subject\" title=\"with ".to_owned(),
    ] {
        assert!(page.contains(&words), "{words}: {page}");
    }
    // A site that is gone has no screens, and its versions keep their names.
    app.call(Method::DELETE, &format!("/v1/pixels/{}", site.pixel_id), &ann.key, Value::Null)
        .await
        .expect(204);
    let page = browser.page(EVENTS).await;
    assert!(!page.contains(&at) && page.contains("version 3 of shop.example"), "{page}");
    let eve = app.account("eve@example.com").await;
    let others = app.browser_of(&eve.key).await.page(EVENTS).await;
    assert!(!others.contains("shop"), "{others}");
}

#[tokio::test]
async fn the_activity_log_is_in_words_and_has_pages() {
    let app = App::spawn().await;
    let (ann, _) = account_with(&app, &["read"]).await;
    let pixel_id = app.pixel(&ann.key, "shop.example").await;
    for number in 0..51 {
        app.clock.advance(Duration::seconds(1));
        let path = format!("/v1/pixels/{pixel_id}/visitors/v{number}");
        app.call(Method::DELETE, &path, &ann.key, Value::Null).await.expect(200);
    }
    let mut browser = app.browser_of(&ann.key).await;
    let first = browser.page(EVENTS).await;
    for words in ["Signed in", "you", "Erased a visitor of", "shop.example", "the key px_"] {
        assert!(first.contains(words), "{words}: {first}");
    }
    assert!(!first.contains("Invited a member"), "{first}");
    let next = first.split("rel=\"next\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    let second = browser.page(next).await;
    assert!(
        second.contains("Invited a member:") && second.contains("read@example.com"),
        "{second}"
    );
    assert_eq!(browser.get(&format!("{EVENTS}?before=x")).await.status, 422);
}

#[tokio::test]
async fn the_audit_log_is_a_file_of_a_range_of_days() {
    const FILE: &str = "/console/account/events.csv";
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    for number in 0..210 {
        let path = format!("/v1/suppressions/{number:064x}");
        app.call(Method::PUT, &path, &ann.key, Value::Null).await;
        if number % 20 == 19 {
            app.clock.advance(chrono::Duration::minutes(2));
        }
    }
    app.clock.advance(chrono::Duration::days(2));
    let mut browser = app.browser_of(&ann.key).await;
    let all = browser.get(FILE).await;
    assert_eq!(all.header("content-type"), Some("text/csv; charset=utf-8"));
    assert!(all.text.starts_with("\u{feff}time (UTC),action,kind,subject,actor"), "{}", all.text);
    assert_eq!(all.text.matches(",person_suppressed,").count(), 210);
    let newest = all.text.lines().nth(1).unwrap();
    assert!(newest.starts_with("2026-03-12T") && newest.contains("signed_in"), "{newest}");
    for (query, has_first, has_last) in [
        ("?to=2026-03-11", true, false),
        ("?from=2026-03-11", false, true),
        ("?from=2026-03-10&to=2026-03-12", true, true),
        ("?from=2026-03-11&to=2026-03-11", false, false),
    ] {
        let text = browser.get(&format!("{FILE}{query}")).await.text;
        assert_eq!(text.contains(",person_suppressed,"), has_first, "{query}");
        assert_eq!(text.contains("2026-03-12T"), has_last, "{query}");
    }
    assert_eq!(browser.get(&format!("{FILE}?to=soon")).await.status, 422);
    let ben = app.account("ben@example.com").await;
    let foreign = app.browser_of(&ben.key).await.get(FILE).await.text;
    assert!(!foreign.contains("person_suppressed"), "{foreign}");
}
