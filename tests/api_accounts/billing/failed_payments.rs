//! The owner hears once of an invoice that could not be charged.

use std::time::Duration as RealTime;

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::mail::Mail;
use crate::support::shop::{DELETED, PAID};
use crate::support::stripe::{Bought, Fault};
use crate::support::{Account, MailServer, Shop, fresh_address};

const FAILED: &str = "invoice.payment_failed";

async fn shop() -> Shop {
    Shop::open_with(&[("SMTP_URL", &MailServer::shared().url)]).await
}

/// Somebody who has paid for one month.
async fn subscriber(shop: &Shop) -> (Account, Bought) {
    let account = shop.app.mailed_account(&fresh_address("ann")).await;
    let bought = shop.buy(&account).await;
    assert_eq!(shop.complete_checkout(&bought.session).await.status, 200);
    (account, bought)
}

fn mails(email: &str) -> Vec<Mail> {
    let all = MailServer::shared().everything(email);
    all.into_iter().filter(|mail| mail.subject().contains("payment")).collect()
}

async fn are_sent(email: &str, count: usize) -> Vec<Mail> {
    for _ in 0..400 {
        if mails(email).len() >= count {
            break;
        }
        tokio::time::sleep(RealTime::from_millis(50)).await;
    }
    // A further mail would arrive within this time.
    tokio::time::sleep(RealTime::from_millis(500)).await;
    let mails = mails(email);
    assert_eq!(mails.len(), count);
    mails
}

#[tokio::test]
async fn a_failed_payment_is_mailed_once_however_often_it_is_reported() {
    let shop = shop().await;
    let (ann, bought) = subscriber(&shop).await;
    let invoice = shop.provider.renew(&bought.subscription);
    shop.provider.fail_payment(&invoice, Some(shop.now() + Duration::days(3)));
    let event = shop.provider.event(FAILED, &invoice);
    let deliveries = (0..4).map(|_| shop.deliver(&event));
    for answer in futures_util::future::join_all(deliveries).await {
        assert_eq!(answer.expect(200), json!({"received": true}));
    }
    let mail = are_sent(&ann.email, 1).await.remove(0);
    assert_eq!(mail.subject(), "A payment for your Assent account has failed");
    for part in [mail.text(), mail.html()] {
        let part = part.replace("&#x2F;", "/");
        let facts = [&*ann.account_id, "1.00 USD", "13 March 2026", "/console/account"];
        for fact in facts {
            assert!(part.contains(fact), "{fact}: {part}");
        }
    }
    assert!(mail.0["headers"]["List-Unsubscribe"].is_string());
    // The provider tries again, and fails again.
    shop.provider.fail_payment(&invoice, None);
    shop.report(FAILED, &invoice).await;
    are_sent(&ann.email, 1).await;
    // Another month is other news.
    shop.provider.pay_invoice(&invoice);
    shop.report(PAID, &invoice).await;
    let next = shop.provider.renew(&bought.subscription);
    shop.provider.fail_payment(&next, None);
    shop.report(FAILED, &next).await;
    let mails = are_sent(&ann.email, 2).await;
    assert!(mails[1].text().contains("not retried automatically"), "{}", mails[1].text());
}

#[tokio::test]
async fn a_report_that_comes_after_the_payment_tells_nobody() {
    let shop = shop().await;
    let (ann, bought) = subscriber(&shop).await;
    let invoice = shop.provider.renew(&bought.subscription);
    shop.provider.fail_payment(&invoice, None);
    let late = shop.provider.event(FAILED, &invoice);
    shop.provider.pay_invoice(&invoice);
    shop.report(PAID, &invoice).await;
    assert_eq!(shop.deliver(&late).await.status, 200);
    are_sent(&ann.email, 0).await;
}

#[tokio::test]
async fn nobody_is_notified_of_what_is_no_subscription_of_ours_or_has_ended_or_not_begun() {
    let shop = shop().await;
    let (ann, bought) = subscriber(&shop).await;
    let asked = shop.provider.received().len();
    let foreign =
        json!({"id": "in_1", "object": "invoice", "status": "open", "subscription": "sub_theirs"});
    let event = |object: Value| json!({"id": "evt_1", "type": FAILED, "data": {"object": object}});
    for object in [foreign, json!({"id": "in_2", "object": "invoice"}), json!({})] {
        assert_eq!(shop.deliver(&event(object)).await.status, 200);
    }
    assert_eq!(shop.provider.received().len(), asked, "the provider is not asked");
    let invoice = shop.provider.renew(&bought.subscription);
    shop.provider.fail_payment(&invoice, None);
    for status in ["incomplete", "incomplete_expired", "canceled"] {
        shop.provider.change(&bought.subscription, "status", json!(status));
        shop.report(FAILED, &invoice).await;
    }
    shop.report(DELETED, &bought.subscription).await;
    are_sent(&ann.email, 0).await;
}

