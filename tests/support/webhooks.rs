//! Servers of customers that receive events.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use assent::clock::Clock;
use assent::infra::Infra;
use reqwest::Method;
use serde_json::{Value, json};

use super::postgres::database::TestDatabase;
use super::server::{Settings, start_of_time};
use super::sites::https_site::{HttpsSite, Reply, Seen, ca_file};
use super::story::Site;
use super::waiting::wait_until;
use super::{Account, App, MailServer, fresh_address};

/// Hosts at which the servers of these tests are found.
pub const HOSTS: [&str; 3] = ["hooks.example", "slow.example", "other.example"];

/// A service, the server of a customer, and a shop whose visitors choose.
pub struct Hooks {
    pub app: App,
    pub infra: Infra,
    pub site: Arc<HttpsSite>,
    pub ann: Account,
    pub shop: Site,
}

impl Hooks {
    pub async fn start() -> Self {
        Self::with_clock(Clock::manual(start_of_time())).await
    }

    pub async fn with_clock(clock: Clock) -> Self {
        Self::on(Arc::new(TestDatabase::create().await), clock).await
    }

    /// With some settings of the test's own.
    pub async fn start_with(settings: Settings<'_>) -> Self {
        let database = Arc::new(TestDatabase::create().await);
        Self::on_with(database, Clock::manual(start_of_time()), settings).await
    }

    /// On a database that the test has made itself.
    pub async fn on(database: Arc<TestDatabase>, clock: Clock) -> Self {
        Self::on_with(database, clock, &[]).await
    }

    async fn on_with(database: Arc<TestDatabase>, clock: Clock, settings: Settings<'_>) -> Self {
        let site = Arc::new(HttpsSite::start(&HOSTS).await);
        let (app, infra) = node(database, clock, &site, settings).await;
        let ann = app.mailed_account(&fresh_address("hooks")).await;
        let shop = app.consent_site(&ann.key, "shop.example").await;
        Self { app, infra, site, ann, shop }
    }

    /// Another node, with the same clock.
    pub async fn another_node(&self) -> App {
        node(Arc::clone(&self.app.database), self.app.clock.clone(), &self.site, &[]).await.0
    }

    pub async fn call(&self, method: Method, path: &str, body: Value) -> super::Answer {
        self.app.call(method, path, &self.ann.key, body).await
    }

    /// A webhook to a page such as `hooks.example/a`, which answers so.
    pub async fn webhook(&self, page: &str, reply: Reply) -> Value {
        self.site.answer(page, reply);
        let body = json!({"url": format!("https://{page}")});
        self.call(Method::POST, "/v1/webhooks", body).await.expect(201)
    }

    /// So many visitors say yes in the shop, one after the other.
    pub async fn happen(&self, count: usize) {
        choose(&self.app, &self.shop, count).await;
    }

    /// The events that a page was sent, in the order in which they came.
    pub fn sent(&self, page: &str) -> Vec<Seen> {
        self.site.seen().into_iter().filter(|seen| seen.page == page).collect()
    }

    /// The numbers of the visitors that a page was told of.
    pub fn numbers(&self, page: &str) -> Vec<i64> {
        let number = |seen: Seen| {
            let body = serde_json::from_str::<Value>(&seen.body).expect("JSON");
            let visitor = body["data"]["receipt"]["visitor_id"].as_str().expect("a visitor");
            visitor.trim_start_matches("visitor-").parse().expect("a number")
        };
        self.sent(page).into_iter().map(number).collect()
    }

    pub async fn deliveries(&self, endpoint_id: &Value) -> Value {
        let path = format!("/v1/webhooks/{}/deliveries", endpoint_id.as_str().unwrap());
        self.call(Method::GET, &path, Value::Null).await.expect(200)
    }

    /// The account's only webhook.
    pub async fn only(&self) -> Value {
        self.call(Method::GET, "/v1/webhooks", Value::Null).await.expect(200)["webhooks"][0].clone()
    }

    /// Waits until a page was sent so much, and fails when it is sent more.
    pub async fn arrived(&self, page: &str, count: usize) {
        let found = async || self.sent(page).len() >= count;
        wait_until(&format!("{count} at {page}"), found).await;
        assert_eq!(self.sent(page).len(), count, "at {page}");
    }

    /// Waits until what was tried last for an endpoint was tried so often and has been noted.
    pub async fn tried(&self, endpoint_id: &Value, attempts: i64) {
        let found = async || {
            let list = self.deliveries(endpoint_id).await;
            list["deliveries"][0]["attempts"].as_i64() >= Some(attempts)
        };
        wait_until(&format!("{attempts} attempts"), found).await;
    }

    /// Waits until nothing waits for an endpoint.
    pub async fn settled(&self, endpoint_id: &Value) {
        wait_until("nothing waits", async || self.deliveries(endpoint_id).await["waiting"] == 0)
            .await;
    }
}

async fn node(
    database: Arc<TestDatabase>,
    clock: Clock,
    site: &HttpsSite,
    settings: Settings<'_>,
) -> (App, Infra) {
    let (resolve, mut infra) = (site.resolve(&HOSTS), None);
    let own = [
        ("WEBHOOK_RESOLVE", resolve.as_str()),
        ("WEBHOOK_CA_FILE", ca_file()),
        ("SMTP_URL", MailServer::shared().url.as_str()),
    ];
    let settings = [settings, &own].concat();
    let app = App::spawn_tuned(database, clock, &settings, |made| {
        made.webhook_post.total_timeout = Duration::from_secs(3);
        infra = Some(made.clone());
    })
    .await;
    (app, infra.expect("it was tuned"))
}

/// So many visitors say yes, one after the other.
pub async fn choose(app: &App, shop: &Site, count: usize) {
    for number in 0..count {
        app.recorded(&shop.acceptance(&format!("visitor-{number}"))).await;
    }
}

/// Whether the official libraries take a message: that of Python and that of JavaScript, which agree.
pub fn verifies(secret: &Value, seen: &Seen) -> bool {
    let in_python = "import sys, json\nfrom standardwebhooks.webhooks import Webhook\n\
        secret, headers, body = sys.argv[1:]\n\
        Webhook(secret).verify(body, json.loads(headers))";
    let in_javascript = "import { Webhook } from 'standardwebhooks';\n\
        const [secret, headers, body] = process.argv.slice(1);\n\
        new Webhook(secret).verify(body, JSON.parse(headers));";
    let names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    let headers = names.map(|name| (name.to_owned(), json!(seen.header(name))));
    let headers = Value::Object(headers.into_iter().collect()).to_string();
    let python = std::env::var("TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let message = [secret.as_str().unwrap(), &headers, &seen.body];
    let python = takes(Command::new(python).args(["-c", in_python]).args(message));
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients");
    let mut node = Command::new("node");
    node.current_dir(folder).args(["--input-type=module", "-e", in_javascript]).args(message);
    assert_eq!(takes(&mut node), python, "{seen:?}");
    python
}

fn takes(command: &mut Command) -> bool {
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() || said.contains("VerificationError"), "{said}");
    output.status.success()
}
