//! The tool server at `/mcp`, by the official Python client and by hand.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

use crate::support::sites::https_site::{HttpsSite, Reply, ca_file};
use crate::support::tools::{call, call_with, done, list, refused};
use crate::support::{App, MailServer, Shop, fresh_address};

/// Runs the client's story; this test is the person, the site and the visitor.
async fn story(mode: &str) -> String {
    let site = HttpsSite::start(&["shop.example"]).await;
    site.answer("shop.example/", Reply::page("<p>no pixel yet"));
    let resolve = format!("shop.example={}", site.address);
    let app = App::spawn_with(&[
        ("SMTP_URL", &MailServer::shared().url),
        ("INSTALL_CHECK_RESOLVE", &resolve),
        ("INSTALL_CHECK_CA_FILE", ca_file()),
    ])
    .await;
    let email = fresh_address("agent");
    let python = std::env::var("TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut agent = Command::new(python)
        .args(["tests/agents/story.py", &app.url("/mcp"), &email, "shop.example", mode])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("Python with the protocol's client is there");
    let mut answers = agent.stdin.take().unwrap();
    let mut requests = BufReader::new(agent.stdout.take().unwrap()).lines();
    while let Ok(Some(request)) = requests.next_line().await {
        let answer = match request.split_once(' ').unwrap_or((&request, "")) {
            ("CODE", _) => MailServer::shared().newest(&email).await.code(),
            ("PASTE", snippet) => {
                site.answer("shop.example/", Reply::page(format!("<head>{snippet}</head>")));
                "done".to_owned()
            }
            ("VISIT", policy) => {
                accept(&app, policy).await;
                "done".to_owned()
            }
            other => panic!("nobody understands {other:?}"),
        };
        answers.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    }
    let output = agent.wait_with_output().await.unwrap();
    let transcript = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{transcript}");
    transcript
}

/// A visitor of the only pixel there is accepts `resolution`.
async fn accept(app: &App, policy: &str) {
    let pixel: String =
        sqlx::query_scalar("SELECT pixel_id FROM pixels WHERE domain = 'shop.example'")
            .fetch_one(&app.pool)
            .await
            .unwrap();
    app.recorded(&json!({
        "pixel_id": pixel, "visitor_id": "visitor-1", "url": "https://shop.example/",
        "consent": "accepted", "affirmative": true, "policy_version_hash": policy,
        "purposes": ["resolution"],
    }))
    .await;
}

#[tokio::test]
async fn the_official_client_gets_from_signup_to_receipt_by_the_newest_protocol() {
    let transcript = story("auto").await;
    assert!(transcript.starts_with("protocol 2026-07-28"), "{transcript}");
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join("agent-transcript.txt"), &transcript).unwrap();
}

#[tokio::test]
async fn the_official_client_gets_from_signup_to_receipt_by_the_handshake_of_2025() {
    let transcript = story("legacy").await;
    assert!(transcript.starts_with("protocol 2025-"), "{transcript}");
}

#[tokio::test]
async fn the_list_of_tools_is_the_one_that_was_agreed_on() {
    let app = App::spawn().await;
    for (path, file) in [("/mcp", "usual"), ("/mcp/x/all", "all")] {
        let listed = serde_json::to_string_pretty(&list(&app, path, None).await).unwrap() + "\n";
        crate::support::snapshot::matches(&format!("tests/agents/tools_{file}.json"), &listed);
    }
}

