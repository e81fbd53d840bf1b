//! The official Python client, which connects by the address alone.

use std::process::Stdio;

use reqwest::Method;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use url::form_urlencoded;

use crate::support::console::{Browser, leads_to, token_of};
use crate::support::mail::{MailServer, fresh_address};
use crate::support::{Answer, App};

/// Runs the client; this test is the person with a browser.
async fn connects(app: &App, browser: &mut Browser<'_>, mode: &str) -> String {
    let python = std::env::var("TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut agent = Command::new(python)
        .args(["tests/agents/connect.py", &app.url("/mcp"), mode])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("Python with the protocol's client is there");
    let mut answers = agent.stdin.take().unwrap();
    let mut requests = BufReader::new(agent.stdout.take().unwrap()).lines();
    while let Ok(Some(request)) = requests.next_line().await {
        let address = request.strip_prefix("AUTHORIZE ").expect("an address to open");
        let path = address.strip_prefix(&app.base).expect("an address of the service");
        let opened = browser.get(path).await;
        println!("the person opens the address: {}", opened.status);
        if opened.status == 303 {
            sign_up(browser, path, opened.header("location").unwrap()).await;
        }
        let back = allow(browser, path).await;
        println!("the person allows it and is sent to {}", back.split('?').next().unwrap());
        answers.write_all(format!("{back}\n").as_bytes()).await.unwrap();
    }
    let output = agent.wait_with_output().await.unwrap();
    let transcript = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{transcript}");
    transcript
}

/// Opens an account on the way from the sign-in back to the page that asks for permission.
async fn sign_up(browser: &mut Browser<'_>, path: &str, sign_in: &str) {
    let page = browser.page(sign_in).await;
    assert!(page.contains("<a href=\"/console/sign-up?"), "{page}");
    let email = fresh_address("new");
    let fields = [("email", &*email), ("display_name", "New"), ("next", path)];
    let sent = browser.post("/console/sign-up", &fields).await;
    let next = form_urlencoded::byte_serialize(path.as_bytes()).collect::<String>();
    leads_to(&sent, &format!("/console/sign-in/code?next={next}"));
    let code = MailServer::shared().newest(&email).await.code();
    let typed = browser.post("/console/sign-in/code", &[("code", &code), ("next", path)]).await;
    leads_to(&typed, path);
    println!("the person signs up, and types the code of the mail");
}

/// Opens the page, chooses what it proposes, and returns where the browser is sent.
async fn allow(browser: &mut Browser<'_>, path: &str) -> String {
    let page = browser.page(path).await;
    let account = page[page.find("acc_").unwrap()..].split('"').next().unwrap();
    let (before, _) = page.split_once("\" checked").expect("a proposal");
    let scope = before.rsplit('"').next().unwrap();
    let token = token_of(&page);
    let fields = [
        ("form_token", &*token),
        ("request", path.split_once('?').unwrap().1),
        ("account_id", account),
        ("scope", scope),
        ("answer", "allow"),
    ];
    let answer: Answer = browser.post("/oauth/authorize", &fields).await;
    assert_eq!(answer.status, 303, "{}", answer.text);
    answer.header("location").unwrap().to_owned()
}

#[tokio::test]
async fn the_official_python_client_connects_steps_up_and_refreshes() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    app.pixel(&ann.key, "ann.example").await;
    let mut browser = app.browser_of(&ann.key).await;
    let transcript = connects(&app, &mut browser, "auto").await;
    assert!(transcript.contains("connected") && transcript.contains("refreshed"), "{transcript}");
    let grants = app.call(Method::GET, "/v1/grants", &ann.key, Value::Null).await.expect(200);
    assert_eq!(grants["grants"][0]["app"], "Official Python client");
}

#[tokio::test]
async fn the_official_python_client_connects_a_person_without_an_account() {
    let app = App::spawn_with_mail().await;
    let mut browser = Browser::new(&app);
    let transcript = connects(&app, &mut browser, "auto").await;
    println!("{transcript}");
    for step in ["created a first pixel", "scope operate", "scope full", "refreshed"] {
        assert!(transcript.contains(step), "{step}: {transcript}");
    }
}
