//! Claims: the owner of a host takes it over from the account that created a pixel for it.

use chrono::Duration;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::console::{Browser, leads_to};
use crate::support::setup::{create_host, demo_pixel, field_names, set_plan, shown};
use crate::support::sites::claims::{HOST, Opened, Scene, claim, tag, verify};
use crate::support::sites::dns::DnsServer;
use crate::support::sites::https_site::Reply;
use crate::support::sites::install::{check, installed};
use crate::support::tools::{call, done, refused};
use crate::support::{MailServer, fresh_address};

#[tokio::test]
async fn a_claim_proven_by_the_dns_takes_a_host_from_a_pixel_that_does_not_work() {
    let scene = Scene::new().await;
    let Scene { app, owner, stranger, pixel, .. } = &scene;
    let site = app.consent_site(&stranger.key, HOST).await;
    let saved = app.recorded(&site.refusal("visitor-1", "declined")).await;
    app.store(&stranger.key, pixel, json!([{"hem": "a".repeat(64), "contact": {"a": 1}}]))
        .await
        .expect(200);
    create_host(app, &owner.key, HOST).await.refused(409, "domain already registered");
    app.clock.advance(Duration::days(30) + Duration::seconds(1));
    let opened = scene.claim(owner).await.expect(201);
    assert_eq!(field_names(&opened), ["domain", "expires_at", "pixel_id", "snippet", "token"]);
    assert_eq!(opened["domain"], HOST);
    assert_eq!(opened["expires_at"], "2026-04-16T12:00:01.000Z");
    let opened = Opened::of(&opened);
    let tag = format!("<script async src=\"{}/px/{}.js\"></script>", app.base, opened.pixel);
    assert_eq!(opened.snippet, tag);
    scene.verify(owner, &opened.token).await.refused(409, "claim not proven");
    shown(app, &stranger.key, pixel).await;

    scene.publish("something else");
    scene.publish(&opened.token);
    let taken = scene.verify(owner, &opened.token).await.expect(200);
    assert_eq!((&taken["pixel_id"], &taken["domain"]), (&json!(opened.pixel), &json!(HOST)));
    assert_eq!(taken["install_status"], "not_checked");
    assert_eq!(shown(app, &owner.key, &opened.pixel).await, taken);
    let path = format!("/v1/pixels/{pixel}");
    let lost = app.call(Method::GET, &path, &stranger.key, Value::Null).await;
    lost.refused(404, "pixel not found");
    let left: i64 =
        sqlx::query_scalar("SELECT count(*) FROM contacts").fetch_one(&app.pool).await.unwrap();
    assert_eq!(left, 0);
    assert!(app.verifies(&saved["receipt"], saved["signature"].as_str().unwrap()).await);
    let mails = MailServer::shared().wait_for(&stranger.email, 2).await;
    assert_eq!(mails[1].subject(), "shop.example was moved to another account");
    let way_back = format!("{}/console/sites/new?domain={HOST}", app.base);
    assert!(mails[1].text().contains(pixel.as_str()), "{}", mails[1].text());
    assert!(mails[1].text().contains(&way_back), "{}", mails[1].text());
    // A repeated request, after a lost answer, gets the same answer.
    assert_eq!(scene.verify(owner, &opened.token).await.expect(200), taken);
    scene.claim(owner).await.refused(409, "that host is yours already");
    // The stranger can post the host no more than before.
    create_host(app, &stranger.key, HOST).await.refused(409, "domain already registered");
}

#[tokio::test]
async fn a_claim_is_proven_by_its_snippet_on_the_page_and_by_nothing_less() {
    let scene = Scene::new().await;
    let opened = scene.opened(&scene.owner).await;
    for page in [
        "hello".to_owned(),
        opened.pixel.clone(),
        format!("<p>{}</p>", opened.snippet.replace('<', "&lt;")),
        opened.snippet.replace(&opened.pixel, &scene.pixel),
    ] {
        scene.site.answer("shop.example/", Reply::page(page));
        scene.verify(&scene.owner, &opened.token).await.refused(409, "claim not proven");
    }
    scene.site.answer("shop.example/", Reply::page(format!("<head>{}</head>", opened.snippet)));
    scene.verify(&scene.owner, &opened.token).await.expect(200);
    check(&scene.app, &scene.owner.key, &opened.pixel).await.expect(200);
}

