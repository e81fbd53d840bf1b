//! Signing up and signing in to the console, with and without a mail server.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::console::{Browser, leads_to};
use crate::support::{App, MailServer, fresh_address};

/// Six digits that are not these.
fn wrong(code: &str) -> &'static str {
    if code == "123456" { "654321" } else { "123456" }
}

#[tokio::test]
async fn a_person_with_a_mailbox_opens_an_account_and_is_in() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("ann");
    let mut browser = Browser::new(&app);
    let fields = [("email", &*email), ("display_name", "Ann Lee")];
    let sent = browser.post("/console/sign-up", &fields).await;
    leads_to(&sent, "/console/sign-in/code?next=%2Fconsole%2Fsites%2Fnew");
    let code = MailServer::shared().newest(&email).await.code();
    let next = [("code", &*code), ("next", "/console/sites/new")];
    leads_to(&browser.post("/console/sign-in/code", &next).await, "/console/sites/new");
    let page = browser.page("/console").await;
    assert!(page.contains(&email) && page.contains("Trial until 9 April 2026"), "{page}");
}

#[tokio::test]
async fn a_sign_up_after_the_demo_has_the_site_filled_in() {
    let app = App::spawn().await;
    let tried = [("domain", "tried.example"), ("controller_name", "Tried")];
    let mut browser = Browser::new(&app);
    let tag = browser.post("/demo/provision", &tried).await;
    let link = "/console/sign-up?domain=tried.example";
    assert!(tag.text.contains(&format!("href=\"{link}\"")), "{}", tag.text);
    assert!(browser.page(link).await.contains("name=\"domain\" value=\"tried.example\""));
    let fields =
        [("email", "ann@person.example"), ("display_name", "Ann"), ("domain", "tried.example")];
    let first_step = "/console/sites/new?domain=tried.example";
    leads_to(&browser.post("/console/sign-up", &fields).await, first_step);
    assert!(browser.page(first_step).await.contains("value=\"tried.example\""));
}

#[tokio::test]
async fn the_link_of_the_mail_may_be_opened_first() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("ann");
    let mut browser = Browser::new(&app);
    browser.post("/console/sign-up", &[("email", &email), ("display_name", "Ann")]).await;
    let mail = MailServer::shared().newest(&email).await;
    assert_eq!(app.get(&mail.link()).await.status, 200);
    assert_eq!(browser.type_code(wrong(&mail.code())).await.status, 400);
    leads_to(&browser.type_code(&mail.code()).await, "/console");
}

#[tokio::test]
async fn a_sign_up_with_a_known_address_signs_in_and_reveals_nothing() {
    let app = App::spawn_with_mail().await;
    let known = app.mailed_account(&fresh_address("known")).await;
    app.clock.advance(Duration::days(1));
    let mut browser = Browser::new(&app);
    let before = MailServer::shared().inbox(&known.email).len();
    let fields = [("email", &*known.email), ("display_name", "Somebody")];
    let sent = browser.post("/console/sign-up", &fields).await;
    leads_to(&sent, "/console/sign-in/code?next=%2Fconsole%2Fsites%2Fnew");
    let code = MailServer::shared().wait_for(&known.email, before + 1).await.pop().unwrap().code();
    leads_to(&browser.type_code(&code).await, "/console");
}

#[tokio::test]
async fn digits_sign_in_once_and_within_their_time() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let mut browser = Browser::new(&app);
    let code = browser.ask_for_code(&ann.email).await;
    let sign_in = browser.cookies.clone();
    let spaced = format!(" {} {} ", &code[..3], &code[3..]);
    leads_to(&browser.type_code(&spaced).await, "/console");
    let names = browser.cookies.keys().collect::<Vec<_>>();
    assert_eq!(names, ["assent-browser", "assent-session"], "the sign-in is forgotten");
    let mut replay = Browser { app: &app, cookies: sign_in };
    assert_eq!(replay.type_code(&code).await.status, 400);
    assert_eq!(replay.session(), None);
    let late = browser.ask_for_code(&ann.email).await;
    app.clock.advance(Duration::minutes(15));
    assert_eq!(browser.type_code(&late).await.status, 400);
}

#[tokio::test]
async fn digits_are_worth_nothing_in_another_browser() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let (mut own, mut other, mut bare) =
        (Browser::new(&app), Browser::new(&app), Browser::new(&app));
    let code = own.ask_for_code(&ann.email).await;
    let others = other.ask_for_code(&ann.email).await;
    assert_ne!(code, others, "one chance in a million");
    for browser in [&mut other, &mut bare] {
        let refused = browser.type_code(&code).await;
        assert_eq!(refused.status, 400);
        assert!(refused.text.contains("The code is wrong or has expired"), "{}", refused.text);
        assert_eq!(browser.session(), None);
    }
    leads_to(&own.type_code(&code).await, "/console");
}

