//! `GET /v1/pixels/{pixel_id}/snippets/{action}`.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::setup::field_names;
use crate::support::{Answer, App};

async fn snippet(app: &App, key: &str, pixel: &str, action: &str) -> Answer {
    let path = format!("/v1/pixels/{pixel}/snippets/{action}");
    app.call(Method::GET, &path, key, Value::Null).await
}

#[tokio::test]
async fn every_action_has_its_snippet_and_two_have_a_button() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    for (action, has_button) in
        [("viewed_product", false), ("add_to_cart", true), ("checkout_completed", true)]
    {
        let body = snippet(&app, &ann.key, &pixel, action).await.expect(200);
        assert_eq!(field_names(&body), ["action", "button_snippet", "pixel_id", "snippet"]);
        assert_eq!((&body["action"], &body["pixel_id"]), (&json!(action), &json!(pixel)));
        let lines = body["snippet"].as_str().unwrap();
        for part in ["<script>", &format!("assent('track', '{action}', {{")] {
            assert!(lines.contains(part), "{lines}");
        }
        assert!(lines.contains(&format!("pixel_id: '{pixel}'")) && lines.contains(&app.base));
        assert!(!lines.contains("{{") && lines.ends_with("</script>"), "{lines}");
        match has_button {
            false => assert_eq!(body["button_snippet"], Value::Null),
            true => {
                let button = body["button_snippet"].as_str().unwrap();
                assert!(button.contains("<button") && button.ends_with("</button>"), "{button}");
                assert!(button.contains(&format!("'track', '{action}'")), "{button}");
                assert!(button.contains(&pixel) && !button.contains("{{"), "{button}");
            }
        }
    }
}

#[tokio::test]
async fn an_unknown_action_is_not_found() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    for action in ["refund", "add_to_cart.button", "Add_To_Cart", "immediate.html", "consent"] {
        snippet(&app, &ann.key, &pixel, action).await.refused(404, "snippet not found");
    }
}

#[tokio::test]
async fn the_pixel_is_looked_for_first() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let bob = app.account("bob@example.com").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    snippet(&app, &ann.key, "unknown", "refund").await.refused(404, "pixel not found");
    snippet(&app, &bob.key, &pixel, "add_to_cart").await.refused(404, "pixel not found");
    let operator = app.unlimited_account("operator@example.com").await;
    snippet(&app, &operator.key, &pixel, "add_to_cart").await.expect(200);
}
