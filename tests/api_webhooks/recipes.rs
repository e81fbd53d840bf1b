//! The recipes of docs/webhooks.md, run: the receivers in Python and Node with the libraries that they
//! name, the others against a stand-in that takes and answers what the makers document.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use assent::clock::Clock;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::contacts::hem;
use crate::support::ports::free_port;
use crate::support::sites::https_site::{Reply, Seen};
use crate::support::waiting::wait_until;
use crate::support::webhooks::Hooks;

const CRM: &str = "tests/support/crm_stand_in.py";

/// A block of the document, by what stands after its fence.
fn block(name: &str) -> String {
    let text = std::fs::read_to_string("docs/webhooks.md").unwrap();
    let (_, rest) = text.split_once(&format!("```{name}\n")).expect(name);
    rest.split_once("```").expect("its end").0.to_owned()
}

/// A program of the document, in a process of its own; killed when dropped.
struct Program {
    child: Child,
    port: u16,
    _file: tempfile::NamedTempFile,
}

impl Program {
    async fn start(runs: &str, text: &str, settings: &[(&str, &str)]) -> Self {
        let file = tempfile::Builder::new().suffix(".cjs").tempfile().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let port = free_port();
        let modules = Path::new("tests/clients/node_modules").canonicalize().unwrap_or_default();
        let child = Command::new(runs)
            .arg(file.path())
            .env("PORT", port.to_string())
            .env("NODE_PATH", modules)
            .envs(settings.iter().copied())
            .stdout(Stdio::null())
            .spawn()
            .expect(runs);
        let program = Self { child, port, _file: file };
        let address = ("127.0.0.1", port);
        let listens = async || tokio::net::TcpStream::connect(address).await.is_ok();
        wait_until("the program listens", listens).await;
        program
    }