#[tokio::test]
async fn tools_that_change_nothing_say_so_and_only_they() {
    let app = App::spawn().await;
    for tool in list(&app, "/mcp/x/all", None).await {
        let name = tool["name"].as_str().unwrap();
        let reads = [
            "list_",
            "show_",
            "read_",
            "count_",
            "find_",
            "get_",
            "check_consent",
            "verify_receipt",
            "verify_proof",
            "whoami",
        ]
        .iter()
        .any(|start| name.starts_with(start));
        // Left out stands for what the protocol takes for granted: a tool changes things, and destroys some.
        let hint = |hint: &str, granted| tool["annotations"][hint].as_bool().unwrap_or(granted);
        assert_eq!(hint("readOnlyHint", false), reads, "{name}");
        let destroys = [
            "delete_pixel",
            "erase_contact",
            "suppress_person",
            "erase_visitor",
            "complete_erasure_request",
            "unsuppress_person",
            "turn_off_consent",
            "rename_pixel",
            "move_pixel",
            "end_move",
            "cancel_move",
            "renew_signup_token",
            "configure_consent",
            "store_contacts",
            "verify_claim",
            "disown_account",
            "revoke_api_key",
            "revoke_shared_link",
            "change_account",
            "change_member",
            "remove_member",
            "delete_account",
            "delete_webhook",
            "rotate_webhook_secret",
        ];
        if !reads {
            assert_eq!(hint("destructiveHint", true), destroys.contains(&name), "{name}");
        }
    }
}

