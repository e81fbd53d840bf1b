//! A host, its DNS and its home page, and accounts that claim it.

use reqwest::Method;
use serde_json::{Value, json};

use super::dns::DnsServer;
use super::https_site::{HttpsSite, Reply, ca_file};
use crate::support::{Account, Answer, App, MailServer, fresh_address};

pub const HOST: &str = "shop.example";

/// A service that resolves `shop.example` and its DNS to servers of the test, and the pixel of a stranger
/// there.
pub struct Scene {
    pub app: App,
    pub site: HttpsSite,
    pub dns: DnsServer,
    pub owner: Account,
    pub stranger: Account,
    /// The pixel of the stranger.
    pub pixel: String,
}

impl Scene {
    pub async fn new() -> Self {
        Self::with(&[]).await
    }

    pub async fn with(settings: &[(&str, &str)]) -> Self {
        let site = HttpsSite::start(&[HOST]).await;
        let dns = DnsServer::start().await;
        let (resolve, server) = (site.resolve(&[HOST]), dns.address.to_string());
        let own = [
            ("INSTALL_CHECK_RESOLVE", resolve.as_str()),
            ("INSTALL_CHECK_CA_FILE", ca_file()),
            ("CLAIM_DNS", server.as_str()),
            ("SMTP_URL", &MailServer::shared().url),
        ];
        let app = App::spawn_with(&[settings, &own].concat()).await;
        let owner = app.mailed_account(&fresh_address("owner")).await;
        let stranger = app.mailed_account(&fresh_address("stranger")).await;
        let pixel = app.pixel(&stranger.key, HOST).await;
        Self { app, site, dns, owner, stranger, pixel }
    }

    pub async fn claim(&self, account: &Account) -> Answer {
        claim(&self.app, account, HOST).await
    }

    pub async fn opened(&self, account: &Account) -> Opened {
        Opened::of(&self.claim(account).await.expect(201))
    }

    pub async fn verify(&self, account: &Account, token: &str) -> Answer {
        verify(&self.app, account, token).await
    }

    /// The TXT record that proves a claim.
    pub fn publish(&self, token: &str) {
        self.dns.add("_assent.shop.example", token);
    }

    /// Removes all such records.
    pub fn unpublish(&self) {
        self.dns.clear("_assent.shop.example");
    }

    /// Replaces the site's home page.
    pub fn shows(&self, page: &str) {
        self.site.answer("shop.example/", Reply::page(page));
    }
}

pub struct Opened {
    pub token: String,
    pub pixel: String,
    pub snippet: String,
}

impl Opened {
    pub fn of(body: &Value) -> Self {
        let text = |name: &str| body[name].as_str().unwrap().to_owned();
        Self { token: text("token"), pixel: text("pixel_id"), snippet: text("snippet") }
    }
}

pub async fn claim(app: &App, account: &Account, host: &str) -> Answer {
    app.call(Method::POST, "/v1/pixels/claims", &account.key, json!({"domain": host})).await
}

pub async fn verify(app: &App, account: &Account, token: &str) -> Answer {
    let path = format!("/v1/pixels/claims/{token}/verify");
    app.call(Method::POST, &path, &account.key, Value::Null).await
}

/// A pixel's tag as written in a page.
pub fn tag(app: &App, pixel: &str) -> String {
    format!("<script async src=\"{}/px/{pixel}.js\"></script>", app.base)
}
