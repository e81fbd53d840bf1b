//! More choices at one pixel than a site can have.

use futures_util::{StreamExt, stream};
use reqwest::Method;
use serde_json::Value;

use crate::support::consent::app_with_site_and;
use crate::support::{Answer, App};

const ADDRESS: &str = "X-Client-Address";

async fn record_from(app: &App, address: String, body: &Value) -> Answer {
    let request = app.request(Method::POST, "/v1/consent/record").header(ADDRESS, address);
    Answer::of(request.json(body)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_at_one_pixel_from_many_addresses_is_stopped_and_concerns_nobody_else() {
    let settings = [("RATE_LIMITS", "on"), ("CLIENT_IP_HEADER", ADDRESS)];
    let (app, ann, site) = app_with_site_and(&settings).await;
    let other = app.consent_site(&ann.key, "other.example").await;
    let address = |number: usize| format!("198.51.{}.{}", number / 250, number % 250);
    let flood = stream::iter(0..20_100).map(|number| {
        let body = site.acceptance(&format!("visitor-{number}"));
        let app = &app;
        async move { record_from(app, address(number % 200), &body).await.status }
    });
    let statuses = flood.buffer_unordered(64).collect::<Vec<_>>().await;
    // The clock stands still, so that nothing is filled up again.
    assert_eq!(statuses.iter().filter(|&&status| status == 202).count(), 20_000);
    assert_eq!(statuses.iter().filter(|&&status| status == 429).count(), 100);
    let fresh = || "192.0.2.1".to_owned();
    record_from(&app, fresh(), &site.acceptance("ann")).await.refused(429, "too many requests");
    record_from(&app, fresh(), &site.refusal("ann", "declined")).await.expect(202);
    record_from(&app, fresh(), &other.acceptance("ann")).await.expect(202);
}
