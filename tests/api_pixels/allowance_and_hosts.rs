//! The number of pixels of an account, and the owner of a host.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::App;
use crate::support::setup::{create_host, demo_pixel, set_install_status, setup, shown};

#[tokio::test]
async fn a_host_of_another_account_is_refused() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let bob = app.account("bob@example.com").await;
    let operator = app.unlimited_account("operator@example.com").await;
    app.pixel(&ann.key, "shop.example").await;
    for host in ["shop.example", "https://www.shop.example", "SHOP.example."] {
        create_host(&app, &bob.key, host).await.refused(409, "domain already registered");
        create_host(&app, &operator.key, host).await.refused(409, "domain already registered");
    }
    // A subdomain is a host of its own.
    create_host(&app, &bob.key, "blog.shop.example").await.expect(201);
}

#[tokio::test]
async fn a_pixel_that_cannot_be_stored_is_said_to_be_not_created() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    sqlx::query("ALTER TABLE pixel_aliases ADD CONSTRAINT never CHECK (alias = 'x') NOT VALID")
        .execute(&app.pool)
        .await
        .unwrap();
    create_host(&app, &ann.key, "shop.example").await.refused(502, "pixel could not be created");
    assert_eq!(setup(&app, &ann.key).await["pixel_count"], 0);
}

#[tokio::test]
async fn a_fourth_pixel_is_refused_and_a_known_host_is_not() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    for host in ["a.example", "b.example", "c.example"] {
        create_host(&app, &ann.key, host).await.expect(201);
    }
    let fourth = create_host(&app, &ann.key, "d.example").await;
    fourth.refused(403, "pixel allowance reached");
    assert_eq!(fourth.json()["remaining"], 0);
    create_host(&app, &ann.key, "b.example").await.expect(201);
    let operator = app.unlimited_account("operator@example.com").await;
    for number in 0..5 {
        create_host(&app, &operator.key, &format!("o{number}.example")).await.expect(201);
    }
}

#[tokio::test]
async fn deleting_a_pixel_makes_room_for_another() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let first = app.pixel(&ann.key, "a.example").await;
    app.pixel(&ann.key, "b.example").await;
    app.pixel(&ann.key, "c.example").await;
    app.call(Method::DELETE, &format!("/v1/pixels/{first}"), &ann.key, Value::Null)
        .await
        .expect(204);
    create_host(&app, &ann.key, "d.example").await.expect(201);
    create_host(&app, &ann.key, "a.example").await.refused(403, "pixel allowance reached");
}

#[tokio::test]
async fn thirty_two_creations_at_once_never_pass_the_allowance() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let hosts = (0..32).map(|number| format!("s{number}.example")).collect::<Vec<_>>();
    let creations = hosts.iter().map(|host| create_host(&app, &ann.key, host));
    let answers = futures_util::future::join_all(creations).await;
    let (created, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 201);
    assert_eq!(created.len(), 3);
    refused.iter().for_each(|answer| answer.refused(403, "pixel allowance reached"));
    assert_eq!(setup(&app, &ann.key).await["pixel_count"], 3);
}

#[tokio::test]
async fn one_host_posted_many_times_at_once_is_one_pixel() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let creations = (0..16).map(|_| create_host(&app, &ann.key, "shop.example"));
    let answers = futures_util::future::join_all(creations).await;
    let first = answers[0].expect(201);
    answers.iter().for_each(|answer| assert_eq!(answer.expect(201), first));
    assert_eq!(setup(&app, &ann.key).await["pixel_count"], 1);
}

#[tokio::test]
async fn one_host_posted_by_many_accounts_at_once_belongs_to_one() {
    let app = App::spawn().await;
    let mut keys = Vec::new();
    for number in 0..8 {
        keys.push(app.account(&format!("a{number}@example.com")).await.key);
    }
    let creations = keys.iter().map(|key| create_host(&app, key, "shop.example"));
    let answers = futures_util::future::join_all(creations).await;
    let (created, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 201);
    assert_eq!(created.len(), 1);
    refused.iter().for_each(|answer| answer.refused(409, "domain already registered"));
}

