//! Requests of a pixel's owner about consent.

use reqwest::Method;
use serde_json::{Value, json};

use super::server::Settings;
use super::story::Site;
use super::{Account, Answer, App};

/// An account with a site that asks: its key and the site.
pub async fn shop(app: &App) -> (String, Site) {
    let key = app.account("shop@example.com").await.key;
    let site = app.consent_site(&key, "shop.example").await;
    (key, site)
}

pub async fn app_with_site() -> (App, Account, Site) {
    app_with_site_and(&[]).await
}

/// As [`app_with_site`], with some settings of the test's own.
pub async fn app_with_site_and(settings: Settings<'_>) -> (App, Account, Site) {
    let app = App::spawn_with(settings).await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    (app, ann, site)
}

impl Site {
    pub fn path(&self, rest: &str) -> String {
        format!("/v1/pixels/{}/consent{rest}", self.pixel_id)
    }
}

impl App {
    pub async fn read(&self, key: &str, path: &str) -> Answer {
        self.call(Method::GET, path, key, Value::Null).await
    }

    pub async fn turn_off(&self, key: &str, site: &Site) -> Answer {
        self.call(Method::DELETE, &site.path(""), key, Value::Null).await
    }

    pub async fn reconfigured(&self, key: &str, site: &Site, controller: &str) -> Value {
        let body = json!({"controller_name": controller, "purposes": ["resolution", "analytics"]});
        self.call(Method::POST, &site.path(""), key, body).await.expect(200)
    }

    /// The lines of an export that succeeds.
    pub async fn export(&self, key: &str, site: &Site) -> Vec<Value> {
        let answer = self.read(key, &site.path("/export")).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(answer.text.is_empty() || answer.text.ends_with('\n'));
        answer.text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }
}
