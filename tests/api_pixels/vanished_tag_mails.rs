//! Mails to owners whose tag has vanished.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use super::scheduled_install_checks::{Looks, mails_to, rounds, tag};
use crate::support::fresh_address;
use crate::support::sites::install::{check, installed};
use crate::support::waiting::wait_until;

#[tokio::test]
async fn only_the_owner_is_mailed_about_a_vanished_tag() {
    let looks = Looks::of(&["shop.example", "bob.example"], &[]).await;
    let pixel = looks.installed("shop.example").await;
    let bob = looks.app.mailed_account(&fresh_address("bob")).await;
    let own = looks.app.pixel(&bob.key, "bob.example").await;
    looks.shows("bob.example", &tag(&looks.app, &own));
    check(&looks.app, &bob.key, &own).await.expect(200);
    looks.shows("shop.example", "");
    for _ in 0..3 {
        looks.day(&pixel).await;
    }
    wait_until("the mail", async || looks.mails().len() == 1).await;
    assert!(mails_to(&bob.email).is_empty());
    let path = format!("/v1/pixels/{pixel}/check");
    let refused = looks.app.call(Method::GET, &path, &bob.key, Value::Null).await;
    refused.refused(404, "pixel not found");
}

#[tokio::test]
async fn a_mail_that_waits_is_not_sent_once_the_tag_is_back() {
    let looks = Looks::new().await;
    let pixel = looks.installed("shop.example").await;
    let page = tag(&looks.app, &pixel);
    let set_address = async |address: &str| {
        sqlx::query("UPDATE accounts SET email = $1 WHERE account_id = $2")
            .bind(address)
            .bind(&looks.ann.account_id)
            .execute(&looks.app.pool)
            .await
            .unwrap();
    };
    set_address(&fresh_address("later")).await;
    looks.shows("shop.example", "");
    for _ in 0..3 {
        looks.day(&pixel).await;
    }
    let waiting = async || {
        let query = "SELECT attempts FROM outbox WHERE kind = 'tag_vanished'";
        sqlx::query_scalar::<_, i32>(query).fetch_optional(&looks.app.pool).await.unwrap()
    };
    wait_until("the mail waits", async || waiting().await == Some(1)).await;
    looks.shows("shop.example", &page);
    installed(&check(&looks.app, &looks.ann.key, &pixel).await.expect(200));
    let address = fresh_address("ann");
    set_address(&address).await;
    looks.app.clock.advance(Duration::minutes(3));
    wait_until("the mail is not needed", async || waiting().await.is_none()).await;
    assert!(mails_to(&address).is_empty());
}

#[tokio::test]
async fn an_owner_without_such_mails_gets_none_and_others_can_turn_them_off_by_one_click() {
    let looks = Looks::of(&["shop.example", "bob.example"], &[]).await;
    let pixel = looks.installed("shop.example").await;
    let off = json!({"tag_vanished": false});
    looks.app.call(Method::PATCH, "/v1/account/mails", &looks.ann.key, off).await.expect(200);
    let bob = looks.app.mailed_account(&fresh_address("bob")).await;
    let own = looks.app.pixel(&bob.key, "bob.example").await;
    looks.shows("bob.example", &tag(&looks.app, &own));
    check(&looks.app, &bob.key, &own).await.expect(200);
    for host in ["shop.example", "bob.example"] {
        looks.shows(host, "");
    }
    for _ in 0..3 {
        looks.day(&pixel).await;
        looks.looked_at(&bob.key, &own).await;
    }
    wait_until("the mail", async || mails_to(&bob.email).len() == 1).await;
    let mail = mails_to(&bob.email).remove(0);
    assert!(mail.text().contains("/unsubscribe"), "{}", mail.text());
    rounds().await;
    assert!(looks.mails().is_empty());
    assert_eq!(looks.state(&pixel).await["install_status"], "not_installed");
}
