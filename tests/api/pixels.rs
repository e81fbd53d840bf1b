//! Pixel routes: one test per row and per refusal.

use crate::support::App;

#[tokio::test]
async fn another_accounts_pixel_is_not_found() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let bob = app.account("bob@example.com").await;
    let pixel = app.pixel(&ann.key, "ann.example").await;
    let path = format!("/v1/pixels/{pixel}");
    app.call(reqwest::Method::GET, &path, &bob.key, serde_json::Value::Null)
        .await
        .refused(404, "pixel not found");
}