#[tokio::test]
async fn another_tenants_key_sees_nothing() {
    let app = App::spawn().await;
    let (owner, other) =
        (app.account("ann@example.com").await, app.account("ben@example.com").await);
    let created =
        call(&app, "create_pixel", json!({"domain": "a.example", "api_key": owner.key})).await;
    let pixel = done(&created)["pixel_id"].as_str().unwrap();
    let about = |more: Value| {
        let mut arguments = json!({"pixel_id": pixel, "api_key": other.key});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let consent = json!({"controller_name": "Mallory", "purposes": ["resolution"]});
    for (tool, more) in [
        ("show_pixel", json!({})),
        ("rename_pixel", json!({"domain": "b.example"})),
        ("delete_pixel", json!({})),
        ("check_install", json!({})),
        ("get_commerce_snippet", json!({"action": "add_to_cart"})),
        ("email_snippet", json!({"email": "m@example.com"})),
        ("configure_consent", consent.clone()),
        (
            "configure_consent",
            json!({"dry_run": true, "controller_name": "M", "purposes": ["resolution"]}),
        ),
        ("turn_off_consent", json!({})),
        ("read_consent_log", json!({})),
        ("read_consent_stats", json!({})),
        ("read_contacts", json!({"after": 0})),
        ("store_contacts", json!({"contacts": []})),
        ("erase_contact", json!({"hem": "a".repeat(64)})),
    ] {
        refused(&call(&app, tool, about(more)).await, 404, "pixel not found");
    }
    let listed = call(&app, "list_pixels", json!({"api_key": other.key})).await;
    assert_eq!(done(&listed)["pixels"], json!([]));
    let checkout = json!({"account_id": owner.account_id, "api_key": other.key});
    for tool in ["open_checkout", "open_billing_portal"] {
        refused(&call(&app, tool, checkout.clone()).await, 404, "account not found");
    }
    let kept = call(&app, "show_pixel", json!({"pixel_id": pixel, "api_key": owner.key})).await;
    assert_eq!(done(&kept)["consent_enabled"], false);
}

#[tokio::test]
async fn credentials_come_from_headers_and_an_argument_counts_before_them() {
    let app = App::spawn().await;
    let (ann, ben) = (app.account("ann@example.com").await, app.account("ben@example.com").await);
    let bearer = format!("Bearer {}", ann.key);
    for headers in [("Authorization", bearer.as_str()), ("X-API-Key", ann.key.as_str())] {
        let who = call_with(&app, &[headers], "whoami", json!({})).await;
        assert_eq!(done(&who)["account_id"], ann.account_id.as_str());
        let who = call_with(&app, &[headers], "whoami", json!({"api_key": ben.key})).await;
        assert_eq!(done(&who)["account_id"], ben.account_id.as_str());
        let who = call_with(&app, &[headers], "whoami", json!({"api_key": " "})).await;
        assert_eq!(done(&who)["account_id"], ann.account_id.as_str());
    }
    refused(&call(&app, "whoami", json!({})).await, 401, "api key required");
    refused(&call(&app, "whoami", json!({"api_key": "px_no"})).await, 401, "invalid api key");
    refused(&call(&app, "list_pixels", json!({"api_key": "px_no"})).await, 403, "invalid api key");
}

#[tokio::test]
async fn without_a_mail_server_the_link_of_the_answer_confirms() {
    let app = App::spawn().await;
    let opened =
        call(&app, "create_account", json!({"email": "a@example.com", "display_name": "Ann"}))
            .await;
    let opened = done(&opened);
    let (account, token) = (&opened["account_id"], opened["signup_token"].as_str().unwrap());
    let link = &opened["verification_url"];
    for (bad, status, sentence) in [
        ("", 400, "verification token required"),
        ("https://elsewhere.example/", 400, "verification token required"),
        ("nonsense", 404, "verification link not found"),
    ] {
        let result = call(&app, "confirm_by_link", json!({"verification_url": bad})).await;
        refused(&result, status, sentence);
    }
    let confirmed = call(&app, "confirm_by_link", json!({"verification_url": link})).await;
    assert_eq!(done(&confirmed)["email_verified"], true);
    let header = [("x-signup-token", token)];
    let issued = call_with(&app, &header, "issue_api_key", json!({"account_id": account})).await;
    assert!(done(&issued)["api_key"].as_str().unwrap().starts_with("px_"));
    refused(
        &call(&app, "issue_api_key", json!({"account_id": account})).await,
        401,
        "api key or signup token required",
    );
    let again = json!({"account_id": account, "signup_token": token});
    let resent = call(&app, "resend_confirmation", again).await;
    assert_eq!(done(&resent)["status"], "already_verified");
}

#[tokio::test]
async fn a_person_pays_on_the_page_that_a_tool_opened() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let payer = json!({"account_id": ann.account_id, "api_key": ann.key});
    let none = call(&shop.app, "open_billing_portal", payer.clone()).await;
    refused(&none, 409, "no subscription yet");
    let token = json!({"account_id": ann.account_id, "signup_token": ann.signup_token});
    let opened = call(&shop.app, "open_checkout", token).await;
    assert_eq!(done(&opened)["monthly_cents"], 100);
    let again = call(&shop.app, "open_checkout", payer.clone()).await;
    assert_eq!(done(&again)["url"], done(&opened)["url"]);
    let session = done(&opened)["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    shop.provider.pay(&session, shop.now());
    assert_eq!(shop.complete_checkout(&session).await.status, 200);
    let who = call(&shop.app, "whoami", json!({"api_key": ann.key})).await;
    assert_eq!(done(&who)["plan"], "paid");
    assert!(done(&who)["paid_until"].is_string());
    refused(&call(&shop.app, "open_checkout", payer.clone()).await, 409, "already subscribed");
    let portal = call(&shop.app, "open_billing_portal", payer).await;
    assert!(done(&portal)["url"].as_str().unwrap().starts_with("https://"));
    let quote = call(&shop.app, "show_quote", json!({"api_key": ann.key})).await;
    assert_eq!(done(&quote)["total_cents"], 100);
}

#[tokio::test]
async fn a_code_renews_the_signup_token() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("renewal");
    let opened = call(&app, "create_account", json!({"email": email, "display_name": "Ann"})).await;
    let account = done(&opened)["account_id"].clone();
    let too_soon = call(&app, "resend_code", json!({"email": email})).await;
    refused(&too_soon, 429, "wait before sending the confirmation code again");
    app.clock.advance(chrono::Duration::hours(2));
    let token = &done(&opened)["signup_token"];
    let late = json!({"account_id": account, "signup_token": token});
    refused(&call(&app, "show_account", late).await, 401, "signup token expired");
    done(&call(&app, "resend_code", json!({"email": email})).await);
    let mails = MailServer::shared().wait_for(&email, 2).await;
    let wrong = json!({"account_id": account, "email": email, "code": "000000"});
    refused(&call(&app, "renew_signup_token", wrong).await, 400, "invalid code");
    let renewal = json!({"account_id": account, "email": email, "code": mails[1].code()});
    let renewed = call(&app, "renew_signup_token", renewal).await;
    let renewed = json!({"account_id": account, "signup_token": done(&renewed)["signup_token"]});
    assert_eq!(done(&call(&app, "show_account", renewed).await)["email"], email.as_str());
}