#[tokio::test]
async fn a_provider_that_is_away_is_asked_to_report_again() {
    let shop = shop().await;
    let (ann, bought) = subscriber(&shop).await;
    let invoice = shop.provider.renew(&bought.subscription);
    shop.provider.fail_payment(&invoice, None);
    shop.provider.fail_next(&[Fault::Status(500)]);
    let event = shop.provider.event(FAILED, &invoice);
    assert_eq!(shop.deliver(&event).await.status, 502);
    are_sent(&ann.email, 0).await;
    assert_eq!(shop.deliver(&event).await.status, 200);
    are_sent(&ann.email, 1).await;
}

#[tokio::test]
async fn older_versions_of_the_interface_are_understood() {
    let shop = shop().await;
    shop.provider.use_older_shape();
    let (ann, bought) = subscriber(&shop).await;
    let invoice = shop.provider.renew(&bought.subscription);
    shop.provider.fail_payment(&invoice, None);
    shop.report(FAILED, &invoice).await;
    are_sent(&ann.email, 1).await;
}

#[tokio::test]
async fn an_owner_who_turned_the_mail_off_or_is_suspended_is_not_notified() {
    let shop = shop().await;
    let (off, bought) = subscriber(&shop).await;
    let (held, held_bought) = subscriber(&shop).await;
    let no = json!({"payment_failed": false});
    shop.app.call(Method::PATCH, "/v1/account/mails", &off.key, no).await.expect(200);
    shop.alter(&held, "status = 'suspended', suspended_from = 'active'").await;
    for bought in [&bought, &held_bought] {
        let invoice = shop.provider.renew(&bought.subscription);
        shop.provider.fail_payment(&invoice, None);
        shop.report(FAILED, &invoice).await;
    }
    are_sent(&off.email, 0).await;
    are_sent(&held.email, 0).await;
}

#[tokio::test]
async fn without_a_mail_server_nothing_is_asked_and_nothing_noted() {
    let shop = Shop::open().await;
    let (_, bought) = shop.subscriber("ann@example.com").await;
    let invoice = shop.provider.renew(&bought.subscription);
    shop.provider.fail_payment(&invoice, None);
    let asked = shop.provider.received().len();
    shop.report(FAILED, &invoice).await;
    assert_eq!(shop.provider.received().len(), asked);
    let noted = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM failed_invoices");
    assert_eq!(noted.fetch_one(&shop.app.pool).await.unwrap(), 0);
}

#[tokio::test]
async fn a_mail_that_waits_is_not_sent_once_the_invoice_is_paid() {
    let shop = shop().await;
    let (ann, bought) = subscriber(&shop).await;
    let later = fresh_address("later");
    shop.alter(&ann, &format!("email = '{later}'")).await;
    let invoice = shop.provider.renew(&bought.subscription);
    shop.provider.fail_payment(&invoice, None);
    shop.report(FAILED, &invoice).await;
    let attempts = async || {
        let attempts = sqlx::query_scalar::<_, i32>("SELECT attempts FROM outbox");
        attempts.fetch_optional(&shop.app.pool).await.unwrap()
    };
    for _ in 0..200 {
        if attempts().await.is_some_and(|attempts| attempts > 0) {
            break;
        }
        tokio::time::sleep(RealTime::from_millis(50)).await;
    }
    assert!(attempts().await.is_some(), "it waits");
    shop.provider.pay_invoice(&invoice);
    shop.report(PAID, &invoice).await;
    shop.alter(&ann, &format!("email = '{}'", ann.email)).await;
    shop.app.clock.advance(Duration::hours(1));
    for _ in 0..200 {
        if attempts().await.is_none() {
            assert!(mails(&ann.email).is_empty());
            return;
        }
        tokio::time::sleep(RealTime::from_millis(50)).await;
    }
    panic!("the mail that nobody needs is taken out");
}
