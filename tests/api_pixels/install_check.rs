//! `POST /v1/pixels/{pixel_id}/check` against real sites over TLS.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::App;
use crate::support::setup::{aliases, field_names, set_install_status, shown};
use crate::support::sites::https_site::Reply;
use crate::support::sites::install::{Scene, check, installed, not_installed, unreachable};
use crate::support::waiting::wait_until;

#[tokio::test]
async fn a_page_with_the_id_is_installed() {
    let scene = Scene::new().await;
    let checked = scene.check_home(Reply::page(scene.snippet_page())).await;
    installed(&checked);
    assert_eq!(
        field_names(&checked),
        [
            "check_error",
            "checked_at",
            "domain",
            "findings",
            "install_status",
            "installed_since",
            "missing_since",
            "pixel_id"
        ]
    );
    assert_eq!(checked["pixel_id"], json!(scene.pixel));
    assert_eq!(checked["domain"], "shop.example");
    assert_eq!(checked["checked_at"], "2026-03-10T12:00:00.000Z");
    let shown = shown(&scene.app, &scene.ann.key, &scene.pixel).await;
    assert_eq!(shown["install_status"], "installed");
    assert_eq!(shown["checked_at"], "2026-03-10T12:00:00.000Z");
}

#[tokio::test]
async fn the_site_is_asked_once_for_its_home_page_like_a_browser_would() {
    let scene = Scene::new().await;
    scene.check_home(Reply::page("")).await;
    let seen = scene.site.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].page, "shop.example/");
    let head = seen[0].head.to_lowercase();
    assert!(head.starts_with("get / http/1.1"), "{head}");
    assert!(head.contains("accept-encoding: identity"), "{head}");
    assert!(head.contains("user-agent: mozilla/5.0"), "{head}");
    for private in ["cookie:", "authorization:", "referer:"] {
        assert!(!head.contains(private), "{head}");
    }
}

#[tokio::test]
async fn a_page_without_the_id_is_not_installed() {
    let scene = Scene::new().await;
    not_installed(&scene.check_home(Reply::page("<html>hello</html>")).await);
    not_installed(&scene.check_home(Reply::page("")).await);
}

#[tokio::test]
async fn a_pixel_that_has_left_its_page_is_not_installed_any_more() {
    let scene = Scene::new().await;
    installed(&scene.check_home(Reply::page(scene.snippet_page())).await);
    scene.app.clock.advance(chrono::Duration::hours(1));
    let checked = scene.check_home(Reply::page("gone")).await;
    not_installed(&checked);
    assert_eq!(checked["checked_at"], "2026-03-10T13:00:00.000Z");
}

#[tokio::test]
async fn an_id_inside_a_longer_one_does_not_count() {
    let scene = Scene::new().await;
    let id = &scene.pixel;
    not_installed(&scene.check_home(Reply::page(format!("{id}x x{id} {id}-1 _{id}"))).await);
    not_installed(
        &scene.check_home(Reply::page(id.to_lowercase() + " " + &id.to_uppercase())).await,
    );
    installed(&scene.check_home(Reply::page(format!("{id}x '{id}'"))).await);
}

#[tokio::test]
async fn another_pixels_id_does_not_count() {
    let scene = Scene::new().await;
    let other = scene.app.pixel(&scene.ann.key, "other.example").await;
    not_installed(&scene.check_home(Reply::page(other)).await);
}

#[tokio::test]
async fn a_script_address_with_an_alias_counts() {
    let scene = Scene::new().await;
    let alias = aliases(&scene.app, &scene.pixel).await.remove(0);
    let tag = format!("<script async src=\"{}/px/{alias}.js\"></script>", scene.app.base);
    installed(&scene.check_home(Reply::page(tag)).await);
    let script = format!("<script src='https://tags.example/pixels/{alias}/p.js'></script>");
    installed(&scene.check_home(Reply::page(script)).await);
    not_installed(&scene.check_home(Reply::page(alias)).await);
}

#[tokio::test]
async fn the_id_is_found_beside_bytes_that_are_no_text() {
    let scene = Scene::new().await;
    let body = [&[0xff, 0xfe, 0][..], scene.pixel.as_bytes(), &[0, 0xc3]].concat();
    installed(&scene.check_home(Reply::Whole(200, String::new(), body)).await);
}

#[tokio::test]
async fn a_redirect_to_www_is_followed() {
    let scene = Scene::new().await;
    scene.site.answer("www.shop.example/", Reply::page(scene.snippet_page()));
    installed(&scene.check_home(Reply::redirect("https://www.shop.example/")).await);
}

#[tokio::test]
async fn a_redirect_on_the_same_host_is_followed() {
    let scene = Scene::new().await;
    scene.site.answer("shop.example/en?a=1", Reply::page(scene.snippet_page()));
    for status in [301, 302, 303, 307, 308] {
        let location = "Location: /en?a=1\r\n".to_owned();
        installed(&scene.check_home(Reply::Whole(status, location, Vec::new())).await);
        set_install_status(&scene.app, &scene.pixel, "not_checked").await;
    }
}

#[tokio::test]
async fn a_redirect_elsewhere_is_not_followed() {
    let scene = Scene::new().await;
    scene.site.answer("www.shop.example/", Reply::page(scene.snippet_page()));
    for elsewhere in [
        "https://other.example/",
        "https://shop.example.other.example/",
        "https://blog.shop.example/",
        "http://shop.example/",
        "http://www.shop.example/",
        "https://shop.example:8443/",
        "https://user:password@shop.example/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "//169.254.169.254/latest/meta-data",
        "file:///etc/passwd",
    ] {
        unreachable(
            &scene.check_home(Reply::redirect(elsewhere)).await,
            "the page redirects elsewhere",
        );
    }
    assert!(scene.site.seen().iter().all(|seen| seen.page == "shop.example/"));
}

