//! Install checks of a site that the test runs.

use reqwest::Method;
use serde_json::Value;

use super::https_site::{HttpsSite, Reply, ca_file};
use crate::support::{Account, Answer, App};

const HOSTS: [&str; 2] = ["shop.example", "www.shop.example"];

/// A service that finds `shop.example` on a site of the test, and a pixel for it.
pub struct Scene {
    pub app: App,
    pub site: HttpsSite,
    pub ann: Account,
    pub pixel: String,
}

impl Scene {
    pub async fn new() -> Self {
        let site = HttpsSite::start(&HOSTS).await;
        let resolve = site.resolve(&HOSTS);
        let settings =
            [("INSTALL_CHECK_RESOLVE", resolve.as_str()), ("INSTALL_CHECK_CA_FILE", ca_file())];
        let app = App::spawn_with(&settings).await;
        let ann = app.account("ann@example.com").await;
        let pixel = app.pixel(&ann.key, "shop.example").await;
        Self { app, site, ann, pixel }
    }

    pub async fn check(&self) -> Value {
        check(&self.app, &self.ann.key, &self.pixel).await.expect(200)
    }

    /// The page at `https://shop.example/` answers so, then the pixel is checked.
    pub async fn check_home(&self, reply: Reply) -> Value {
        self.site.answer("shop.example/", reply);
        self.check().await
    }

    pub fn snippet_page(&self) -> String {
        format!("<html><head><script data-pixel=\"{}\"></script></head>", self.pixel)
    }
}

pub async fn check(app: &App, key: &str, pixel: &str) -> Answer {
    app.call(Method::POST, &format!("/v1/pixels/{pixel}/check"), key, Value::Null).await
}

#[track_caller]
pub fn unreachable(checked: &Value, why: &str) {
    assert_eq!(checked["install_status"], "unreachable", "{checked}");
    assert_eq!(checked["check_error"], why, "{checked}");
}

#[track_caller]
pub fn installed(checked: &Value) {
    assert_eq!(checked["install_status"], "installed", "{checked}");
    assert_eq!(checked["check_error"], Value::Null, "{checked}");
}

#[track_caller]
pub fn not_installed(checked: &Value) {
    assert_eq!(checked["install_status"], "not_installed", "{checked}");
    assert_eq!(checked["check_error"], Value::Null, "{checked}");
}