#[tokio::test]
async fn guesses_use_up_a_sign_in_and_nobody_elses() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let (mut own, mut guesser) = (Browser::new(&app), Browser::new(&app));
    let code = own.ask_for_code(&ann.email).await;
    let guessed = guesser.ask_for_code(&ann.email).await;
    for _ in 0..5 {
        assert_eq!(guesser.type_code(wrong(&guessed)).await.status, 400);
    }
    let refused = guesser.type_code(&guessed).await;
    assert_eq!(refused.status, 429);
    assert!(refused.text.contains("Too many wrong codes"), "{}", refused.text);
    leads_to(&own.type_code(&code).await, "/console");
}

#[tokio::test]
async fn an_unknown_address_looks_like_a_known_one() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let nobody = fresh_address("nobody");
    let mut seen = Vec::new();
    for email in [&ann.email, &nobody] {
        let mut browser = Browser::new(&app);
        let sent = browser.post("/console/sign-in", &[("email", email)]).await;
        let names = |cookies: &std::collections::BTreeMap<String, String>| {
            cookies.iter().map(|(name, value)| (name.clone(), value.len())).collect::<Vec<_>>()
        };
        let mut steps = vec![(sent.status, sent.header("location").unwrap().to_owned())];
        let cookies = names(&browser.cookies);
        let page = browser.page("/console/sign-in/code").await;
        assert!(page.contains(&format!("<bdi>{email}</bdi>")), "{page}");
        assert!(page.contains("href=\"/help/lost-mailbox\""), "{page}");
        steps.push((200, page.replace(&**email, "the address")));
        for _ in 0..6 {
            let refused = browser.type_code("000000").await;
            steps.push((refused.status, refused.text.replace(&**email, "the address")));
        }
        seen.push((cookies, steps));
    }
    assert_eq!(seen[0], seen[1]);
    assert!(MailServer::shared().inbox(&nobody).is_empty());
}

#[tokio::test]
async fn a_client_is_mailed_a_few_times_and_uses_up_nobody_elses_mails() {
    let settings = [("SMTP_URL", &*MailServer::shared().url), ("CLIENT_IP_HEADER", "X-Client")];
    let app = App::spawn_with(&settings).await;
    let nobody = fresh_address("nobody");
    let ask = async |client: &str| {
        let mut browser = Browser::new(&app);
        let request = browser.request(Method::POST, "/console/sign-in");
        let request = request.header("origin", &app.base).header("x-client", client);
        browser.send(request.form(&[("email", &nobody)])).await
    };
    for _ in 0..5 {
        assert_eq!(ask("192.0.2.1").await.status, 303);
    }
    let refused = ask("192.0.2.1").await;
    assert_eq!(refused.status, 429);
    assert!(refused.text.contains("Wait 10 minutes"), "{}", refused.text);
    assert_eq!(ask("192.0.2.2").await.status, 303);
    app.clock.advance(Duration::minutes(10));
    assert_eq!(ask("192.0.2.1").await.status, 303);
    assert_eq!(ask("192.0.2.1").await.status, 429);
}

#[tokio::test]
async fn all_clients_together_cannot_guess_on_for_ever() {
    let settings = [("SMTP_URL", &*MailServer::shared().url), ("CLIENT_IP_HEADER", "X-Client")];
    let app = App::spawn_with(&settings).await;
    let nobody = fresh_address("nobody");
    let mut sent = 0;
    for client in 1..=60 {
        let mut browser = Browser::new(&app);
        let request = browser.request(Method::POST, "/console/sign-in");
        let request = request.header("origin", &app.base);
        let request = request.header("x-client", format!("192.0.2.{client}"));
        sent += u32::from(browser.send(request.form(&[("email", &nobody)])).await.status == 303);
    }
    assert_eq!(sent, 40);
}

/// The reader of the mailbox owns the account; credentials of a stranger who opened it with that address
/// end.
#[tokio::test]
async fn signing_in_confirms_the_address_and_ends_what_was_issued_before() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("ann");
    let opened = app.sign_up(&email).await;
    let text = |name: &str| opened[name].as_str().unwrap().to_owned();
    let (account_id, token) = (text("account_id"), text("signup_token"));
    MailServer::shared().newest(&email).await;
    app.clock.advance(Duration::minutes(2));
    let mut browser = Browser::new(&app);
    browser.sign_in(&email).await;
    app.show_account(&account_id, &token).await.refused(401, "signup token required");
    app.issue_key(&account_id, &token).await.refused(401, "signup token required");
    assert!(browser.page("/console").await.contains("Trial until"));
}