#[tokio::test]
async fn a_pixel_whose_tag_runs_on_the_page_keeps_its_host() {
    let scene = Scene::new().await;
    let Scene { app, owner, stranger, pixel, .. } = &scene;
    let opened = scene.opened(owner).await;
    scene.publish(&opened.token);
    scene.shows(&tag(app, pixel));
    // No check has confirmed it yet, but the proof of the claim fetches the page again.
    scene.verify(owner, &opened.token).await.refused(409, "that pixel is working");
    installed(&check(app, &stranger.key, pixel).await.expect(200));
    scene.claim(owner).await.refused(409, "that pixel is working");
    scene.shows("nothing");
    scene.verify(owner, &opened.token).await.expect(200);
}

#[tokio::test]
async fn use_at_another_host_does_not_make_a_pixel_work_here() {
    let scene = Scene::new().await;
    let Scene { app, owner, stranger, .. } = &scene;
    let site = app.consent_site(&stranger.key, "elsewhere.example").await;
    app.recorded(&site.refusal("visitor-1", "declined")).await;
    app.clock.advance(Duration::hours(1));
    let path = format!("/v1/pixels/{}", scene.pixel);
    app.call(Method::DELETE, &path, &stranger.key, Value::Null).await.expect(204);
    let path = format!("/v1/pixels/{}", site.pixel_id);
    app.call(Method::PATCH, &path, &stranger.key, json!({"domain": HOST})).await.expect(200);
    let opened = scene.opened(owner).await;
    scene.publish(&opened.token);
    scene.verify(owner, &opened.token).await.expect(200);
}

#[tokio::test]
async fn a_claim_is_its_accounts_alone_and_ends_after_seven_days() {
    let scene = Scene::new().await;
    let operator = scene.app.mailed_account(&fresh_address("operator")).await;
    set_plan(&scene.app, &operator.account_id, "unlimited").await;
    let opened = scene.opened(&scene.owner).await;
    scene.publish(&opened.token);
    for account in [&scene.stranger, &operator] {
        scene.verify(account, &opened.token).await.refused(404, "claim not found");
    }
    for token in ["cl_unknown", "%00", &"x".repeat(5000)] {
        scene.verify(&scene.owner, token).await.refused(404, "claim not found");
    }
    let stored: String = sqlx::query_scalar("SELECT pixel_claims::text FROM pixel_claims")
        .fetch_one(&scene.app.pool)
        .await
        .unwrap();
    assert!(!stored.contains(&opened.token), "only a hash of it is stored");
    // Claimed again, it has another token, another week and the same pixel.
    scene.app.clock.advance(Duration::days(1));
    let again = scene.opened(&scene.owner).await;
    assert_eq!(again.pixel, opened.pixel);
    scene.verify(&scene.owner, &opened.token).await.refused(404, "claim not found");
    scene.publish(&again.token);
    scene.app.clock.advance(Duration::days(7));
    scene.verify(&scene.owner, &again.token).await.refused(404, "claim not found");
    let anew = scene.opened(&scene.owner).await;
    assert_ne!(anew.pixel, opened.pixel);
    scene.publish(&anew.token);
    scene.app.clock.advance(Duration::days(7) - Duration::milliseconds(1));
    scene.verify(&scene.owner, &anew.token).await.expect(200);
}