#[tokio::test]
async fn a_demo_pixel_gives_way_to_a_real_account() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let demo = demo_pixel(&app, "shop.example").await;
    set_install_status(&app, &demo, "installed").await;
    let tag_pixel = format!("/external_api/install-pixel/tag-pixel?pid={demo}&host=shop.example");
    assert_eq!(app.get(&tag_pixel).await.expect(200)["pixel_id"], json!(demo));
    let pixel = create_host(&app, &ann.key, "shop.example").await.expect(201);
    assert_ne!(pixel["pixel_id"], json!(demo));
    assert_eq!(pixel["install_status"], "not_checked");
    // Visitors of the demo notice at once.
    assert_eq!(app.get(&tag_pixel).await.expect(200)["pixel_id"], Value::Null);
}

#[tokio::test]
async fn a_demo_pixel_gives_way_to_an_operators_account_too() {
    let app = App::spawn().await;
    let operator = app.unlimited_account("operator@example.com").await;
    demo_pixel(&app, "shop.example").await;
    create_host(&app, &operator.key, "shop.example").await.expect(201);
}

#[tokio::test]
async fn a_demo_pixel_stays_where_the_real_account_has_no_room() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    for host in ["a.example", "b.example", "c.example"] {
        app.pixel(&ann.key, host).await;
    }
    let demo = demo_pixel(&app, "shop.example").await;
    create_host(&app, &ann.key, "shop.example").await.refused(403, "pixel allowance reached");
    let operator = app.unlimited_account("operator@example.com").await;
    assert_eq!(shown(&app, &operator.key, &demo).await["domain"], "shop.example");
}

#[tokio::test]
async fn the_services_own_host_is_nobodys_but_the_demos() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let operator = app.unlimited_account("operator@example.com").await;
    let pixel = app.pixel(&ann.key, "ann.example").await;
    let node = app.another_node(&[("BASE_URL", "https://consent.example.com")]).await;
    let preview = node.get("/demo/preview").await;
    for host in ["consent.example.com", "www.consent.example.com", "CONSENT.example.com."] {
        for key in [&ann.key, &operator.key] {
            create_host(&node, key, host).await.refused(409, "domain already registered");
        }
        let path = format!("/v1/pixels/{pixel}");
        let renamed = node.call(Method::PATCH, &path, &ann.key, json!({"domain": host})).await;
        renamed.refused(409, "domain already registered");
    }
    let after = node.get("/demo/preview").await;
    assert_eq!((after.status, after.header("location")), (303, preview.header("location")));
    // It stays reserved when the demo has no pixel there.
    sqlx::query("DELETE FROM pixels WHERE account_id = 'acc_demo'")
        .execute(&app.pool)
        .await
        .unwrap();
    create_host(&node, &ann.key, "consent.example.com")
        .await
        .refused(409, "domain already registered");
    // Hosts beside it, below it and above it are like all others.
    for host in ["consent2.example.com", "shop.consent.example.com"] {
        create_host(&node, &ann.key, host).await.expect(201);
    }
    create_host(&node, &operator.key, "example.com").await.expect(201);
}

#[tokio::test]
async fn on_a_loopback_name_the_own_host_can_be_tried_by_anybody() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    create_host(&app, &ann.key, "localhost").await.expect(201);
    let elsewhere = app.another_node(&[("BASE_URL", "http://assent.localhost:8000")]).await;
    create_host(&elsewhere, &ann.key, "assent.localhost").await.expect(201);
}

#[tokio::test]
async fn a_host_behind_many_www_is_the_host() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let bob = app.account("bob@example.com").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    for host in ["www.www.shop.example", "https://www.WWW.www.shop.example."] {
        create_host(&app, &bob.key, host).await.refused(409, "domain already registered");
        let again = create_host(&app, &ann.key, host).await.expect(201);
        assert_eq!((&again["pixel_id"], &again["domain"]), (&json!(pixel), &json!("shop.example")));
    }
}