#[tokio::test]
async fn without_a_mail_server_a_key_signs_in_and_only_there() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut browser = Browser::new(&app);
    let page = browser.page("/console/sign-in").await;
    assert!(page.contains("API key") && !page.contains("Email address"), "{page}");
    for key in ["", "px_unknown", &app.revoked_key().await] {
        let refused = browser.post("/console/sign-in/key", &[("api_key", key)]).await;
        assert!([401, 403].contains(&refused.status), "{}", refused.text);
        assert!(refused.text.contains("This key does not work"), "{}", refused.text);
    }
    for scope in ["read", "operate"] {
        let made = app.call(Method::POST, "/v1/api-keys", &ann.key, json!({"scope": scope})).await;
        let weak = made.expect(201)["api_key"].as_str().unwrap().to_owned();
        let refused = browser.post("/console/sign-in/key", &[("api_key", &weak)]).await;
        assert_eq!(refused.status, 403);
        assert!(refused.text.contains("This key does not have the role Admin"), "{}", refused.text);
    }
    let next = [("api_key", &*ann.key), ("next", "/console/sites/new")];
    leads_to(&browser.post("/console/sign-in/key", &next).await, "/console/sites/new");
    assert!(browser.page("/console").await.contains("ann@example.com"));
    let asked = browser.post("/console/sign-in", &[("email", "ann@example.com")]).await;
    assert_eq!(asked.status, 404);

    let mailing = App::spawn_with_mail().await;
    let ben = mailing.mailed_account(&fresh_address("ben")).await;
    let mut browser = Browser::new(&mailing);
    let refused = browser.post("/console/sign-in/key", &[("api_key", &ben.key)]).await;
    assert_eq!((refused.status, browser.session()), (404, None));
}

#[tokio::test]
async fn without_a_mail_server_an_account_is_confirmed_on_the_spot_on_ones_own_machine_only() {
    let app = App::spawn().await;
    let mut browser = Browser::new(&app);
    browser.sign_up("ann@example.com").await;
    assert!(browser.page("/console").await.contains("Trial until"));
    let again = [("email", "ann@example.com"), ("display_name", "Eve")];
    let refused = Browser::new(&app).post("/console/sign-up", &again).await;
    assert_eq!(refused.status, 409);

    let public = App::spawn_with(&[("BASE_URL", "https://assent.example")]).await;
    let mut browser = Browser::new(&public);
    assert!(browser.page("/console/sign-up").await.contains("no mail server"));
    let request = browser.request(Method::POST, "/console/sign-up");
    let request = request.header("origin", "https://assent.example");
    let refused = browser.send(request.form(&again)).await;
    assert_eq!((refused.status, browser.cookies.len()), (404, 0), "{}", refused.text);
}

#[tokio::test]
async fn what_is_wrong_is_said_beside_its_field_and_what_was_typed_stays() {
    let app = App::spawn_with_mail().await;
    let mut browser = Browser::new(&app);
    let odd = "<b>\"no address\"";
    for (path, fields) in [
        ("/console/sign-in", vec![("email", odd)]),
        ("/console/sign-up", vec![("email", odd), ("display_name", "Ann")]),
    ] {
        let again = browser.post(path, &fields).await;
        assert_eq!(again.status, 400);
        assert!(again.text.contains("This is not an email address"), "{}", again.text);
        assert!(again.text.contains("aria-invalid=\"true\""));
        assert!(!again.text.contains("<b>") && again.text.contains("no address"));
    }
    let nameless = [("email", "ann@example.com"), ("display_name", " ")];
    let again = browser.post("/console/sign-up", &nameless).await;
    assert!(again.text.contains("Enter a name"), "{}", again.text);
    assert!(again.text.contains("value=\"ann@example.com\""), "{}", again.text);
}

#[tokio::test]
async fn after_the_sign_in_one_is_where_one_wanted_to_go_and_nowhere_else() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut browser = Browser::new(&app);
    let led = browser.get("/console/sites/new").await;
    leads_to(&led, "/console/sign-in?next=%2Fconsole%2Fsites%2Fnew");
    leads_to(&browser.get("/console").await, "/console/sign-in");
    for elsewhere in ["https://evil.example/", "//evil.example", "/docs", "/console.evil"] {
        let fields = [("api_key", &*ann.key), ("next", elsewhere)];
        leads_to(&Browser::new(&app).post("/console/sign-in/key", &fields).await, "/console");
    }
}

#[tokio::test]
async fn the_mail_says_what_the_digits_are_for_and_leads_nowhere() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let code = Browser::new(&app).ask_for_code(&ann.email).await;
    let mail = MailServer::shared().newest(&ann.email).await;
    assert_eq!(mail.subject(), format!("{code} signs you in to Assent"));
    for part in [mail.text(), mail.html()] {
        assert!(part.contains(&code) && part.contains("15 minutes"), "{part}");
        assert!(part.contains("If you did not request it") && !part.contains("/v1/"), "{part}");
    }
    let stored: Vec<Value> = sqlx::query_scalar("SELECT to_jsonb(sign_ins) FROM sign_ins")
        .fetch_all(&app.pool)
        .await
        .unwrap();
    assert!(!json!(stored).to_string().contains(&code), "digits are stored hashed");
}
