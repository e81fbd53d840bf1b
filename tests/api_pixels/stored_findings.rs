//! Findings that are stored with a pixel, and since when it is installed.

use reqwest::Method;
use serde_json::{Value, json};

use super::install_findings::{Asking, kinds};
use crate::support::setup::set_install_status;
use crate::support::sites::https_site::Reply;
use crate::support::sites::install::Scene;
use crate::support::tools::call;

#[tokio::test]
async fn findings_of_the_last_check_are_stored_and_returned_by_every_transport() {
    let asking = Asking::new().await;
    let Scene { app, ann, pixel, .. } = &asking.scene;
    let path = format!("/v1/pixels/{pixel}/check");
    let get = async || app.call(Method::GET, &path, &ann.key, Value::Null).await.expect(200);
    let before = get().await;
    assert_eq!(before["install_status"], "not_checked");
    assert_eq!([&before["findings"], &before["checked_at"]], [&json!([]), &Value::Null]);
    let checked = asking.check(&asking.tag.repeat(2)).await;
    assert_eq!(kinds(&checked), ["tag_twice"]);
    app.clock.advance(chrono::Duration::hours(2));
    assert_eq!(get().await, checked, "it is as the check answered it");
    let arguments = json!({"api_key": ann.key, "pixel_id": pixel});
    for tool in ["show_install", "check_install"] {
        let answer = call(app, tool, arguments.clone()).await;
        let content = &answer["structuredContent"];
        assert_eq!(content["findings"], checked["findings"], "{answer}");
    }
    assert_eq!(asking.scene.site.seen().len(), 2, "showing looks at nothing");
    asking.check(&asking.tag).await;
    assert_eq!(get().await["findings"], json!([]));
    let bob = app.account("bob@example.com").await;
    app.call(Method::GET, &path, &bob.key, Value::Null).await.refused(404, "pixel not found");
}

#[tokio::test]
async fn findings_of_another_host_or_an_earlier_check_are_not_shown() {
    let asking = Asking::new().await;
    let Scene { app, ann, pixel, .. } = &asking.scene;
    asking.check("").await;
    let path = format!("/v1/pixels/{pixel}/check");
    let found = async || {
        let answer = app.call(Method::GET, &path, &ann.key, Value::Null).await;
        kinds(&answer.expect(200))
    };
    assert_eq!(found().await, ["no_tag"]);
    // A version without findings has looked since.
    sqlx::query(
        "UPDATE pixels SET checked_at = checked_at + interval '1 hour' WHERE pixel_id = $1",
    )
    .bind(pixel)
    .execute(&app.pool)
    .await
    .unwrap();
    assert_eq!(found().await, [""; 0]);
    asking.check("").await;
    let rename = format!("/v1/pixels/{pixel}");
    app.call(Method::PATCH, &rename, &ann.key, json!({"domain": "www.shop.example"})).await;
    app.call(Method::PATCH, &rename, &ann.key, json!({"domain": "new.example"})).await.expect(200);
    assert_eq!(found().await, [""; 0]);
}

#[tokio::test]
async fn an_installation_lasts_until_a_check_does_not_find_the_tag() {
    let asking = Asking::new().await;
    let clock = &asking.scene.app.clock;
    let since = async |head: &str| asking.check(head).await["installed_since"].clone();
    assert_eq!(since(&asking.tag).await, "2026-03-10T12:00:00.000Z");
    clock.advance(chrono::Duration::days(3));
    assert_eq!(since(&asking.tag).await, "2026-03-10T12:00:00.000Z");
    let failed = asking.scene.check_home(Reply::status(503)).await;
    assert_eq!(failed["installed_since"], "2026-03-10T12:00:00.000Z");
    assert_eq!(since("").await, Value::Null);
    clock.advance(chrono::Duration::days(1));
    assert_eq!(since(&asking.tag).await, "2026-03-14T12:00:00.000Z");
}

#[tokio::test]
async fn an_installation_from_before_the_upgrade_is_as_old_as_its_last_check() {
    let asking = Asking::new().await;
    let Scene { app, pixel, .. } = &asking.scene;
    asking.check(&asking.tag).await;
    sqlx::query("DELETE FROM install_looks").execute(&app.pool).await.unwrap();
    set_install_status(app, pixel, "installed").await;
    app.clock.advance(chrono::Duration::days(2));
    let checked = asking.check(&asking.tag).await;
    assert_eq!(checked["installed_since"], "2026-03-10T12:00:00.000Z");
}