#[tokio::test]
async fn a_second_redirect_is_not_followed() {
    let scene = Scene::new().await;
    scene.site.answer("www.shop.example/", Reply::redirect("https://shop.example/home"));
    scene.site.answer("shop.example/home", Reply::page(scene.snippet_page()));
    let checked = scene.check_home(Reply::redirect("https://www.shop.example/")).await;
    unreachable(&checked, "the page redirects more than once");
    assert_eq!(scene.site.seen().len(), 2);
}

#[tokio::test]
async fn a_page_that_redirects_to_itself_ends_too() {
    let scene = Scene::new().await;
    let checked = scene.check_home(Reply::redirect("https://shop.example/")).await;
    unreachable(&checked, "the page redirects more than once");
}

#[tokio::test]
async fn a_redirect_without_a_target_is_a_status_like_any_other() {
    let scene = Scene::new().await;
    for lines in ["", "Location: https://[\r\n"] {
        let checked = scene.check_home(Reply::Whole(302, lines.to_owned(), Vec::new())).await;
        unreachable(&checked, "the page answered with status 302");
    }
}

#[tokio::test]
async fn every_status_but_200_is_named() {
    let scene = Scene::new().await;
    for status in [201, 204, 304, 401, 403, 404, 500, 503] {
        let page = scene.snippet_page().into_bytes();
        let body = if matches!(status, 204 | 304) { Vec::new() } else { page };
        let checked = scene.check_home(Reply::Whole(status, String::new(), body)).await;
        unreachable(&checked, &format!("the page answered with status {status}"));
    }
}

#[tokio::test]
async fn the_status_of_the_page_behind_a_redirect_counts() {
    let scene = Scene::new().await;
    let checked = scene.check_home(Reply::redirect("https://www.shop.example/")).await;
    unreachable(&checked, "the page answered with status 404");
}

#[tokio::test]
async fn a_failed_check_leaves_an_installed_pixel_installed() {
    let scene = Scene::new().await;
    installed(&scene.check_home(Reply::page(scene.snippet_page())).await);
    scene.app.clock.advance(chrono::Duration::minutes(5));
    let checked = scene.check_home(Reply::status(503)).await;
    assert_eq!(checked["install_status"], "installed");
    assert_eq!(checked["check_error"], "the page answered with status 503");
    assert_eq!(checked["checked_at"], "2026-03-10T12:05:00.000Z");
    installed(&scene.check_home(Reply::page(scene.snippet_page())).await);
}

#[tokio::test]
async fn a_check_moves_every_status_but_installed_to_unreachable() {
    let scene = Scene::new().await;
    for before in ["not_checked", "not_installed", "unreachable"] {
        set_install_status(&scene.app, &scene.pixel, before).await;
        unreachable(
            &scene.check_home(Reply::status(500)).await,
            "the page answered with status 500",
        );
    }
}

#[tokio::test]
async fn without_a_checker_a_check_is_refused() {
    let app = App::spawn_with(&[("INSTALL_CHECK", "off")]).await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    check(&app, &ann.key, &pixel).await.refused(500, "install checker is not configured");
    assert_eq!(shown(&app, &ann.key, &pixel).await["install_status"], "not_checked");
    check(&app, &ann.key, "unknown").await.refused(404, "pixel not found");
}

#[tokio::test]
async fn only_the_owner_and_an_unlimited_key_may_check_a_pixel() {
    let scene = Scene::new().await;
    let bob = scene.app.account("bob@example.com").await;
    check(&scene.app, &bob.key, &scene.pixel).await.refused(404, "pixel not found");
    assert!(scene.site.seen().is_empty());
    let operator = scene.app.unlimited_account("operator@example.com").await;
    scene.site.answer("shop.example/", Reply::page(scene.snippet_page()));
    installed(&check(&scene.app, &operator.key, &scene.pixel).await.expect(200));
}

#[tokio::test]
async fn an_alias_is_not_accepted_instead_of_the_id() {
    let scene = Scene::new().await;
    let alias = aliases(&scene.app, &scene.pixel).await.remove(0);
    check(&scene.app, &scene.ann.key, &alias).await.refused(404, "pixel not found");
}

#[tokio::test]
async fn a_pixel_renamed_during_its_check_stays_unchecked_on_its_new_host() {
    let scene = Scene::new().await;
    let page = scene.snippet_page();
    scene.site.answer("shop.example/", Reply::late(Duration::from_secs(2), Reply::page(page)));
    let rename = async {
        wait_until("the page is asked for", async || !scene.site.seen().is_empty()).await;
        let path = format!("/v1/pixels/{}", scene.pixel);
        let body = json!({"domain": "new.example"});
        scene.app.call(Method::PATCH, &path, &scene.ann.key, body).await.expect(200)
    };
    let (checked, _) = tokio::join!(scene.check(), rename);
    assert_eq!(checked["domain"], "new.example");
    assert_eq!(checked["install_status"], "not_checked");
    assert_eq!(checked["checked_at"], Value::Null);
}

#[tokio::test]
async fn a_pixel_deleted_during_its_check_is_not_found() {
    let scene = Scene::new().await;
    let page = scene.snippet_page();
    scene.site.answer("shop.example/", Reply::late(Duration::from_secs(2), Reply::page(page)));
    let delete = async {
        wait_until("the page is asked for", async || !scene.site.seen().is_empty()).await;
        let path = format!("/v1/pixels/{}", scene.pixel);
        scene.app.call(Method::DELETE, &path, &scene.ann.key, Value::Null).await.expect(204)
    };
    let (checked, _) = tokio::join!(check(&scene.app, &scene.ann.key, &scene.pixel), delete);
    checked.refused(404, "pixel not found");
}
