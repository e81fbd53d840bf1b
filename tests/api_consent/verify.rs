//! Verifying receipts: what counts as ours, what does not, and the rotation of secrets.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::visitors::with;
use crate::support::{Answer, App};

/// An accepted receipt and its signature.
async fn signed(app: &App) -> (Value, String) {
    let key = app.account("shop@example.com").await.key;
    let site = app.consent_site(&key, "shop.example").await;
    let body = with(&site.acceptance("visitor-1"), "purposes", json!(["resolution", "analytics"]));
    let answer = app.recorded(&body).await;
    (answer["receipt"].clone(), answer["signature"].as_str().unwrap().to_owned())
}

/// `text` with its character at `index` changed into another of the same kind.
fn changed_at(text: &str, index: usize) -> String {
    let replace = |(at, character): (usize, char)| match character {
        _ if at != index => character,
        '0' => '1',
        '1'..='9' => '0',
        'a' => 'b',
        _ => 'a',
    };
    text.chars().enumerate().map(replace).collect()
}

#[tokio::test]
async fn a_receipt_as_it_was_given_is_ours() {
    let app = App::spawn().await;
    let (receipt, signature) = signed(&app).await;
    let body = json!({"receipt": receipt, "signature": signature});
    let answer = app.post("/v1/consent/verify", body.clone()).await.expect(200);
    assert_eq!(answer, json!({"valid": true}));
    assert!(app.verifies(&receipt, &signature).await);
    // Further fields beside it are ignored.
    let all = with(&with(&body, "signature_alg", json!("hmac-sha256")), "permitted", json!(true));
    assert_eq!(app.post("/v1/consent/verify", all).await.expect(200), json!({"valid": true}));
}

#[tokio::test]
async fn one_changed_character_anywhere_in_the_receipt_is_not_ours() {
    let app = App::spawn().await;
    let (receipt, signature) = signed(&app).await;
    let mut tried = 0;
    for (field, value) in receipt.as_object().unwrap() {
        let Some(text) = value.as_str() else { continue };
        for index in 0..text.chars().count() {
            let changed = with(&receipt, field, json!(changed_at(text, index)));
            assert_ne!(changed, receipt);
            assert!(!app.verifies(&changed, &signature).await, "{field} at {index}");
            tried += 1;
        }
    }
    assert!(tried > 150, "only {tried} characters were tried");
}

#[tokio::test]
async fn one_changed_character_in_the_signature_is_not_ours() {
    let app = App::spawn().await;
    let (receipt, signature) = signed(&app).await;
    for index in 0..signature.len() {
        assert!(!app.verifies(&receipt, &changed_at(&signature, index)).await, "at {index}");
    }
    for other in [
        "",
        "0",
        &signature[..63],
        &signature[..62],
        &format!("{signature}00"),
        "no hex",
        &signature.to_uppercase(),
    ] {
        assert_eq!(app.verifies(&receipt, other).await, other == signature, "{other}");
    }
}

#[tokio::test]
async fn a_changed_purpose_is_not_ours() {
    let app = App::spawn().await;
    let (receipt, signature) = signed(&app).await;
    assert_eq!(receipt["purposes"], json!(["analytics", "resolution"]));
    for purposes in [
        json!(["analytics", "resolutioN"]),
        json!(["analytics", "newsletter"]),
        json!(["resolution", "analytics"]),
        json!(["analytics"]),
        json!(["analytics", "resolution", "newsletter"]),
        json!(["analytics", "resolution", "resolution"]),
        json!([]),
        json!("analytics,resolution"),
        json!([["analytics", "resolution"]]),
        json!(null),
    ] {
        let mut changed = receipt.clone();
        changed["purposes"] = purposes;
        assert!(!app.verifies(&changed, &signature).await, "{changed}");
    }
}

#[tokio::test]
async fn the_order_of_keys_and_the_spaces_between_them_do_not_matter() {
    let app = App::spawn().await;
    let (receipt, signature) = signed(&app).await;
    let mut pairs = receipt
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, value)| format!(" {} :\n\t{} ", json!(key), value))
        .collect::<Vec<_>>();
    for _ in 0..pairs.len() {
        pairs.rotate_left(1);
        let text =
            format!("{{ \"signature\": \"{signature}\", \"receipt\": {{{}}} }}", pairs.join(","));
        let request = app.request(Method::POST, "/v1/consent/verify").body(text);
        assert_eq!(Answer::of(request).await.expect(200), json!({"valid": true}));
    }
    pairs.reverse();
    let escaped = pairs.join(",").replace("accepted", "\\u0061ccepted");
    let text = format!("{{\"receipt\": {{{escaped}}}, \"signature\": \"{signature}\"}}");
    let request = app.request(Method::POST, "/v1/consent/verify").body(text);
    assert_eq!(Answer::of(request).await.expect(200), json!({"valid": true}));
}

#[tokio::test]
async fn a_field_more_or_less_or_of_another_name_is_not_ours() {
    let app = App::spawn().await;
    let (receipt, signature) = signed(&app).await;
    for field in receipt.as_object().unwrap().keys() {
        assert!(!app.verifies(&with(&receipt, field, Value::Null), &signature).await, "{field}");
        let mut null = receipt.clone();
        null[field] = Value::Null;
        assert!(!app.verifies(&null, &signature).await, "{field}");
        let renamed =
            with(&with(&receipt, field, Value::Null), &format!("{field}x"), receipt[field].clone());
        assert!(!app.verifies(&renamed, &signature).await, "{field}");
    }
    assert!(!app.verifies(&with(&receipt, "extra", json!("")), &signature).await);
}

