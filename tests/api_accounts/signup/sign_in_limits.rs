//! Sign-ins and sign-ups by strangers: how many mails they cause, and whether they lock anybody out.

use std::time::{Duration as RealTime, Instant};

use chrono::Duration;
use reqwest::Method;
use serde_json::json;

use crate::support::console::{Browser, leads_to};
use crate::support::{Answer, App, MailServer, fresh_address};

async fn behind_proxy() -> App {
    let settings = [("SMTP_URL", &*MailServer::shared().url), ("CLIENT_IP_HEADER", "X-Client")];
    App::spawn_with(&settings).await
}

/// Requests the digits of an address, as the client with this IP address.
async fn ask(browser: &mut Browser<'_>, client: &str, email: &str) -> Answer {
    let request = browser.request(Method::POST, "/console/sign-in");
    let request = request.header("origin", &browser.app.base).header("x-client", client);
    browser.send(request.form(&[("email", email)])).await
}

/// Number of these clients that are not refused.
async fn admitted(app: &App, clients: impl Iterator<Item = String>, email: &str) -> usize {
    let mut admitted = 0;
    for client in clients {
        let answer = ask(&mut Browser::new(app), &client, email).await;
        assert!([303, 429].contains(&answer.status), "{}", answer.text);
        admitted += usize::from(answer.status == 303);
    }
    admitted
}

fn tagged(email: &str, tag: usize) -> String {
    email.replacen('@', &format!("+{tag}@"), 1)
}

/// Number of mails to these addresses, once at least `least` have arrived.
async fn mails_to(addresses: &[String], least: usize) -> usize {
    let count = || addresses.iter().map(|it| MailServer::shared().inbox(it).len()).sum::<usize>();
    for _ in 0..400 {
        if count() >= least {
            break;
        }
        tokio::time::sleep(RealTime::from_millis(25)).await;
    }
    // A further mail would arrive within this time.
    tokio::time::sleep(RealTime::from_millis(500)).await;
    count()
}

#[tokio::test]
async fn sign_ins_are_counted_per_mailbox_however_the_address_is_spelt() {
    let app = behind_proxy().await;
    let victim = fresh_address("victim");
    let quoted = format!("\"{}\"@example.com", victim.split('@').next().unwrap());
    let spelling = |number: usize| match number % 4 {
        0 => tagged(&victim, number),
        1 => tagged(&victim, number).to_uppercase(),
        2 => format!("{}.", tagged(&victim, number)),
        _ => quoted.clone(),
    };
    let mut sent = 0;
    for number in 0..60 {
        let client = format!("198.51.100.{number}");
        let answer = ask(&mut Browser::new(&app), &client, &spelling(number)).await;
        sent += usize::from(answer.status == 303);
    }
    assert_eq!(sent, 40);
    let dotted = |number: usize| {
        let local = fresh_address("x").replace("@example.com", "").replace('-', "");
        (
            format!("{}.{}@gmail.com", &local[..1], &local[1..]),
            format!("{local}+{number}@googlemail.com"),
        )
    };
    let (one, same) = dotted(1);
    let client = || std::iter::repeat_n("203.0.113.1".to_owned(), 3);
    assert_eq!(admitted(&app, client(), &one).await + admitted(&app, client(), &same).await, 5);
}

#[tokio::test]
async fn accounts_that_were_never_confirmed_bring_their_mailbox_one_sign_in_mail() {
    let app = behind_proxy().await;
    let victim = fresh_address("victim");
    let addresses = (0..10).map(|tag| tagged(&victim, tag)).collect::<Vec<_>>();
    for address in &addresses {
        app.sign_up(address).await;
    }
    for (number, address) in addresses.iter().enumerate() {
        let client = format!("198.51.100.{number}");
        assert_eq!(admitted(&app, [client].into_iter(), address).await, 1);
    }
    assert_eq!(mails_to(&addresses, 11).await, 11);
}

#[tokio::test]
async fn an_invited_member_who_never_signed_in_gets_few_sign_in_mails() {
    let app = behind_proxy().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let guest = fresh_address("guest");
    sqlx::query(
        "INSERT INTO members (member_id, account_id, email, role, created_at)
         VALUES (gen_random_uuid(), $1, $2, 'read', now())",
    )
    .bind(&ann.account_id)
    .bind(&guest)
    .execute(&app.pool)
    .await
    .unwrap();
    let clients = (0..20).map(|number| format!("198.51.100.{number}"));
    let one = std::iter::repeat_n("203.0.113.7".to_owned(), 5);
    assert_eq!(admitted(&app, one, &guest).await, 5);
    assert_eq!(mails_to(std::slice::from_ref(&guest), 3).await, 3, "a stranger uses up three");
    assert_eq!(admitted(&app, clients, &guest).await, 20);
    assert_eq!(mails_to(std::slice::from_ref(&guest), 15).await, 15);
    // A member who has signed in once is no longer limited.
    app.clock.advance(Duration::hours(12));
    let mut browser = Browser::new(&app);
    browser.sign_in(&guest).await;
    let clients = (100..115).map(|number| format!("198.51.100.{number}"));
    assert_eq!(admitted(&app, clients, &guest).await, 15);
    assert_eq!(mails_to(std::slice::from_ref(&guest), 31).await, 31);
}

