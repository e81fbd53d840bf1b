//! Schemathesis reads `/openapi.json` and holds the service to it: without credentials, with a
//! customer's key and signup token, and with an operator's key. It is told them as what the
//! description's security schemes ask for, so it also leaves them out and spoils them.
//!
//! Short and seeded here; `make fuzz` sets `FUZZ_EXAMPLES` (cases per operation and kind of data)
//! and has a new seed each time. What is exempt, and why, is in `tests/fuzz/schemathesis.toml`.

use std::process::Command;

use serde_json::json;

use crate::support::setup::set_install_status;
use crate::support::shop::WEBHOOK_SECRET;
use crate::support::sites::https_site::{HttpsSite, Reply, ca_file};
use crate::support::stripe::{Provider, SECRET_KEY};
use crate::support::{Account, App, MailServer};

const SEED: &str = "20261121";
const EXAMPLES: &str = "3";
/// The one site that an install check can reach.
const HOST: &str = "fuzzed.example";

/// The service with everything around it that it talks to.
struct World {
    app: App,
    _provider: Provider,
    _site: HttpsSite,
    /// With a pixel that is installed, so that it stays.
    customer: Account,
    pixel_id: String,
    operator: Account,
}

impl World {
    async fn new() -> Self {
        let provider = Provider::start().await;
        let site = HttpsSite::start(&[HOST]).await;
        let resolve = site.resolve(&[HOST]);
        let settings = [
            ("STRIPE_API_BASE", provider.base.as_str()),
            ("STRIPE_SECRET_KEY", SECRET_KEY),
            ("STRIPE_WEBHOOK_SECRET", WEBHOOK_SECRET),
            ("INSTALL_CHECK_RESOLVE", resolve.as_str()),
            ("INSTALL_CHECK_CA_FILE", ca_file()),
        ];
        // Without a mail server a signup answers with its link.
        let app = App::spawn_with(&settings).await;
        let customer = app.account("customer@example.com").await;
        let pixel = app.consent_site(&customer.key, HOST).await;
        let visit = app.post("/v1/consent/record", pixel.acceptance("visitor-1")).await;
        visit.expect(202);
        let people = json!({"contacts": [{"hem": "ab".repeat(32), "contact": {"a": 1}}]});
        let path = format!("/v1/pixels/{}/contacts", pixel.pixel_id);
        app.call(reqwest::Method::POST, &path, &customer.key, people).await.expect(200);
        site.answer(&format!("{HOST}/"), Reply::page(pixel.pixel_id.as_str()));
        set_install_status(&app, &pixel.pixel_id, "installed").await;
        let operator = app.unlimited_account("operator@example.com").await;
        let mail = [("SMTP_URL", MailServer::shared().url.as_str())];
        let app = app.another_node(&[settings.as_slice(), &mail].concat()).await;
        Self { app, _provider: provider, _site: site, pixel_id: pixel.pixel_id, customer, operator }
    }

    /// Runs Schemathesis with the values of some security schemes.
    async fn hold_to_its_description(&self, credentials: &str) {
        let folder = tempfile::tempdir().expect("a folder");
        let config = folder.path().join("schemathesis.toml");
        let rules = std::fs::read_to_string("tests/fuzz/schemathesis.toml").unwrap();
        std::fs::write(&config, rules + "\n" + credentials).unwrap();
        let python = std::env::var("TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let examples = std::env::var("FUZZ_EXAMPLES");
        let mut run = Command::new(python);
        run.args(["-c", "from schemathesis.cli import schemathesis; schemathesis()"])
            .arg("--config-file")
            .arg(&config)
            .arg("run")
            .arg(self.app.url("/openapi.json"))
            .args(["--max-examples", examples.as_deref().unwrap_or(EXAMPLES)])
            .env("FUZZ_CUSTOMER_KEY", &self.customer.key)
            .env("FUZZ_SIGNUP_TOKEN", &self.customer.signup_token)
            .env("FUZZ_OPERATOR_KEY", &self.operator.key)
            .env("FUZZ_PIXEL_ID", &self.pixel_id)
            .env("FUZZ_ACCOUNT_ID", &self.customer.account_id);
        if examples.is_err() {
            run.args(["--seed", SEED]);
        }
        let run = tokio::task::spawn_blocking(move || run.output()).await.expect("it ends");
        let run = run.expect("Python is there");
        let said = String::from_utf8_lossy(&run.stdout) + String::from_utf8_lossy(&run.stderr);
        eprintln!("{said}");
        assert!(run.status.success(), "the service and its description disagree, see above");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_get_what_is_described() {
    World::new().await.hold_to_its_description("").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn customers_get_what_is_described() {
    let key = r#"
        [auth.openapi.api_key]
        bearer = "${FUZZ_CUSTOMER_KEY}"
        [auth.openapi.signup_token]
        api_key = "${FUZZ_SIGNUP_TOKEN}"
    "#;
    World::new().await.hold_to_its_description(key).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_get_what_is_described() {
    let key = r#"
        [auth.openapi.x_api_key]
        api_key = "${FUZZ_OPERATOR_KEY}"
    "#;
    World::new().await.hold_to_its_description(key).await;
}
