//! Mails to and from non-ASCII addresses, through servers with and without SMTPUTF8, and the name in
//! EHLO.

use serde_json::{Value, json};

use crate::support::postgres::database::TestDatabase;
use crate::support::process::{program, run, said};
use crate::support::{Answer, App, MailServer, fresh_address};

async fn sign_up(app: &App, email: &str) -> Answer {
    app.post("/v1/accounts", json!({"email": email, "display_name": "Test"})).await
}

/// Signs up and returns the mail that the server received.
async fn mail_of(server: &MailServer, settings: &[(&str, &str)], email: &str) -> Value {
    let settings = [settings, &[("SMTP_URL", server.url.as_str())]].concat();
    let app = App::spawn_with(&settings).await;
    sign_up(&app, email).await.expect(201);
    server.newest(email).await.0
}

#[tokio::test]
async fn a_non_ascii_sender_is_written_as_punycode() {
    let server = MailServer::without_smtputf8();
    for (sender, domain) in [
        ("Shop <no-reply@bücher.example>", "xn--bcher-kva.example"),
        ("Bücher & Söhne <no-reply@BÜCHER.example>", "xn--bcher-kva.example"),
        ("no-reply@例え.テスト", "xn--r8jz45g.xn--zckzah"),
        ("no-reply@shop.example", "shop.example"),
    ] {
        let mail = mail_of(&server, &[("MAIL_FROM", sender)], &fresh_address("ann")).await;
        assert_eq!(mail["envelope_from"], format!("no-reply@{domain}"), "{sender}");
        assert!(mail["from"].as_str().unwrap().contains(&format!("no-reply@{domain}")), "{mail}");
        let message_id = mail["headers"]["Message-ID"].as_str().unwrap();
        assert!(message_id.ends_with(&format!("@{domain}>")), "{message_id}");
        if let Some((name, _)) = sender.split_once(" <") {
            assert!(mail["from"].as_str().unwrap().starts_with(name), "{mail}");
        }
        let options = mail["options"].to_string();
        assert!(!options.contains("SMTPUTF8"), "{options}");
    }
}

#[tokio::test]
async fn a_non_ascii_recipient_needs_a_server_with_smtputf8() {
    let server = MailServer::without_smtputf8();
    let app = App::spawn_with(&[("SMTP_URL", &server.url)]).await;
    sign_up(&app, "ann@bücher.example").await.expect(201);
    let mail = server.newest("ann@xn--bcher-kva.example").await;
    assert_eq!(mail.0["to"], "ann@xn--bcher-kva.example");
    let refused = sign_up(&app, "jörg@shop.example").await;
    refused.refused(502, "could not send the confirmation email");
    // Nothing is left behind, as after every sign-up whose mail failed.
    let accounts = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM accounts WHERE email = $1");
    let accounts = accounts.bind("jörg@shop.example").fetch_one(&app.pool).await.unwrap();
    assert_eq!(accounts, 0);
    // A server that announces SMTPUTF8 gets the parameter for such addresses only.
    let app = App::spawn_with_mail().await;
    for (email, inbox, has_parameter) in [
        ("jörg@utf8.example", "jörg@utf8.example", true),
        ("θάλεια@bücher.example", "θάλεια@xn--bcher-kva.example", true),
        ("utf8@bücher.example", "utf8@xn--bcher-kva.example", false),
    ] {
        sign_up(&app, email).await.expect(201);
        let options = MailServer::shared().newest(inbox).await.0["options"].to_string();
        assert_eq!(options.contains("SMTPUTF8"), has_parameter, "{email}: {options}");
    }
}

#[tokio::test]
async fn a_sender_that_needs_smtputf8_is_refused_at_the_start() {
    let database = TestDatabase::create().await;
    for sender in ["jörg@shop.example", "Shop <großhandel@shop.example>"] {
        let mut command = program(&database.url);
        command.env("MAIL_FROM", sender);
        let (code, _, complaint) = said(&run(command).await);
        assert_eq!(code, Some(1), "{sender}");
        assert!(complaint.starts_with("assent: MAIL_FROM: must have an address "), "{complaint}");
    }
}

#[tokio::test]
async fn the_service_greets_the_mail_server_by_its_public_name() {
    let server = MailServer::without_smtputf8();
    for (base_url, name) in [
        ("https://consent.shop.example", "consent.shop.example"),
        ("https://bücher.example", "xn--bcher-kva.example"),
        ("http://192.0.2.7:8000", "[192.0.2.7]"),
    ] {
        let mail = mail_of(&server, &[("BASE_URL", base_url)], &fresh_address("ann")).await;
        assert_eq!(mail["hello"], name);
    }
    let mail = mail_of(&server, &[], &fresh_address("ann")).await;
    let machine = nix::unistd::gethostname().unwrap().into_string().unwrap().to_lowercase();
    assert_eq!(mail["hello"], machine);
}

#[tokio::test]
async fn the_name_of_the_greeting_can_be_chosen() {
    let server = MailServer::without_smtputf8();
    for (path, name) in [
        ("mail.shop.example", "mail.shop.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("192.0.2.8", "[192.0.2.8]"),
    ] {
        let url = format!("{}/{path}", server.url);
        let app =
            App::spawn_with(&[("SMTP_URL", &url), ("BASE_URL", "https://consent.shop.example")])
                .await;
        let email = fresh_address("ann");
        sign_up(&app, &email).await.expect(201);
        assert_eq!(server.newest(&email).await.0["hello"], name);
    }
}