#[tokio::test]
async fn the_allowance_holds_when_a_claim_takes_effect() {
    let scene = Scene::new().await;
    let Scene { app, owner, .. } = &scene;
    let opened = scene.opened(owner).await;
    scene.publish(&opened.token);
    let first = app.pixel(&owner.key, "a.example").await;
    for host in ["b.example", "c.example"] {
        app.pixel(&owner.key, host).await;
    }
    let full = scene.verify(owner, &opened.token).await;
    full.refused(403, "pixel allowance reached");
    assert_eq!(full.json()["remaining"], 0);
    shown(app, &scene.stranger.key, &scene.pixel).await;
    let path = format!("/v1/pixels/{first}");
    app.call(Method::DELETE, &path, &owner.key, Value::Null).await.expect(204);
    scene.verify(owner, &opened.token).await.expect(200);
}

#[tokio::test]
async fn an_account_has_ten_claims_open_at_most() {
    let scene = Scene::new().await;
    let Scene { app, owner, .. } = &scene;
    for number in 0..9 {
        claim(app, owner, &format!("site{number}.example")).await.expect(201);
    }
    scene.claim(owner).await.expect(201);
    claim(app, owner, "more.example").await.refused(403, "claim allowance reached");
    claim(app, owner, "site3.example").await.expect(201);
    claim(app, &scene.stranger, "more.example").await.expect(201);
    app.clock.advance(Duration::days(7));
    claim(app, owner, "more.example").await.expect(201);
}

#[tokio::test]
async fn a_claim_obeys_the_rules_of_hosts_and_keys() {
    let scene = Scene::new().await;
    let Scene { app, owner, stranger, .. } = &scene;
    for (body, detail) in [
        (json!({"domain": ""}), "domain is required"),
        (json!({"domain": "shop.example/page"}), "domain must be a host, not a page"),
        (json!({"domain": "co.uk"}), "domain must be a host"),
        (json!({"domain": HOST, "method": "gtm"}), "that install method is not available"),
    ] {
        let answer = app.call(Method::POST, "/v1/pixels/claims", &owner.key, body).await;
        answer.refused(400, detail);
    }
    claim(app, stranger, HOST).await.refused(409, "that host is yours already");
    for path in ["/v1/pixels/claims", "/v1/pixels/claims/cl_x/verify"] {
        app.post(path, json!({"domain": HOST})).await.refused(401, "api key required");
        let answer = app.call(Method::POST, path, "px_wrong", json!({"domain": HOST})).await;
        answer.refused(403, "invalid api key");
    }
    let node = app.another_node(&[("BASE_URL", "https://consent.example.com")]).await;
    claim(&node, owner, "consent.example.com").await.refused(409, "domain already registered");
}