#[tokio::test]
async fn a_mailbox_emptied_through_subaddresses_has_a_reserve_for_its_plain_spelling() {
    let app = App::spawn_with_mail().await;
    let victim = fresh_address("victim");
    for tag in 0..10 {
        app.sign_up(&tagged(&victim, tag)).await;
    }
    let sign_up =
        |email: String| app.post("/v1/accounts", json!({"email": email, "display_name": "A"}));
    sign_up(tagged(&victim, 10)).await.refused(429, "too many requests");
    sign_up(victim.clone()).await.expect(201);
    let code = |email: &str| app.post("/v1/signup/resend-code", json!({"email": email}));
    app.clock.advance(Duration::minutes(1));
    code(&victim).await.expect(200);
    app.clock.advance(Duration::minutes(1));
    code(&victim).await.refused(429, "wait before sending the confirmation code again");
    code(&tagged(&victim, 1)).await.refused(429, "wait before sending the confirmation code again");
    let addresses = (0..10).map(|tag| tagged(&victim, tag)).chain([victim.clone()]);
    assert_eq!(mails_to(&addresses.collect::<Vec<_>>(), 12).await, 12);
}

const PAUSE: &str = "wait before sending the confirmation code again";

#[tokio::test]
async fn codes_on_request_are_counted_per_mailbox() {
    let app = App::spawn_with_mail().await;
    let victim = fresh_address("victim");
    let code = |email: String| app.post("/v1/signup/resend-code", json!({"email": email}));
    for turn in 0..5 {
        code(tagged(&victim, turn)).await.expect(200);
        let early = code(tagged(&victim, 50 + turn).to_uppercase()).await;
        // After the fifth the daily limit is exhausted as well, and it is reported first.
        let last = turn == 4;
        early.refused(429, if last { "too many codes today" } else { PAUSE });
        app.clock.advance(Duration::minutes(1));
    }
    code(tagged(&victim, 90)).await.refused(429, "too many codes today");
    code(victim).await.refused(429, "too many codes today");
}

#[tokio::test]
async fn a_network_of_48_bits_has_ten_sign_ins_and_locks_nobody_out() {
    let app = behind_proxy().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let homes = (0..40).map(|number| format!("2001:db8:7:{}::{number}", number / 5));
    assert_eq!(admitted(&app, homes, &ann.email).await, 10);
    let elsewhere = ["2001:db8:8::1", "192.0.2.1", "::ffff:192.0.2.2"].map(str::to_owned);
    assert_eq!(admitted(&app, elsewhere.into_iter(), &ann.email).await, 3);
    app.clock.advance(Duration::minutes(10));
    let homes = (0..8).map(|number| format!("2001:db8:7:{:x}::1", 100 + number));
    assert_eq!(admitted(&app, homes, &ann.email).await, 1);
}

#[tokio::test]
async fn many_networks_do_not_lock_out_a_browser_that_has_signed_in_before() {
    let app = behind_proxy().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let mut known = Browser::new(&app);
    known.sign_in(&ann.email).await;
    known.cookies.remove("assent-session");
    app.clock.advance(Duration::days(200));
    let networks = (0..60).map(|number| format!("2001:db8:{number:x}::1"));
    assert_eq!(admitted(&app, networks, &ann.email).await, 40);
    let owners = "192.0.2.7";
    assert_eq!(ask(&mut Browser::new(&app), owners, &ann.email).await.status, 429);

    let cookie = known.cookies["assent-browser"].clone();
    // The confirmation, the sign-in above, and those that the strangers caused.
    let before = mails_to(std::slice::from_ref(&ann.email), 42).await;
    leads_to(&ask(&mut known, owners, &ann.email).await, "/console/sign-in/code?next=%2Fconsole");
    let code = MailServer::shared().wait_for(&ann.email, before + 1).await.pop().unwrap().code();
    leads_to(&known.type_code(&code).await, "/console");
    // Its own bucket allows five in a burst, for this mailbox only.
    for expected in [303, 303, 303, 303, 429] {
        assert_eq!(ask(&mut known, owners, &ann.email).await.status, expected);
    }
    let other = fresh_address("other");
    let networks = (0..60).map(|number| format!("2001:db8:{number:x}::1"));
    assert_eq!(admitted(&app, networks, &other).await, 40);
    assert_eq!(ask(&mut known, owners, &other).await.status, 429);
    // A forged cookie is ignored.
    let forged = cookie.replacen(|character: char| character.is_ascii_lowercase(), "Q", 1);
    for cookie in [forged, cookie[..cookie.len() - 1].to_owned(), "x".repeat(3_000)] {
        let mut forger = Browser::new(&app);
        forger.cookies.insert("assent-browser".to_owned(), cookie);
        assert_eq!(ask(&mut forger, "192.0.2.9", &ann.email).await.status, 429);
    }
}

