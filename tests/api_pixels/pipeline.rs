//! `POST /v1/pixels/pipeline`.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::setup::{aliases, demo_pixel, field_names, set_plan};
use crate::support::{Account, Answer, App};

/// A service, its operator and a paying customer.
struct Scene {
    app: App,
    operator: Account,
    customer: Account,
}

impl Scene {
    async fn new() -> Self {
        let app = App::spawn().await;
        let operator = app.unlimited_account("operator@example.com").await;
        let customer = app.account("customer@example.com").await;
        set_plan(&app, &customer.account_id, "paid").await;
        Self { app, operator, customer }
    }

    async fn post(&self, body: Value) -> Answer {
        self.app.call(Method::POST, "/v1/pixels/pipeline", &self.operator.key, body).await
    }

    async fn create(&self, domain: &str) -> Answer {
        self.post(self.order(domain)).await
    }

    fn order(&self, domain: &str) -> Value {
        json!({"domain": domain, "pipeline": "utm", "account_id": self.customer.account_id})
    }
}

/// `order` with one field changed, or removed when the value is null.
fn with(mut order: Value, field: &str, value: Value) -> Value {
    order[field] = value;
    order
}

#[tokio::test]
async fn a_pipeline_pixel_belongs_to_the_customer_and_names_its_scripts() {
    let scene = Scene::new().await;
    let body = scene.create("https://www.Shop.example").await.expect(201);
    assert_eq!(
        field_names(&body),
        [
            "account_id",
            "cdn_script_url",
            "domain",
            "install_status",
            "pipeline",
            "pixel_id",
            "pixel_js_url",
            "snippet"
        ]
    );
    let (id, base) = (body["pixel_id"].as_str().unwrap(), &scene.app.base);
    let alias = aliases(&scene.app, id).await.remove(0);
    assert_eq!(body["account_id"], json!(scene.customer.account_id));
    assert_eq!(body["domain"], "shop.example");
    assert_eq!(body["install_status"], "not_checked");
    assert_eq!(body["pipeline"], "utm");
    let snippet = format!("<script async src=\"{base}/pixel.js\" data-pixel=\"{id}\"></script>");
    assert_eq!(body["snippet"], json!(snippet));
    assert_eq!(body["pixel_js_url"], json!(format!("{base}/pixels/{id}/p.js")));
    assert_eq!(body["cdn_script_url"], json!(format!("https://tags.example/pixels/{alias}/p.js")));
    let path = format!("/v1/pixels/{id}");
    let shown = scene.app.call(Method::GET, &path, &scene.customer.key, Value::Null).await;
    assert_eq!(shown.expect(200)["domain"], "shop.example");
}

#[tokio::test]
async fn a_customer_is_found_by_the_operators_own_name_for_it() {
    let scene = Scene::new().await;
    sqlx::query("UPDATE accounts SET external_user_id = 'crm-7' WHERE account_id = $1")
        .bind(&scene.customer.account_id)
        .execute(&scene.app.pool)
        .await
        .unwrap();
    let order = json!({"domain": "shop.example", "pipeline": "cms", "external_user_id": "crm-7"});
    let body = scene.post(order.clone()).await.expect(201);
    assert_eq!(body["account_id"], json!(scene.customer.account_id));
    assert_eq!(body["pipeline"], "cms");
    // Both names must mean one account.
    let both = with(order.clone(), "account_id", json!(scene.customer.account_id));
    scene.post(both).await.expect(201);
    let both = with(order.clone(), "account_id", json!(scene.operator.account_id));
    scene.post(both).await.refused(404, "account not found");
    let unknown = with(order, "external_user_id", json!("crm-8"));
    scene.post(unknown).await.refused(404, "account not found");
}

#[tokio::test]
async fn a_pipeline_must_be_utm_or_cms() {
    let scene = Scene::new().await;
    for pipeline in [json!(null), json!(""), json!("gtm"), json!("UTM"), json!("utm,cms")] {
        let order = with(scene.order("shop.example"), "pipeline", pipeline);
        scene.post(order).await.refused(400, "pipeline must be utm or cms");
    }
    scene.post(json!({})).await.refused(400, "pipeline must be utm or cms");
}

#[tokio::test]
async fn a_customer_must_be_named() {
    let scene = Scene::new().await;
    for name in [json!(null), json!(""), json!(" ")] {
        let order = with(scene.order("shop.example"), "account_id", name.clone());
        let order = with(order, "external_user_id", name);
        scene.post(order).await.refused(400, "account_id or external_user_id is required");
    }
}

#[tokio::test]
async fn the_host_rules_of_creation_hold() {
    let scene = Scene::new().await;
    for domain in [json!(null), json!(""), json!(" ")] {
        let order = with(scene.order(""), "domain", domain);
        scene.post(order).await.refused(400, "domain is required");
    }
    scene.create("shop.example/cart").await.refused(400, "domain must be a host, not a page");
    scene.create("co.uk").await.refused(400, "domain must be a host");
    scene.create("10.0.0.1").await.refused(400, "domain must be a host");
}

#[tokio::test]
async fn bodies_of_a_wrong_shape_are_listed() {
    let scene = Scene::new().await;
    for field in ["domain", "pipeline", "account_id", "external_user_id"] {
        let order = with(scene.order("shop.example"), field, json!(7));
        scene.post(order).await.invalid(&["body", field]);
    }
    scene.post(json!([])).await.invalid(&["body"]);
}