#[tokio::test]
async fn one_receipts_signature_does_not_fit_another() {
    let app = App::spawn().await;
    let key = app.account("shop@example.com").await.key;
    let site = app.consent_site(&key, "shop.example").await;
    let first = app.recorded(&site.acceptance("visitor-1")).await;
    let second = app.recorded(&site.acceptance("visitor-1")).await;
    assert_ne!(first["signature"], second["signature"]);
    let signature = second["signature"].as_str().unwrap();
    assert!(!app.verifies(&first["receipt"], signature).await);
}

#[tokio::test]
async fn receipts_from_record_check_receipt_and_log_are_the_same() {
    let app = App::spawn().await;
    let key = app.account("shop@example.com").await.key;
    let site = app.consent_site(&key, "shop.example").await;
    let recorded = app.recorded(&site.acceptance("visitor-1")).await;
    let check = app.check(&site.pixel_id, "visitor-1").await;
    let receipt = app.receipt(&site.pixel_id, "visitor-1").await.expect(200);
    let event = app.log(&key, &site.pixel_id).await.remove(0);
    for source in [&recorded, &check, &receipt, &event] {
        assert_eq!(source["receipt"], recorded["receipt"]);
        assert!(app.verifies(&source["receipt"], source["signature"].as_str().unwrap()).await);
    }
}

#[tokio::test]
async fn a_receipt_is_required() {
    let app = App::spawn().await;
    for body in
        [json!({}), json!({"receipt": null}), json!({"receipt": {}}), json!({"signature": "00"})]
    {
        app.post("/v1/consent/verify", body).await.refused(400, "receipt is required");
    }
}

#[tokio::test]
async fn a_receipt_without_its_signature_is_not_ours() {
    let app = App::spawn().await;
    let (receipt, _) = signed(&app).await;
    for body in [json!({"receipt": receipt}), json!({"receipt": receipt, "signature": null})] {
        assert_eq!(app.post("/v1/consent/verify", body).await.expect(200), json!({"valid": false}));
    }
}

#[tokio::test]
async fn a_receipt_of_the_wrong_shape_is_an_invalid_request() {
    let app = App::spawn().await;
    for body in [
        json!([]),
        json!(null),
        json!("text"),
        json!({"receipt": "text"}),
        json!({"receipt": []}),
        json!({"receipt": 1}),
        json!({"receipt": {"a": 1}, "signature": 1}),
        json!({"receipt": {"a": 1}, "signature": ["00"]}),
    ] {
        app.post("/v1/consent/verify", body).await.refused(400, "invalid request");
    }
    for text in ["", "{", r#"{"receipt":{"a":1,"a":2},"signature":"00"}"#] {
        let request = app.request(Method::POST, "/v1/consent/verify").body(text);
        Answer::of(request).await.refused(400, "invalid request");
    }
}

#[tokio::test]
async fn a_rotated_secret_signs_while_the_old_one_still_verifies() {
    let old = App::spawn_with(&[("RECEIPT_SECRETS", "the-old-receipt-secret")]).await;
    let key = old.account("shop@example.com").await.key;
    let site = old.consent_site(&key, "shop.example").await;
    let before = old.recorded(&site.acceptance("visitor-1")).await;

    let both = ("RECEIPT_SECRETS", "the-new-receipt-secret, the-old-receipt-secret");
    let rotated = old.another_node(&[both]).await;
    let after = rotated.recorded(&site.acceptance("visitor-2")).await;
    let new = old.another_node(&[("RECEIPT_SECRETS", "the-new-receipt-secret")]).await;

    for (node, knows_before, knows_after) in
        [(&old, true, false), (&rotated, true, true), (&new, false, true)]
    {
        for (answer, visitor, known) in
            [(&before, "visitor-1", knows_before), (&after, "visitor-2", knows_after)]
        {
            let signature = answer["signature"].as_str().unwrap();
            assert_eq!(node.verifies(&answer["receipt"], signature).await, known);
            let stored = node.receipt(&site.pixel_id, visitor).await.expect(200);
            assert_eq!(stored["valid"], json!(known));
        }
    }
}

#[tokio::test]
async fn another_services_receipts_are_not_ours() {
    let (ours, theirs) = (
        App::spawn().await,
        App::spawn_with(&[("RECEIPT_SECRETS", "somebody-elses-secret")]).await,
    );
    let (receipt, signature) = signed(&theirs).await;
    assert!(theirs.verifies(&receipt, &signature).await);
    assert!(!ours.verifies(&receipt, &signature).await);
}

#[tokio::test]
async fn receipts_outlive_their_pixel_and_its_account() {
    let app = App::spawn().await;
    let (receipt, signature) = signed(&app).await;
    sqlx::query("DELETE FROM accounts").execute(&app.pool).await.unwrap();
    assert!(app.verifies(&receipt, &signature).await);
    let pixel = receipt["pixel_id"].as_str().unwrap();
    let kept = app.receipt(pixel, "visitor-1").await.expect(200);
    assert_eq!((&kept["valid"], &kept["reason"]), (&json!(true), &json!("consent_off")));
}
