//! `PATCH` and `DELETE` of a pixel, and `assent release-host`.

use std::process::{Command, Output};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::ConnectOptions;

use crate::support::setup::{aliases, demo_pixel, set_install_status, shown};
use crate::support::{Account, Answer, App};

async fn rename(app: &App, key: &str, pixel: &str, domain: &str) -> Answer {
    let path = format!("/v1/pixels/{pixel}");
    app.call(Method::PATCH, &path, key, json!({"domain": domain})).await
}

async fn delete(app: &App, key: &str, pixel: &str) -> Answer {
    app.call(Method::DELETE, &format!("/v1/pixels/{pixel}"), key, Value::Null).await
}

async fn create(app: &App, key: &str, domain: &str) -> Answer {
    app.call(Method::POST, "/v1/pixels", key, json!({"domain": domain})).await
}

/// A service, an account and its pixel for `shop.example`.
async fn scene() -> (App, Account, String) {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    (app, ann, pixel)
}

#[tokio::test]
async fn a_renamed_pixel_keeps_its_id_and_is_unchecked() {
    let (app, ann, pixel) = scene().await;
    sqlx::query(
        "UPDATE pixels SET install_status = 'unreachable', check_error = 'x', checked_at = $1",
    )
    .bind(app.clock.now())
    .execute(&app.pool)
    .await
    .unwrap();
    let before = shown(&app, &ann.key, &pixel).await;
    assert_ne!(before["checked_at"], Value::Null);
    let renamed = rename(&app, &ann.key, &pixel, "https://www.New.example").await.expect(200);
    assert_eq!(renamed["pixel_id"], json!(pixel));
    assert_eq!(renamed["domain"], "new.example");
    assert_eq!(renamed["install_status"], "not_checked");
    assert_eq!(renamed["checked_at"], Value::Null);
    assert_eq!(renamed["check_error"], Value::Null);
    assert_eq!(renamed["snippet"], before["snippet"]);
    assert_eq!(shown(&app, &ann.key, &pixel).await, renamed);
}

#[tokio::test]
async fn a_rename_to_the_present_host_changes_nothing() {
    let (app, ann, pixel) = scene().await;
    set_install_status(&app, &pixel, "unreachable").await;
    let before = shown(&app, &ann.key, &pixel).await;
    for same in ["shop.example", "WWW.shop.example."] {
        assert_eq!(rename(&app, &ann.key, &pixel, same).await.expect(200), before);
    }
}

#[tokio::test]
async fn a_rename_obeys_the_rules_of_hosts() {
    let (app, ann, pixel) = scene().await;
    let path = format!("/v1/pixels/{pixel}");
    for body in [json!({}), json!({"domain": null}), json!({"domain": " "})] {
        app.call(Method::PATCH, &path, &ann.key, body).await.refused(400, "domain is required");
    }
    for page in ["https://new.example/", "http://new.example", "new.example?a"] {
        let refused = rename(&app, &ann.key, &pixel, page).await;
        refused.refused(400, "domain must be a host, not a page");
    }
    for host in ["new.example:443", "10.0.0.1", "co.uk", "intranet", "a b.example", "a@b.example"] {
        rename(&app, &ann.key, &pixel, host).await.refused(400, "domain must be a host");
    }
    rename(&app, &ann.key, &pixel, "localhost").await.expect(200);
}

#[tokio::test]
async fn an_installed_pixel_cannot_be_renamed() {
    let (app, ann, pixel) = scene().await;
    set_install_status(&app, &pixel, "installed").await;
    for host in ["new.example", "shop.example"] {
        let refused = rename(&app, &ann.key, &pixel, host).await;
        refused.refused(409, "installed pixel cannot be renamed");
    }
    let operator = app.unlimited_account("operator@example.com").await;
    let refused = rename(&app, &operator.key, &pixel, "new.example").await;
    refused.refused(409, "installed pixel cannot be renamed");
    assert_eq!(shown(&app, &ann.key, &pixel).await["install_status"], "installed");
}

#[tokio::test]
async fn every_other_status_may_be_renamed_and_deleted() {
    let (app, ann, _) = scene().await;
    for (number, status) in ["not_checked", "not_installed", "unreachable"].iter().enumerate() {
        let pixel = app.pixel(&ann.key, &format!("s{number}.example")).await;
        set_install_status(&app, &pixel, status).await;
        rename(&app, &ann.key, &pixel, &format!("t{number}.example")).await.expect(200);
        set_install_status(&app, &pixel, status).await;
        delete(&app, &ann.key, &pixel).await.expect(204);
    }
}

#[tokio::test]
async fn a_rename_to_a_host_that_any_pixel_has_is_refused() {
    let (app, ann, pixel) = scene().await;
    let bob = app.account("bob@example.com").await;
    app.pixel(&ann.key, "own.example").await;
    app.pixel(&bob.key, "bob.example").await;
    for host in ["own.example", "bob.example", "https://www.bob.example"] {
        let refused = rename(&app, &ann.key, &pixel, host).await;
        refused.refused(409, "domain already registered");
    }
    assert_eq!(shown(&app, &ann.key, &pixel).await["domain"], "shop.example");
}

