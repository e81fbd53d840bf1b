//! Signing secrets of webhooks survive the rotation of receipt secrets.

use std::sync::Arc;

use assent::clock::Clock;
use assent::webhooks::re_encryption::re_encrypt_all;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::query_scalar;

use crate::support::postgres::database::TestDatabase;
use crate::support::process::program;
use crate::support::server::infra;
use crate::support::sites::https_site::{HttpsSite, Reply, Seen, ca_file};
use crate::support::waiting::wait_until;
use crate::support::webhooks::{HOSTS, verifies};
use crate::support::{Account, App, Process};

const A: &str = "hooks.example/a";
const OLD: &str = "the-receipt-secret-of-last-year";
const NEW: &str = "the-receipt-secret-of-this-year";

struct Scene {
    database: Arc<TestDatabase>,
    site: HttpsSite,
}

impl Scene {
    /// A node with these receipt secrets. The official libraries look at the machine's clock.
    async fn node(&self, secrets: &str) -> App {
        let resolve = self.site.resolve(&HOSTS);
        let settings = [
            ("RECEIPT_SECRETS", secrets),
            ("WEBHOOK_RESOLVE", resolve.as_str()),
            ("WEBHOOK_CA_FILE", ca_file()),
        ];
        App::spawn_on(Arc::clone(&self.database), Clock::System, &settings).await
    }

    async fn sealed(&self) -> Vec<Vec<u8>> {
        let stored = "SELECT unnest(ARRAY[secret, previous_secret]) FROM webhook_endpoints";
        query_scalar(stored).fetch_all(&self.database.pool()).await.unwrap()
    }

    /// Stores a person, and returns the delivery of its event.
    async fn delivered(&self, app: &App, ann: &Account, pixel_id: &str, number: usize) -> Seen {
        let before = self.site.seen().len();
        app.store_people(&ann.key, pixel_id, number..number + 1).await.expect(200);
        wait_until("a delivery", async || self.site.seen().len() > before).await;
        self.site.seen().pop().unwrap()
    }
}

#[tokio::test]
async fn deliveries_are_signed_as_before_when_an_old_receipt_secret_is_removed() {
    let database = Arc::new(TestDatabase::create().await);
    let scene = Scene { database, site: HttpsSite::start(&HOSTS).await };
    scene.site.answer(A, Reply::page("ok"));
    let app = scene.node(OLD).await;
    let (ann, pixel_id) = app.shop().await;
    let call = async |app: &App, path: &str, body: Value| {
        app.call(Method::POST, path, &ann.key, body).await
    };
    let made = call(&app, "/v1/webhooks", json!({"url": format!("https://{A}")})).await.expect(201);
    let path = format!("/v1/webhooks/{}/secret", made["endpoint_id"].as_str().unwrap());
    let rotated = call(&app, &path, Value::Null).await.expect(200);
    let before = scene.sealed().await;
    drop(app);

    let app = scene.node(&format!("{NEW},{OLD}")).await;
    let is_sealed = async || {
        let sealed = scene.sealed().await;
        sealed.iter().all(|sealed| !before.contains(sealed))
    };
    wait_until("both are sealed anew", is_sealed).await;
    let seen = scene.delivered(&app, &ann, &pixel_id, 1).await;
    assert!(verifies(&made["secret"], &seen) && verifies(&rotated["secret"], &seen));
    drop(app);

    let app = scene.node(NEW).await;
    let seen = scene.delivered(&app, &ann, &pixel_id, 2).await;
    assert!(verifies(&made["secret"], &seen), "the one before signs too");
    assert!(verifies(&rotated["secret"], &seen));
    let list = app.call(Method::GET, "/v1/webhooks", &ann.key, Value::Null).await.expect(200);
    assert_eq!(list["webhooks"][0]["paused_because"], Value::Null);
}

#[tokio::test]
async fn a_secret_that_is_encrypted_with_the_present_key_is_unchanged() {
    let database = Arc::new(TestDatabase::create().await);
    let scene = Scene { database, site: HttpsSite::start(&HOSTS).await };
    let app = scene.node(&format!("{NEW},{OLD}")).await;
    let (ann, _) = app.shop().await;
    let body = json!({"url": format!("https://{A}")});
    app.call(Method::POST, "/v1/webhooks", &ann.key, body).await.expect(201);
    let secret = "SELECT secret FROM webhook_endpoints";
    let secret = async || {
        query_scalar::<_, Vec<u8>>(secret).fetch_one(&scene.database.pool()).await.unwrap()
    };
    let before = secret().await;
    let secrets = format!("{NEW},{OLD}");
    let settings = [("RECEIPT_SECRETS", secrets.as_str())];
    let infra = infra(&scene.database, Clock::System, &settings);
    re_encrypt_all(&infra).await.unwrap();
    assert_eq!(secret().await, before);
}

#[tokio::test]
async fn a_secret_that_nothing_opens_is_reported_to_the_operator_and_its_owner_makes_a_new_one() {
    let database = Arc::new(TestDatabase::create().await);
    let scene = Scene { database, site: HttpsSite::start(&HOSTS).await };
    scene.site.answer(A, Reply::page("ok"));
    let app = scene.node(OLD).await;
    let (ann, pixel_id) = app.shop().await;
    let body = json!({"url": format!("https://{A}")});
    let made = app.call(Method::POST, "/v1/webhooks", &ann.key, body).await.expect(201);
    drop(app);
    let mut command = program(&scene.database.url);
    command.env("RECEIPT_SECRETS", NEW);
    let service = Process::start(command).await;
    let is_reported = async || service.log().contains("put the one that was removed at the end");
    wait_until("the log says what is needed", is_reported).await;
    drop(service);

    let app = scene.node(NEW).await;
    app.store_people(&ann.key, &pixel_id, 1..2).await.expect(200);
    let webhook = async || {
        let list = app.call(Method::GET, "/v1/webhooks", &ann.key, Value::Null).await.expect(200);
        list["webhooks"][0].clone()
    };
    wait_until("it is paused", async || webhook().await["paused_because"] == "secret_lost").await;
    assert_eq!(scene.site.seen().len(), 0, "nothing is sent without a signature");
    let path = format!("/v1/webhooks/{}", made["endpoint_id"].as_str().unwrap());
    let rotate = format!("{path}/secret");
    let rotated = app.call(Method::POST, &rotate, &ann.key, Value::Null).await.expect(200);
    let resume = json!({"paused": false});
    app.call(Method::PATCH, &path, &ann.key, resume).await.expect(200);
    wait_until("it is sent", async || !scene.site.seen().is_empty()).await;
    assert!(verifies(&rotated["secret"], &scene.site.seen().remove(0)));
}