#[tokio::test]
async fn a_free_host_and_one_of_the_demo_are_claimed_like_others() {
    let scene = Scene::new().await;
    let Scene { app, owner, .. } = &scene;
    let demo = demo_pixel(app, "demo.example").await;
    for host in ["demo.example", "free.example"] {
        let opened = Opened::of(&claim(app, owner, host).await.expect(201));
        scene.dns.add(&format!("_assent.{host}"), &opened.token);
        let taken = verify(app, owner, &opened.token).await.expect(200);
        assert_eq!((&taken["pixel_id"], &taken["domain"]), (&json!(opened.pixel), &json!(host)));
    }
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM pixels WHERE pixel_id = $1")
        .bind(&demo)
        .fetch_one(&app.pool)
        .await
        .unwrap();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn a_claim_of_a_host_that_the_account_has_got_meanwhile_answers_that_pixel() {
    let scene = Scene::new().await;
    let Scene { app, owner, stranger, pixel, .. } = &scene;
    let opened = scene.opened(owner).await;
    let path = format!("/v1/pixels/{pixel}");
    app.call(Method::DELETE, &path, &stranger.key, Value::Null).await.expect(204);
    let own = app.pixel(&owner.key, HOST).await;
    let shown = scene.verify(owner, &opened.token).await.expect(200);
    assert_eq!(shown["pixel_id"], json!(own));
}

#[tokio::test]
async fn without_an_install_checker_nothing_is_looked_for() {
    let scene = Scene::with(&[("INSTALL_CHECK", "off")]).await;
    let opened = scene.opened(&scene.owner).await;
    scene.publish(&opened.token);
    let answer = scene.verify(&scene.owner, &opened.token).await;
    answer.refused(500, "install checker is not configured");
}

#[tokio::test]
async fn a_dns_server_that_is_away_leaves_the_next_one_and_the_page() {
    let dns = DnsServer::start().await;
    let servers = format!("127.0.0.1:1, {}", dns.address);
    let scene = Scene::with(&[("CLAIM_DNS", &servers)]).await;
    let opened = scene.opened(&scene.owner).await;
    dns.add("_assent.shop.example", &opened.token);
    scene.verify(&scene.owner, &opened.token).await.expect(200);

    let scene = Scene::with(&[("CLAIM_DNS", "127.0.0.1:1")]).await;
    let opened = scene.opened(&scene.owner).await;
    scene.verify(&scene.owner, &opened.token).await.refused(409, "claim not proven");
    scene.site.answer("shop.example/", Reply::page(opened.snippet.clone()));
    scene.verify(&scene.owner, &opened.token).await.expect(200);
}

#[tokio::test]
async fn checks_of_the_proof_of_a_claim_count_like_install_checks() {
    let scene = Scene::with(&[("RATE_LIMITS", "on")]).await;
    let opened = scene.opened(&scene.owner).await;
    for _ in 0..30 {
        scene.verify(&scene.owner, &opened.token).await.refused(409, "claim not proven");
    }
    let answer = scene.verify(&scene.owner, &opened.token).await;
    answer.refused(429, "too many requests");
}

#[tokio::test]
async fn agents_claim_with_the_same_sentences() {
    let scene = Scene::new().await;
    let Scene { app, owner, stranger, .. } = &scene;
    let ask = |key: &str| json!({"api_key": key, "domain": HOST});
    let own = call(app, "claim_host", ask(&stranger.key)).await;
    refused(&own, 409, "that host is yours already");
    let opened = Opened::of(done(&call(app, "claim_host", ask(&owner.key)).await));
    let with = |key: &str| json!({"api_key": key, "token": opened.token});
    let answer = call(app, "verify_claim", with(&stranger.key)).await;
    refused(&answer, 404, "claim not found");
    refused(&call(app, "verify_claim", with(&owner.key)).await, 409, "claim not proven");
    scene.publish(&opened.token);
    let taken = call(app, "verify_claim", with(&owner.key)).await;
    assert_eq!(done(&taken)["pixel_id"], json!(opened.pixel));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_proven_claims_at_once_one_takes_effect() {
    let scene = Scene::new().await;
    let Scene { app, owner, .. } = &scene;
    let server = scene.dns.address.to_string();
    let mail = MailServer::shared().url.as_str();
    let node = app.another_node(&[("CLAIM_DNS", &server), ("SMTP_URL", mail)]).await;
    let mut claims = vec![(owner.clone(), scene.opened(owner).await)];
    for number in 0..5 {
        let account = app.mailed_account(&fresh_address(&format!("claimer{number}"))).await;
        let opened = scene.opened(&account).await;
        claims.push((account, opened));
    }
    for (_, opened) in &claims {
        scene.publish(&opened.token);
    }
    // Each from both nodes, so that an account races itself as well.
    let verifying = claims
        .iter()
        .flat_map(|(account, opened)| [app, &node].map(|on| verify(on, account, &opened.token)));
    let answers = join_all(verifying).await;
    let won = answers.iter().filter(|answer| answer.status == 200).collect::<Vec<_>>();
    assert_eq!(won.len(), 2, "{answers:?}");
    assert_eq!(won[0].json()["pixel_id"], won[1].json()["pixel_id"]);
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        answer.refused(409, "that pixel is working");
    }
    let mails = MailServer::shared().wait_for(&scene.stranger.email, 2).await;
    assert_eq!(mails.len(), 2, "the stranger's signup, and one loss");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_install_check_at_the_same_moment_keeps_the_host_or_comes_too_late() {
    let scene = Scene::new().await;
    let Scene { app, owner, stranger, pixel, .. } = &scene;
    let opened = scene.opened(owner).await;
    scene.publish(&opened.token);
    scene.shows(&tag(app, pixel));
    let (checked, taken) =
        tokio::join!(check(app, &stranger.key, pixel), scene.verify(owner, &opened.token));
    match taken.status {
        200 => checked.refused(404, "pixel not found"),
        _ => {
            taken.refused(409, "that pixel is working");
            assert_eq!(checked.expect(200)["install_status"], "installed");
        }
    }
    let holders: i64 = sqlx::query_scalar("SELECT count(*) FROM pixels WHERE domain = $1")
        .bind(HOST)
        .fetch_one(&app.pool)
        .await
        .unwrap();
    assert_eq!(holders, 1);
}

#[tokio::test]
async fn a_person_takes_a_site_over_in_the_console() {
    let scene = Scene::new().await;
    let Scene { app, owner, stranger, .. } = &scene;
    let mut browser = Browser::new(app);
    browser.sign_in(&owner.email).await;
    let (new, claims) = ("/console/sites/new", "/console/claims");
    let refused = browser.submit(new, "/console/sites", &[("domain", HOST)]).await;
    assert_eq!(refused.status, 409);
    assert!(refused.text.contains("is already in another account"), "{}", refused.text);
    assert!(refused.text.contains("Claim this site"), "{}", refused.text);
    let page = format!("https://www.{HOST}/cart");
    let begun = browser.submit(new, claims, &[("domain", &page)]).await;
    let address = begun.header("location").unwrap().to_owned();
    let token = address.strip_prefix("/console/claims/").unwrap();
    let screen = browser.page(&address).await;
    assert!(screen.contains("_assent.shop.example") && screen.contains(token), "{screen}");
    let early = browser.submit(&address, &address, &[]).await;
    assert_eq!(early.status, 409);
    assert!(early.text.contains("Neither the DNS record nor the snippet"), "{}", early.text);

    // Nobody else sees or uses it.
    let mut other = Browser::new(app);
    other.sign_in(&stranger.email).await;
    assert_eq!(other.get(&address).await.status, 404);
    assert_eq!(other.submit(new, &address, &[]).await.status, 404);

    scene.publish(token);
    let taken = browser.submit(&address, &address, &[]).await;
    let site = taken.header("location").unwrap().to_owned();
    assert!(site.ends_with("/popup?done=taken-over"), "{site}");
    assert!(browser.page(&site).await.contains("The site is now in your account"));
    let pixel = site.split('/').nth(3).unwrap();
    let settings = format!("/v1/pixels/{pixel}/consent/configuration");
    let settings = app.read(&owner.key, &settings).await.expect(200);
    assert_eq!(settings["contacts_need_consent"], true, "as of any site that a person adds");
    // The address of the proof leads to the site from now on.
    leads_to(&browser.get(&address).await, &format!("/console/sites/{pixel}/install"));
}

#[tokio::test]
async fn a_site_that_is_at_work_elsewhere_cannot_be_taken_over_in_the_console() {
    let scene = Scene::new().await;
    let Scene { app, owner, stranger, pixel, .. } = &scene;
    let site = app.consent_site(&stranger.key, HOST).await;
    assert_eq!(site.pixel_id, *pixel);
    app.recorded(&site.acceptance("visitor-1")).await;
    scene.shows(&tag(app, pixel));
    installed(&check(app, &stranger.key, pixel).await.expect(200));
    let mut browser = Browser::new(app);
    browser.sign_in(&owner.email).await;
    let fields = [("domain", HOST)];
    let refused = browser.submit("/console/sites/new", "/console/claims", &fields).await;
    assert_eq!(refused.status, 409);
    assert!(
        refused.text.contains("The site is installed with another account"),
        "{}",
        refused.text
    );
}