#[tokio::test]
async fn a_demo_pixel_gives_way_to_a_rename() {
    let (app, ann, pixel) = scene().await;
    let demo = demo_pixel(&app, "new.example").await;
    rename(&app, &ann.key, &pixel, "new.example").await.expect(200);
    let operator = app.unlimited_account("operator@example.com").await;
    let path = format!("/v1/pixels/{demo}");
    let gone = app.call(Method::GET, &path, &operator.key, Value::Null).await;
    gone.refused(404, "pixel not found");
}

#[tokio::test]
async fn hosts_pass_between_accounts_by_rename_and_delete() {
    let (app, ann, pixel) = scene().await;
    let bob = app.account("bob@example.com").await;
    create(&app, &bob.key, "shop.example").await.refused(409, "domain already registered");
    rename(&app, &ann.key, &pixel, "new.example").await.expect(200);
    let of_bob = create(&app, &bob.key, "shop.example").await.expect(201);
    let of_bob = of_bob["pixel_id"].as_str().unwrap();
    rename(&app, &ann.key, &pixel, "shop.example").await.refused(409, "domain already registered");
    delete(&app, &ann.key, of_bob).await.refused(404, "pixel not found");
    delete(&app, &bob.key, of_bob).await.expect(204);
    let back = rename(&app, &ann.key, &pixel, "shop.example").await.expect(200);
    assert_eq!(back["pixel_id"], json!(pixel));
    let of_bob = create(&app, &bob.key, "new.example").await.expect(201);
    assert_ne!(of_bob["pixel_id"], json!(pixel));
}

#[tokio::test]
async fn of_many_renames_to_one_host_at_once_one_succeeds() {
    let app = App::spawn().await;
    let mut pixels = Vec::new();
    for number in 0..8 {
        let account = app.account(&format!("a{number}@example.com")).await;
        let pixel = app.pixel(&account.key, &format!("s{number}.example")).await;
        pixels.push((account.key, pixel));
    }
    let renames = pixels.iter().map(|(key, pixel)| rename(&app, key, pixel, "one.example"));
    let answers = futures_util::future::join_all(renames).await;
    let (renamed, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 200);
    assert_eq!(renamed.len(), 1);
    refused.iter().for_each(|answer| answer.refused(409, "domain already registered"));
}

#[tokio::test]
async fn swapping_hosts_at_once_ends_in_answers() {
    let (app, ann, first) = scene().await;
    let second = app.pixel(&ann.key, "other.example").await;
    let (one, two) = tokio::join!(
        rename(&app, &ann.key, &first, "other.example"),
        rename(&app, &ann.key, &second, "shop.example"),
    );
    one.refused(409, "domain already registered");
    two.refused(409, "domain already registered");
}

#[tokio::test]
async fn visitors_notice_a_rename_at_once() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut site = app.consent_site(&ann.key, "shop.example").await;
    app.post("/v1/consent/record", site.acceptance("visitor-1")).await.expect(202);
    rename(&app, &ann.key, &site.pixel_id, "new.example").await.expect(200);
    let elsewhere = app.post("/v1/consent/record", site.acceptance("visitor-2")).await.expect(403);
    assert_eq!(elsewhere["reason"], "site_mismatch");
    assert_eq!(elsewhere["domain"], "new.example");
    site.domain = "new.example".to_owned();
    app.post("/v1/consent/record", site.acceptance("visitor-2")).await.expect(202);
    assert_eq!(app.get(&format!("/px/{}.js", site.pixel_id)).await.status, 200);
}

#[tokio::test]
async fn a_deleted_pixel_is_gone_with_its_aliases() {
    let (app, ann, pixel) = scene().await;
    let alias = aliases(&app, &pixel).await.remove(0);
    let tag_pixel = |name: &str| {
        let path = format!("/external_api/install-pixel/tag-pixel?pid={name}&host=shop.example");
        let app = &app;
        async move { app.get(&path).await.expect(200)["pixel_id"].clone() }
    };
    assert_eq!(tag_pixel(&alias).await, json!(pixel));
    let deleted = delete(&app, &ann.key, &pixel).await;
    assert_eq!((deleted.status, deleted.text.as_str()), (204, ""));
    assert_eq!(tag_pixel(&alias).await, Value::Null);
    assert_eq!(tag_pixel(&pixel).await, Value::Null);
    assert!(aliases(&app, &pixel).await.is_empty());
    delete(&app, &ann.key, &pixel).await.refused(404, "pixel not found");
    rename(&app, &ann.key, &pixel, "new.example").await.refused(404, "pixel not found");
    let list = app.call(Method::GET, "/v1/pixels", &ann.key, Value::Null).await.expect(200);
    assert_eq!(list["pixels"], json!([]));
}