#[tokio::test]
async fn only_an_unlimited_key_may_use_the_pipeline() {
    let scene = Scene::new().await;
    let (app, order) = (&scene.app, scene.order("shop.example"));
    app.post("/v1/pixels/pipeline", order.clone()).await.refused(401, "api key required");
    let call = |key| app.call(Method::POST, "/v1/pixels/pipeline", key, order.clone());
    call("px_wrong").await.refused(401, "invalid api key");
    call(&scene.customer.key).await.refused(403, "unlimited key required");
    let trial = app.account("trial@example.com").await;
    call(&trial.key).await.refused(403, "unlimited key required");
    sqlx::query("UPDATE api_keys SET revoked_at = $2 WHERE account_id = $1")
        .bind(&scene.operator.account_id)
        .bind(app.clock.now())
        .execute(&app.pool)
        .await
        .unwrap();
    call(&scene.operator.key).await.refused(401, "invalid api key");
}

#[tokio::test]
async fn only_an_active_and_paid_customer_gets_a_pixel() {
    let scene = Scene::new().await;
    let id = &scene.customer.account_id;
    for (status, plan) in [
        ("active", "free"),
        ("active", "unlimited"),
        ("suspended", "paid"),
        ("pending_email", "paid"),
    ] {
        scene.app.set_status(id, status).await;
        set_plan(&scene.app, id, plan).await;
        let refused = scene.create("shop.example").await;
        refused.refused(403, "customer account is not in good standing");
    }
    scene.app.set_status(id, "active").await;
    set_plan(&scene.app, id, "paid").await;
    scene.create("shop.example").await.expect(201);
}

#[tokio::test]
async fn an_unknown_customer_is_not_found() {
    let scene = Scene::new().await;
    for id in ["acc_unknown", "no id at all", "a\u{e9}"] {
        let order = with(scene.order("shop.example"), "account_id", json!(id));
        scene.post(order).await.refused(404, "account not found");
    }
}

#[tokio::test]
async fn a_host_of_another_account_is_refused() {
    let scene = Scene::new().await;
    let bob = scene.app.account("bob@example.com").await;
    scene.app.pixel(&bob.key, "shop.example").await;
    scene.create("shop.example").await.refused(409, "domain already registered");
    scene.app.pixel(&scene.operator.key, "operator.example").await;
    scene.create("operator.example").await.refused(409, "domain already registered");
}

#[tokio::test]
async fn posting_again_gives_the_pixel_that_the_customer_has() {
    let scene = Scene::new().await;
    let first = scene.create("shop.example").await.expect(201);
    assert_eq!(scene.create("www.shop.example").await.expect(201), first);
    // It stays with the pipeline that it came from.
    let order = with(scene.order("shop.example"), "pipeline", json!("cms"));
    assert_eq!(scene.post(order).await.expect(201), first);
    // A pixel that the customer made itself is given as well.
    let own = scene.app.pixel(&scene.customer.key, "own.example").await;
    let order = with(scene.order("own.example"), "pipeline", json!("cms"));
    let given = scene.post(order).await.expect(201);
    assert_eq!((&given["pixel_id"], &given["pipeline"]), (&json!(own), &json!("cms")));
}

#[tokio::test]
async fn an_alias_added_later_does_not_change_the_script_address() {
    let scene = Scene::new().await;
    let first = scene.create("shop.example").await.expect(201);
    sqlx::query("INSERT INTO pixel_aliases (alias, pixel_id) VALUES ('aaa', $1)")
        .bind(first["pixel_id"].as_str().unwrap())
        .execute(&scene.app.pool)
        .await
        .unwrap();
    assert_eq!(scene.create("shop.example").await.expect(201), first);
}

#[tokio::test]
async fn the_snippet_is_the_consent_tag_once_consent_is_on() {
    let scene = Scene::new().await;
    let site = scene.app.consent_site(&scene.customer.key, "shop.example").await;
    let body = scene.create("shop.example").await.expect(201);
    let tag = format!("<script async src=\"{}/px/{}.js\"></script>", scene.app.base, site.pixel_id);
    assert_eq!(body["snippet"], json!(tag));
}

#[tokio::test]
async fn the_allowance_counts_pipeline_pixels_and_never_refuses_them() {
    let scene = Scene::new().await;
    for number in 0..5 {
        scene.create(&format!("s{number}.example")).await.expect(201);
    }
    let body = json!({"domain": "own.example"});
    let own = scene.app.call(Method::POST, "/v1/pixels", &scene.customer.key, body).await;
    own.refused(403, "pixel allowance reached");
}

#[tokio::test]
async fn a_pixel_that_cannot_be_stored_is_said_to_be_not_created() {
    let scene = Scene::new().await;
    sqlx::query("ALTER TABLE pixel_aliases ADD CONSTRAINT never CHECK (alias = 'x') NOT VALID")
        .execute(&scene.app.pool)
        .await
        .unwrap();
    scene.create("shop.example").await.refused(502, "pixel could not be created");
}

#[tokio::test]
async fn a_demo_pixel_gives_way_to_a_customer() {
    let scene = Scene::new().await;
    let demo = demo_pixel(&scene.app, "shop.example").await;
    let body = scene.create("shop.example").await.expect(201);
    assert_ne!(body["pixel_id"], json!(demo));
    assert_eq!(body["account_id"], json!(scene.customer.account_id));
}

#[tokio::test]
async fn many_posts_at_once_are_one_pixel() {
    let scene = Scene::new().await;
    let posts = (0..12).map(|_| scene.create("shop.example"));
    let answers = futures_util::future::join_all(posts).await;
    let first = answers[0].expect(201);
    answers.iter().for_each(|answer| assert_eq!(answer.expect(201), first));
}
