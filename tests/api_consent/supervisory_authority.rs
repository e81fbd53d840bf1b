//! The data protection authority that visitors whose request was refused are told of.

use reqwest::Method;
use serde_json::{Value, json};

use super::erasure_requests::{asked, path};
use crate::support::consent::app_with_site;

#[tokio::test]
async fn a_refusal_names_the_authority_of_the_country_in_the_notice() {
    let (app, ann, site) = app_with_site().await;
    let id = asked(&app, &ann.key, &site, "v1").await;
    let publish = async |jurisdiction: &str| {
        let body = json!({"controller_name": "Shop Ltd", "purposes": ["analytics"],
            "controller_jurisdiction": jurisdiction});
        app.call(Method::POST, &site.path(""), &ann.key, body).await.expect(200);
    };
    let authority = async |visitor: &str| {
        let body = json!({"pixel_id": site.pixel_id, "visitor_id": visitor});
        let read = app.post("/v1/consent/erasure-requests/history", body).await.expect(200);
        read.get("authority").expect("it is always there").clone()
    };
    publish("Germany").await;
    assert_eq!(authority("v1").await, Value::Null);
    let refuse = path(&site.pixel_id, &format!("/{id}/refuse"));
    let body = json!({"reason": "We must keep the invoices."});
    app.call(Method::POST, &refuse, &ann.key, body).await.expect(200);
    let german = json!({
        "name": "Die Bundesbeauftragte für den Datenschutz und die Informationsfreiheit",
        "url": "https://www.bfdi.bund.de/",
    });
    assert_eq!(authority("v1").await, german);
    assert_eq!(authority("v2").await, Value::Null);
    publish("London, United Kingdom").await;
    let british =
        json!({"name": "Information Commissioner’s Office", "url": "https://ico.org.uk/"});
    assert_eq!(authority("v1").await, british);
    app.turn_off(&ann.key, &site).await.expect(204);
    assert_eq!(authority("v1").await, british);
    publish("Utopia").await;
    assert_eq!(authority("v1").await, Value::Null);
}