#[tokio::test]
async fn the_mark_of_a_known_browser_is_for_this_service_only_and_names_nobody() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let mut browser = Browser::new(&app);
    let code = browser.ask_for_code(&ann.email).await;
    let answer = browser.type_code(&code).await;
    let cookies = answer.headers.get_all("set-cookie").iter();
    let mut cookies = cookies.map(|cookie| cookie.to_str().unwrap());
    let mark = cookies.find(|cookie| cookie.starts_with("assent-browser=")).unwrap();
    assert!(mark.contains("HttpOnly") && mark.contains("SameSite=Lax"), "{mark}");
    assert!(mark.contains("Max-Age=34560000"), "{mark}");
    assert!(!mark.contains("ann") && !mark.contains('@'), "{mark}");
    assert_eq!(browser.get("/console").await.status, 200);
}

/// All responses to somebody who signs up with the address and enters wrong digits until refused.
async fn steps_of_sign_up(app: &App, email: &str) -> Vec<(u16, String)> {
    let mut browser = Browser::new(app);
    let sent =
        browser.post("/console/sign-up", &[("email", email), ("display_name", "Somebody")]).await;
    let mut steps = vec![(sent.status, sent.header("location").unwrap_or_default().to_owned())];
    MailServer::shared().newest(email).await;
    app.clock.advance(Duration::minutes(20));
    for _ in 0..6 {
        let refused = browser.type_code("000000").await;
        steps.push((refused.status, refused.text.replace(email, "ADDRESS")));
    }
    app.clock.advance(Duration::hours(24));
    let refused = browser.type_code("000000").await;
    steps.push((refused.status, refused.text.replace(email, "ADDRESS")));
    steps
}

#[tokio::test]
async fn a_sign_up_looks_the_same_whether_the_address_has_an_account() {
    let app = App::spawn_with_mail().await;
    let known = app.mailed_account(&fresh_address("known")).await.email;
    let unconfirmed = fresh_address("unconfirmed");
    app.sign_up(&unconfirmed).await;
    app.clock.advance(Duration::days(2));
    let expected = steps_of_sign_up(&app, &fresh_address("nobody")).await;
    assert_eq!(expected[0].0, 303);
    assert_eq!(steps_of_sign_up(&app, &known).await, expected);
    assert_eq!(steps_of_sign_up(&app, &unconfirmed).await, expected);
}

#[tokio::test]
async fn sign_ups_are_counted_the_same_whether_the_address_has_an_account() {
    let app = App::spawn_with_mail().await;
    let known = app.mailed_account(&fresh_address("known")).await.email;
    let nobody = fresh_address("nobody");
    app.sign_up(&tagged(&nobody, 1)).await;
    app.clock.advance(Duration::days(2));
    let mut seen = Vec::new();
    for email in [&known, &nobody] {
        let mut statuses = Vec::new();
        for _ in 0..12 {
            let fields = [("email", &**email), ("display_name", "Somebody")];
            statuses.push(Browser::new(&app).post("/console/sign-up", &fields).await.status);
        }
        seen.push(statuses);
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0].iter().filter(|&&status| status == 303).count(), 10);
}

/// The mail server takes 12 seconds for mails to such an address.
#[tokio::test]
async fn the_answer_to_a_sign_up_or_sign_in_does_not_wait_for_the_mail_server() {
    let app = App::spawn_with_mail().await;
    let unknown = fresh_address("slow");
    let known = fresh_address("slow");
    let mut times = Vec::new();
    for (path, email) in [
        ("/console/sign-up", &unknown),
        // The account exists by then, while its first mail is still being sent.
        ("/console/sign-in", &unknown),
        ("/console/sign-up", &unknown),
        ("/console/sign-in", &known),
    ] {
        let began = Instant::now();
        let fields = [("email", &**email), ("display_name", "Somebody")];
        let answer = Browser::new(&app).post(path, &fields).await;
        assert_eq!(answer.status, 303, "{path}: {}", answer.text);
        times.push((path, began.elapsed()));
    }
    assert!(times.iter().all(|(_, took)| *took < RealTime::from_secs(8)), "{times:?}");
}

#[tokio::test]
async fn a_sign_up_whose_mail_is_refused_leaves_no_account() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("refuse");
    let fields = [("email", &*email), ("display_name", "Somebody")];
    assert_eq!(Browser::new(&app).post("/console/sign-up", &fields).await.status, 303);
    for _ in 0..1_200 {
        let left = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM sign_ins");
        if left.fetch_one(&app.pool).await.unwrap() == 0 {
            break;
        }
        tokio::time::sleep(RealTime::from_millis(25)).await;
    }
    let accounts = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM accounts WHERE email = $1");
    assert_eq!(accounts.bind(&email).fetch_one(&app.pool).await.unwrap(), 0);
}