#[tokio::test]
async fn an_installed_pixel_cannot_be_deleted() {
    let (app, ann, pixel) = scene().await;
    set_install_status(&app, &pixel, "installed").await;
    delete(&app, &ann.key, &pixel).await.refused(409, "installed pixel cannot be deleted");
    assert_eq!(shown(&app, &ann.key, &pixel).await["domain"], "shop.example");
}

#[tokio::test]
async fn a_body_is_not_needed_and_does_no_harm() {
    let (app, ann, pixel) = scene().await;
    let path = format!("/v1/pixels/{pixel}");
    let body = json!({"domain": 5, "method": "paste"});
    app.call(Method::DELETE, &path, &ann.key, body).await.expect(204);
}

#[tokio::test]
async fn the_receipts_of_a_deleted_pixel_stay_verifiable() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    let recorded = app.post("/v1/consent/record", site.acceptance("visitor-1")).await.expect(202);
    let tag = format!("/px/{}.js", site.pixel_id);
    assert_eq!(app.get(&tag).await.status, 200);
    delete(&app, &ann.key, &site.pixel_id).await.expect(204);
    app.get(&tag).await.refused(404, "consent tag not found");
    let path = format!("/v1/consent/receipt?pixel_id={}&visitor_id=visitor-1", site.pixel_id);
    let kept = app.get(&path).await.expect(200);
    assert_eq!((&kept["valid"], &kept["permitted"]), (&json!(true), &json!(false)));
    let signed = json!({"receipt": recorded["receipt"], "signature": recorded["signature"]});
    assert_eq!(app.post("/v1/consent/verify", signed).await.expect(200)["valid"], true);
    let kept =
        sqlx::query_scalar::<_, i64>("SELECT count(*) FROM consent_policies WHERE pixel_id = $1")
            .bind(&site.pixel_id)
            .fetch_one(&app.pool)
            .await
            .unwrap();
    assert_eq!(kept, 1);
}

#[tokio::test]
async fn a_host_created_again_starts_anew() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let bob = app.account("bob@example.com").await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    delete(&app, &ann.key, &site.pixel_id).await.expect(204);
    let again = create(&app, &bob.key, "shop.example").await.expect(201);
    assert_ne!(again["pixel_id"], json!(site.pixel_id));
    assert_eq!(again["consent_enabled"], false);
    // The old pixel's tag records nothing for the new owner.
    assert_eq!(app.post("/v1/consent/record", site.acceptance("visitor-1")).await.status, 204);
}

#[tokio::test]
async fn of_many_deletions_at_once_one_succeeds() {
    let (app, ann, pixel) = scene().await;
    let deletions = (0..8).map(|_| delete(&app, &ann.key, &pixel));
    let answers = futures_util::future::join_all(deletions).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 204).count(), 1);
    answers
        .iter()
        .filter(|answer| answer.status != 204)
        .for_each(|answer| answer.refused(404, "pixel not found"));
}

#[tokio::test]
async fn an_unlimited_key_renames_and_deletes_any_pixel() {
    let (app, ann, pixel) = scene().await;
    let operator = app.unlimited_account("operator@example.com").await;
    rename(&app, &operator.key, &pixel, "new.example").await.expect(200);
    assert_eq!(shown(&app, &ann.key, &pixel).await["domain"], "new.example");
    delete(&app, &operator.key, &pixel).await.expect(204);
}

/// Runs `assent release-host` on the test's database.
async fn release_host(app: &App, host: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assent"));
    command
        .args(["release-host", host])
        .env("DATABASE_URL", app.pool.connect_options().to_url_lossy().as_str())
        .env("RECEIPT_SECRETS", "receipt-secret-of-the-tests");
    tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap()
}

#[tokio::test]
async fn the_operator_frees_a_host_even_of_an_installed_pixel() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let bob = app.account("bob@example.com").await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    set_install_status(&app, &site.pixel_id, "installed").await;
    assert_eq!(app.get(&format!("/px/{}.js", site.pixel_id)).await.status, 200);
    let released = release_host(&app, "https://www.Shop.example").await;
    assert!(released.status.success(), "{released:?}");
    let said = String::from_utf8(released.stdout).unwrap();
    assert!(said.contains("shop.example") && said.contains(&site.pixel_id), "{said}");
    create(&app, &bob.key, "shop.example").await.expect(201);
    delete(&app, &ann.key, &site.pixel_id).await.refused(404, "pixel not found");
    // The running service hears of it.
    tokio::time::timeout(Duration::from_secs(3), async {
        while app.get(&format!("/px/{}.js", site.pixel_id)).await.status != 404 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
    .expect("the tag is gone");
}

#[tokio::test]
async fn a_host_that_no_pixel_has_cannot_be_freed() {
    let (app, ann, pixel) = scene().await;
    for (host, why) in [
        ("other.example", "no pixel has the host other.example"),
        ("a/b", "domain must be a host, not a page"),
    ] {
        let refused = release_host(&app, host).await;
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        assert!(refused.stdout.is_empty());
        assert!(String::from_utf8(refused.stderr).unwrap().contains(why));
    }
    shown(&app, &ann.key, &pixel).await;
}
