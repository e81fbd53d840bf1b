//! Policies that were published before the fixed sentences changed.

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::support::App;
use crate::support::consent::shop;

const TEXT_BEFORE: &str = "an encrypted form of your email address";
const TEXT_NOW: &str = "a code made from your email address";

/// Makes the site's policy one of the first wording, as an earlier release published it. Its hash.
async fn publish_in_the_first_wording(app: &App, pixel_id: &str) -> String {
    let find = "SELECT document FROM consent_policies WHERE pixel_id = $1";
    let document: String =
        sqlx::query_scalar(find).bind(pixel_id).fetch_one(&app.pool).await.unwrap();
    let document = document.replace(r#""wording":2"#, r#""wording":1"#);
    let hash = hex::encode(Sha256::digest(&document));
    sqlx::query("UPDATE consent_policies SET document = $2, policy_hash = $3 WHERE pixel_id = $1")
        .bind(pixel_id)
        .bind(&document)
        .bind(&hash)
        .execute(&app.pool)
        .await
        .unwrap();
    hash
}

#[tokio::test]
async fn a_policy_keeps_the_words_and_the_hash_that_it_was_published_with() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let hash = publish_in_the_first_wording(&app, &site.pixel_id).await;
    let node = app.another_node(&[]).await;
    let [tag, notice] = ["/px/ID.js", "/v1/policy/ID"].map(|it| it.replace("ID", &site.pixel_id));
    for path in [&tag, &notice] {
        let text = node.get(path).await.text;
        assert!(text.contains(TEXT_BEFORE) && text.contains(&hash), "{text}");
        assert!(!text.contains(TEXT_NOW), "{text}");
    }

    // Saved again, it is the same policy, so nobody is asked again.
    let same = json!({"controller_name": "Shop Ltd", "purposes": ["resolution", "analytics"]});
    let saved = node.configure(&key, &site.pixel_id, same).await.expect(200);
    assert_eq!((&saved["policy_version"], &saved["policy_hash"]), (&json!(1), &json!(hash)));

    // Another one is told in today's words; the first stays readable as it was.
    let other = json!({"controller_name": "Other Ltd", "purposes": ["resolution"]});
    let published = node.configure(&key, &site.pixel_id, other).await.expect(200);
    assert_eq!(published["policy_version"], 2);
    for path in [&tag, &notice] {
        let text = node.get(path).await.text;
        assert!(text.contains(TEXT_NOW) && !text.contains(TEXT_BEFORE), "{text}");
    }
    let earlier = node.get(&format!("{notice}?hash={hash}")).await.text;
    assert!(earlier.contains(TEXT_BEFORE) && !earlier.contains(TEXT_NOW), "{earlier}");
}
