//! `assent change-email`, for an owner who has lost the mailbox.

use assent::clock::Clock;
use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use super::operator::{done, operate, refused};
use crate::support::console::Browser;
use crate::support::process::{program, run, said};
use crate::support::{Account, App, MailServer, fresh_address};

async fn address_of(app: &App, account: &Account) -> String {
    let account = app.change_account(&account.key, json!({})).await.expect(200);
    account["email"].as_str().unwrap().to_owned()
}

/// The text of the newest mail to an address with this subject.
async fn mail_about(address: &str, subject: &str) -> String {
    for _ in 0..1_200 {
        let mails = MailServer::shared().inbox(address);
        if let Some(mail) = mails.iter().rev().find(|mail| mail.subject() == subject) {
            return mail.text().to_owned();
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("{address} has no mail: {subject}");
}

#[tokio::test]
async fn an_owner_without_the_mailbox_gets_another_address_and_both_mailboxes_are_notified() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let (old, new) = (ann.email.clone(), fresh_address("new"));
    let mut signed_in = Browser::new(&app);
    signed_in.sign_in(&old).await;
    // A change that waits ends with the address.
    app.ask_to_move(&ann, &fresh_address("other")).await.expect(202);
    let mut command = program(&app.database.url);
    command.args(["change-email", &old, &new]).env("SMTP_URL", &MailServer::shared().url);
    let (code, output, complaint) = said(&run(command).await);
    assert_eq!((code, complaint.as_str()), (Some(0), ""));
    assert_eq!(output, format!("{}: {old} is replaced by {new}\nmails: 2\n", ann.account_id));

    assert_eq!(signed_in.get("/console").await.status, 303);
    let changed = app.change_account(&ann.key, json!({})).await.expect(200);
    assert_eq!((&changed["email"], changed.get("pending")), (&json!(new), None));
    let events = app.call(Method::GET, "/v1/account/events", &ann.key, Value::Null).await;
    let events = events.expect(200)["events"].as_array().unwrap().clone();
    let event = events.iter().find(|event| event["kind"] == "address_changed").unwrap();
    assert_eq!(event["actor"], "operator");

    // The command takes the time from the machine, and a node sends its mails some seconds later.
    let ahead = Clock::System.now() + Duration::minutes(1) - app.clock.now();
    app.clock.advance(ahead.max(Duration::zero()));
    let warning = mail_about(&old, "The email of your Assent account was changed").await;
    for part in [&*ann.account_id, &new, "The operator of this service", "/contact"] {
        assert!(warning.contains(part), "{part}: {warning}");
    }
    let notice = mail_about(&new, "This address is now the email of your Assent account").await;
    assert!(notice.contains(&ann.account_id) && notice.contains("/console/sign-in"), "{notice}");
    Browser::new(&app).sign_in(&new).await;
}

#[tokio::test]
async fn an_address_that_another_account_has_is_refused() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let bob = app.account("bob@example.com").await;
    for (account, new, sentence) in [
        (&*ann.account_id, "Bob@example.com", "bob@example.com is the address of another account"),
        (
            &ann.account_id,
            "ann@example.com",
            "ann@example.com is the address of the account already",
        ),
        (&ann.account_id, "new", "invalid email"),
        ("acc_none", "new@example.com", "no account has the id acc_none"),
        ("no@example.com", "new@example.com", "no account has the address no@example.com"),
    ] {
        refused(&app, &["change-email", account, new], sentence).await;
    }
    assert_eq!(address_of(&app, &ann).await, "ann@example.com");

    let output = done(&app, &["change-email", &ann.account_id, "new@example.com"]).await;
    assert!(
        output.ends_with("ann@example.com is replaced by new@example.com\nmails: 0\n"),
        "{output}"
    );
    assert_eq!(address_of(&app, &ann).await, "new@example.com");
    assert_eq!(address_of(&app, &bob).await, "bob@example.com");
}

#[tokio::test]
async fn an_address_of_several_accounts_names_none_of_them() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let second = app.account("second@example.com").await;
    sqlx::query("UPDATE accounts SET email = $2, shares_address = true WHERE account_id = $1")
        .bind(&second.account_id)
        .bind("ann@example.com")
        .execute(&app.pool)
        .await
        .unwrap();
    let arguments = ["change-email", "ann@example.com", "new@example.com"];
    let (code, _, complaint) = operate(&app, &arguments).await;
    assert_eq!(code, Some(1));
    for account in [&ann, &second] {
        assert!(complaint.contains(&account.account_id), "{complaint}");
        assert_eq!(address_of(&app, account).await, "ann@example.com");
    }
}
