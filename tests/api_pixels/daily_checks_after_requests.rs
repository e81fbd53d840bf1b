//! Daily install checks of pixels that a person has checked in between.

use reqwest::Method;
use serde_json::{Value, json};

use super::scheduled_install_checks::{Looks, tag};
use crate::support::sites::https_site::Reply;
use crate::support::sites::install::check;

/// A person may check before the tag is on the new site, or while a site is away for a moment.
#[tokio::test]
async fn a_check_on_request_that_finds_nothing_leaves_the_daily_checks() {
    let hosts = ["moved.example", "new.example", "gone.example"];
    let looks = Looks::of(&hosts, &[]).await;
    let (key, app) = (&looks.ann.key, &looks.app);
    let moved = looks.installed("moved.example").await;
    let path = format!("/v1/pixels/{moved}/move");
    looks.site.answer("new.example/", Reply::status(503));
    app.call(Method::POST, &path, key, json!({"domain": "new.example"})).await.expect(201);
    let gone = looks.installed("gone.example").await;
    looks.shows("gone.example", "");
    check(app, key, &gone).await.expect(200);
    looks.site.answer("gone.example/", Reply::status(503));
    for pixel in [&moved, &gone] {
        let state = check(app, key, pixel).await.expect(200);
        assert_eq!(state["install_status"], "unreachable", "{state}");
    }
    looks.shows("new.example", "");
    let state = looks.day(&moved).await;
    assert_eq!(
        (&state["install_status"], &state["check_error"]),
        (&json!("not_installed"), &Value::Null)
    );
    looks.site.answer("new.example/", Reply::status(503));
    let state = looks.day(&moved).await;
    assert_eq!(state["install_status"], "unreachable");
    assert_eq!(state["check_error"], "the page answered with status 503");
    looks.shows("new.example", "");
    check(app, key, &moved).await.expect(200);
    looks.shows("new.example", &tag(app, &moved));
    looks.shows("gone.example", &tag(app, &gone));
    looks.day(&moved).await;
    looks.looked_at(key, &gone).await;
    for pixel in [&moved, &gone] {
        assert_eq!(looks.state(pixel).await["install_status"], "installed");
    }
}

/// A pixel that was never found on its new site is checked for 30 days, whatever a person requests.
#[tokio::test]
async fn daily_checks_of_a_moved_pixel_end_after_30_days() {
    let looks = Looks::of(&["shop.example", "new.example"], &[]).await;
    let pixel = looks.installed("shop.example").await;
    let path = format!("/v1/pixels/{pixel}/move");
    looks.shows("new.example", "");
    let body = json!({"domain": "new.example"});
    looks.app.call(Method::POST, &path, &looks.ann.key, body).await.expect(201);
    check(&looks.app, &looks.ann.key, &pixel).await.expect(200);
    let next = "SELECT next_look_at IS NOT NULL FROM install_looks WHERE pixel_id = $1";
    let is_planned = async || {
        let planned = sqlx::query_scalar::<_, bool>(next).bind(&pixel);
        planned.fetch_one(&looks.app.pool).await.unwrap()
    };
    let almost = "UPDATE install_looks SET missed_days = 28 WHERE pixel_id = $1";
    sqlx::query(almost).bind(&pixel).execute(&looks.app.pool).await.unwrap();
    looks.day(&pixel).await;
    assert!(is_planned().await);
    looks.day(&pixel).await;
    assert!(!is_planned().await);
}
