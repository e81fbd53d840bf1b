//! Mails are in the language and the time zone of their reader.

use std::time::Duration as RealTime;

use assent::infra::templates::language::{self, Language};
use assent::infra::templates::{Message, tr};
use chrono::{DateTime, Duration, Utc};
use reqwest::Method;
use serde_json::json;

use crate::support::console::{Browser, leads_to};
use crate::support::mail::Mail;
use crate::support::{App, MailServer, fresh_address};

const GERMAN: &str = "de-AT, en;q=0.5";

fn named(tag: &str) -> &'static Language {
    language::find(tag).expect("a language")
}

fn translation(tag: &str, text: &str) -> &'static str {
    named(tag).catalogue().find(text).unwrap_or_else(|| panic!("{tag} lacks {text}"))
}

/// A text for somebody in this language and time zone.
fn read(tag: &str, time_zone: &str, message: &Message) -> String {
    named(tag).localiser(time_zone.parse().expect("a time zone")).text(message)
}

async fn prefer(app: &App, address: &str, tag: &str, time_zone: &str) {
    let statement = "INSERT INTO person_preferences (address, language, time_zone, changed_at)
         VALUES ($1, $2, $3, now())";
    let query = sqlx::query(statement).bind(address).bind(tag).bind(time_zone);
    query.execute(&app.pool).await.unwrap();
}

/// The mail with a subject, waited for.
async fn mail_about(address: &str, subject: &str) -> Mail {
    for _ in 0..400 {
        let mails = MailServer::shared().everything(address);
        if let Some(mail) = mails.into_iter().find(|mail| mail.subject().contains(subject)) {
            return mail;
        }
        tokio::time::sleep(RealTime::from_millis(50)).await;
    }
    let all = MailServer::shared().everything(address);
    let subjects = all.iter().map(Mail::subject).collect::<Vec<_>>();
    panic!("{address} received no mail about {subject}: {subjects:?}");
}

#[track_caller]
fn is_in(mail: &Mail, tag: &str) {
    assert!(mail.html().contains(&format!("<html lang=\"{tag}\">")), "{}", mail.html());
}

#[tokio::test]
async fn the_code_of_a_sign_in_is_in_the_language_of_the_browser_or_the_chosen_one() {
    const ASKS: &str = "Enter this code on the page where you requested it:";
    let app = App::spawn_with_mail().await;
    let [ann, bob] = ["ann", "bob"].map(fresh_address);
    for address in [&ann, &bob] {
        app.mailed_account(address).await;
    }
    prefer(&app, &bob, "pl", "Europe/Warsaw").await;
    for (address, tag) in [(&ann, "de"), (&bob, "pl")] {
        let mut browser = Browser::new(&app);
        let request = browser.request(Method::POST, "/console/sign-in");
        let request = request.header("origin", &app.base).header("accept-language", GERMAN);
        let sent = browser.send(request.form(&[("email", address)])).await;
        leads_to(&sent, "/console/sign-in/code?next=%2Fconsole");
        let mail = MailServer::shared().wait_for(address, 2).await.pop().unwrap();
        let subject = tr("{{ code }} signs you in to Assent").with("code", mail.code());
        assert_eq!(mail.subject(), read(tag, "UTC", &subject));
        is_in(&mail, tag);
        let asks = translation(tag, ASKS);
        assert!(mail.text().contains(asks) && mail.html().contains(asks), "{}", mail.text());
        assert!(!mail.text().contains(ASKS) && !mail.html().contains(ASKS), "{}", mail.text());
    }
}

#[tokio::test]
async fn a_notice_is_in_the_language_and_the_time_zone_that_the_owner_has_chosen() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    prefer(&app, &ann.email, "de", "Europe/Berlin").await;
    app.clock.advance(Duration::days(23));
    tokio::time::sleep(RealTime::from_millis(1_300)).await;
    app.clock.advance(Duration::minutes(1));
    let ends = "2026-04-09T12:00:00Z".parse::<DateTime<Utc>>().unwrap();
    let subject = tr("Your Assent trial ends on {{ day }}").with("day", Message::DayOf(ends));
    let mail = mail_about(&ann.email, &read("de", "Europe/Berlin", &subject)).await;
    is_in(&mail, "de");
    let time = read("de", "Europe/Berlin", &Message::Moment(ends));
    assert!(time.contains("14:00"), "{time}");
    let label = translation("de", "View your plan");
    for part in [mail.text(), mail.html()] {
        assert!(part.contains(&time) && part.contains(label), "{part}");
    }
    let about = translation("de", "Unsubscribe from these emails");
    assert!(mail.html().contains(about), "{}", mail.html());
}

#[tokio::test]
async fn an_invitation_is_in_the_language_of_the_owner_and_a_member_has_an_own_one() {
    const MEMBER: &str = "You are a member of an Assent account";
    const SIGN_IN: &str = "A new sign-in to your Assent account";
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let [bob, eve] = ["bob", "eve"].map(fresh_address);
    prefer(&app, &ann.email, "de", "Europe/Berlin").await;
    prefer(&app, &eve, "fr", "Europe/Paris").await;
    app.clock.advance(Duration::hours(2));
    for (address, tag) in [(&bob, "de"), (&eve, "fr")] {
        app.member_of(&ann, address, "operate").await;
        is_in(&mail_about(address, translation(tag, MEMBER)).await, tag);
    }
    for (address, tag) in [(&bob, "en"), (&eve, "fr"), (&ann.email, "de")] {
        Browser::new(&app).sign_in(address).await;
        let subject = if tag == "en" { SIGN_IN } else { translation(tag, SIGN_IN) };
        is_in(&mail_about(address, subject).await, tag);
    }
}

#[tokio::test]
async fn a_warning_is_not_in_the_language_of_the_request_that_caused_it() {
    const KEY: &str = "A new API key for your Assent account";
    let app = App::spawn_with_mail().await;
    let [ann, bob] = [fresh_address("ann"), fresh_address("bob")];
    let [ann, bob] = [app.mailed_account(&ann).await, app.mailed_account(&bob).await];
    prefer(&app, &bob.email, "it", "Europe/Rome").await;
    for (account, tag) in [(&ann, "en"), (&bob, "it")] {
        let request = app.request(Method::POST, "/v1/api-keys").bearer_auth(&account.key);
        let request = request.header("accept-language", GERMAN).json(&json!({"name": "shop"}));
        assert_eq!(request.send().await.unwrap().status(), 201);
        let subject = if tag == "en" { KEY } else { translation(tag, KEY) };
        is_in(&mail_about(&account.email, subject).await, tag);
    }
}

#[tokio::test]
async fn a_mail_that_is_sent_again_keeps_its_language() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("drop");
    let request = app.request(Method::POST, "/v1/accounts").header("accept-language", "fr-CH, fr");
    let body = json!({"email": email, "display_name": "Test"});
    assert_eq!(request.json(&body).send().await.unwrap().status(), 201);
    app.clock.advance(Duration::seconds(80));
    let mails = MailServer::shared().wait_for(&email, 2).await;
    for mail in &mails {
        is_in(mail, "fr");
        assert!(mail.html().contains(translation("fr", "Confirm my address")), "{}", mail.html());
        let subject = tr("{{ code }} is your Assent code").with("code", mail.code());
        assert_eq!(mail.subject(), read("fr", "UTC", &subject));
    }
    assert_eq!(mails[0].code(), mails[1].code());
}