    /// Hands a delivery on, as the proxy before a receiver does.
    async fn post(&self, seen: &Seen, body: &str) -> u16 {
        let url = format!("http://127.0.0.1:{}/", self.port);
        let headers = ["webhook-id", "webhook-timestamp", "webhook-signature"];
        let request = reqwest::Client::new().post(url).body(body.to_owned());
        let request =
            headers.iter().fold(request, |request, name| request.header(*name, seen.header(name)));
        request.send().await.expect("it answers").status().as_u16()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn python() -> String {
    std::env::var("TEST_PYTHON").unwrap_or("python3".to_owned())
}

/// Receivers refuse what is older than five minutes, by their own clocks.
async fn hooks() -> Hooks {
    Hooks::with_clock(Clock::System).await
}

impl Hooks {
    async fn endpoint(&self, page: &str, format: &str, reply: Reply) -> Value {
        self.site.answer(page, reply);
        let body = json!({"url": format!("https://{page}"), "format": format});
        self.call(Method::POST, "/v1/webhooks", body).await.expect(201)
    }

    async fn store_person(&self, number: usize) {
        let contact = json!({"first_name": "Mara", "last_name": "Lindqvist",
            "email": "mara@example.com", "company": "<Lind & Co>", "note": "secret"});
        let items = json!([{"hem": hem(number), "contact": contact}]);
        self.app.store(&self.ann.key, &self.shop.pixel_id, items).await.expect(200);
    }

    async fn sent_one(&self, page: &str) -> Seen {
        self.arrived(page, 1).await;
        self.sent(page).remove(0)
    }
}

fn nothing() -> Reply {
    Reply::Whole(204, String::new(), Vec::new())
}

#[tokio::test]
async fn the_receivers_take_what_is_genuine_and_nothing_else() {
    let hooks = hooks().await;
    let made = hooks.endpoint("hooks.example/", "standard", nothing()).await;
    hooks.store_person(1).await;
    let seen = hooks.sent_one("hooks.example/").await;
    let secret = [("WEBHOOK_SECRET", made["secret"].as_str().unwrap())];
    for (runs, name) in [(python(), "python receiver"), ("node".to_owned(), "js receiver")] {
        let receiver = Program::start(&runs, &block(name), &secret).await;
        assert_eq!(receiver.post(&seen, &seen.body).await, 204, "{name}");
        assert_eq!(receiver.post(&seen, &seen.body).await, 204, "{name}: twice");
        let forged = seen.body.replace("Mara", "Mary");
        assert_eq!(receiver.post(&seen, &forged).await, 400, "{name}: forged");
        let unsigned = Seen { head: String::new(), ..seen.clone() };
        assert_eq!(receiver.post(&unsigned, &seen.body).await, 400, "{name}: unsigned");
    }
}

#[tokio::test]
async fn chats_get_messages_in_their_own_shape() {
    let hooks = hooks().await;
    let ok = Reply::Whole(200, String::new(), b"ok".to_vec());
    let slack = hooks.endpoint("hooks.example/services/T0/B0/X", "slack", ok).await;
    hooks.endpoint("other.example/api/webhooks/1/X", "discord", nothing()).await;
    hooks.store_person(1).await;
    let seen = hooks.sent_one("hooks.example/services/T0/B0/X").await;
    let body = serde_json::from_str::<Value>(&seen.body).unwrap();
    let person = body["text"].as_str().unwrap().split_once("/contacts/find?hem=").unwrap().1;
    let (hem, _) = person.split_once('|').unwrap();
    assert_eq!(hem.len(), 64);
    let link = format!("{}/console/sites/{}", hooks.app.base, hooks.shop.pixel_id);
    let link = format!("{link}/contacts/find?hem={hem}");
    let text = format!(
        "New contact on shop.example, number 1: Mara Lindqvist, mara@example.com, \
         &lt;Lind &amp; Co&gt;\n<{link}|Open in the console>"
    );
    assert_eq!(body, json!({"text": text}));
    assert_eq!(seen.header("content-type"), "application/json");
    let seen = hooks.sent_one("other.example/api/webhooks/1/X").await;
    let body = serde_json::from_str::<Value>(&seen.body).unwrap();
    assert_eq!(body["allowed_mentions"], json!({"parse": []}));
    assert!(body["content"].as_str().unwrap().contains("number 1\\: Mara Lindqvist"), "{body}");
    hooks.settled(&slack["endpoint_id"]).await;
    let list = hooks.deliveries(&slack["endpoint_id"]).await;
    assert_eq!(list["deliveries"][0]["answer"], "ok");
}

#[tokio::test]
async fn the_guide_shows_every_recipe() {
    let hooks = Hooks::start().await;
    let page = hooks.app.get("/guide/webhooks").await;
    assert_eq!(page.status, 200);
    for named in ["Slack", "Discord", "n8n", "Zapier", "HubSpot", "Salesforce", "composer require"]
    {
        assert!(page.text.contains(named), "{named}");
    }
    for program in ["python receiver", "js receiver", "php receiver", "python crm"] {
        let lines = block(program);
        let line = lines.lines().find(|line| line.len() > 40).unwrap();
        let shown = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        assert!(page.text.contains(&shown), "{program}: {shown}");
    }
    assert!(!page.text.contains("href=\"reference.md"), "its links lead somewhere here");
    let guide = hooks.app.get("/guide.md").await.text;
    assert!(guide.contains("/guide/webhooks"));
}

#[tokio::test]
async fn catch_hooks_take_events_as_they_are() {
    let hooks = hooks().await;
    let n8n = r#"{"message":"Workflow was started"}"#;
    let zapier = r#"{"attempt":"019","id":"019","request_id":"019","status":"success"}"#;
    for (page, answer) in
        [("hooks.example/webhook/a", n8n), ("other.example/hooks/catch/1/a", zapier)]
    {
        let reply = Reply::Whole(
            200,
            "Content-Type: application/json\r\n".to_owned(),
            answer.as_bytes().to_vec(),
        );
        let made = hooks.endpoint(page, "standard", reply).await;
        hooks.store_person(1).await;
        hooks.settled(&made["endpoint_id"]).await;
        let seen = hooks.sent(page).remove(0);
        assert_eq!(seen.header("content-type"), "application/json");
        let list = hooks.deliveries(&made["endpoint_id"]).await;
        assert_eq!(list["deliveries"][0]["answer"], answer);
    }
}

/// A stand-in of a CRM, and the program of the document before it.
async fn carried(kind: &str) {
    let hooks = hooks().await;
    let made = hooks.endpoint("hooks.example/", "standard", nothing()).await;
    let stand_in = std::fs::read_to_string(CRM).unwrap();
    let stand_in = Program::start(&python(), &stand_in, &[("CRM_TOKEN", "secret")]).await;
    let crm = format!("http://127.0.0.1:{}", stand_in.port);
    let secret = made["secret"].as_str().unwrap();
    let settings =
        [("WEBHOOK_SECRET", secret), ("CRM", kind), ("CRM_URL", &crm), ("CRM_TOKEN", "secret")];
    let program = Program::start(&python(), &block("python crm"), &settings).await;
    let people = async || {
        let client = reqwest::Client::new();
        let answer = client.get(format!("{crm}/people")).send().await.unwrap();
        answer.json::<Value>().await.unwrap()
    };
    hooks.app.recorded(&hooks.shop.acceptance("v1")).await;
    let item = json!([{"hem": hem(1), "visitor_id": "v1",
        "contact": {"first_name": "Mara", "email": "mara@example.com"}}]);
    hooks.app.store(&hooks.ann.key, &hooks.shop.pixel_id, item).await.expect(200);
    hooks.settled(&made["endpoint_id"]).await;
    for seen in hooks.sent("hooks.example/") {
        assert_eq!(program.post(&seen, &seen.body).await, 204, "{}", seen.body);
    }
    let known = people().await;
    assert!(known[hem(1)].to_string().contains("mara@example.com"), "{known}");
    let before = hooks.sent("hooks.example/").len();
    hooks.app.recorded(&hooks.shop.refusal("v1", "withdrawn")).await;
    hooks.arrived("hooks.example/", before + 2).await;
    for seen in hooks.sent("hooks.example/").iter().skip(before) {
        assert_eq!(program.post(seen, &seen.body).await, 204, "{}", seen.body);
        assert_eq!(program.post(seen, &seen.body).await, 204, "twice: {}", seen.body);
    }
    assert_eq!(people().await, json!({}));
}

#[tokio::test]
async fn hubspot_gets_people_and_loses_whoever_withdraws() {
    carried("hubspot").await;
}

#[tokio::test]
async fn salesforce_gets_people_and_loses_whoever_withdraws() {
    carried("salesforce").await;
}
