//! `GET /v1/sample`: what contacts look like, for those who have none yet.

use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{Answer, App};

#[tokio::test]
async fn the_sample_is_a_cursor_page_of_three_invented_contacts() {
    let app = App::spawn().await;
    let answer = app.get("/v1/sample").await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let page = answer.expect(200);
    let keys = page.as_object().unwrap().keys().collect::<Vec<_>>();
    assert_eq!(keys, ["after", "contacts", "high_water", "next", "pixel_id"]);
    assert_eq!((&page["after"], &page["high_water"]), (&json!(0), &json!(3)));
    assert!(page["pixel_id"].is_string());
    let contacts = page["contacts"].as_array().unwrap();
    assert_eq!(contacts.len(), 3);
    for (contact, id) in contacts.iter().zip(1..) {
        let keys = contact.as_object().unwrap().keys().collect::<Vec<_>>();
        assert_eq!(keys, ["contact", "hem", "id", "resolved_at"]);
        assert_eq!(contact["id"], json!(id));
        let email = contact["contact"]["email"].as_str().unwrap();
        assert!(email.contains("@example."), "{email} could be somebody's");
        assert_eq!(contact["hem"], json!(hex::encode(Sha256::digest(email))));
        let resolved_at = contact["resolved_at"].as_str().unwrap();
        assert!(chrono::DateTime::parse_from_rfc3339(resolved_at).is_ok());
        assert!(resolved_at.ends_with('Z'));
    }
}

#[tokio::test]
async fn the_sample_needs_no_key_and_answers_head() {
    let app = App::spawn().await;
    let with_a_bad_key = app.call(Method::GET, "/v1/sample", "px_wrong", Value::Null).await;
    assert_eq!(with_a_bad_key.status, 200);
    let head = Answer::of(app.request(Method::HEAD, "/v1/sample")).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
}
