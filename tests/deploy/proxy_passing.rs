//! Headers that the proxy passes on, and headers that it replaces.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde_json::{Value, json};

use crate::database::TestDatabase;
use crate::fake_node::{Conduct, FakeNode};
use crate::process::{Process, program};
use crate::proxy::{Proxy, client, client_with, free_address};

const FORGED: [(&str, &str); 6] = [
    ("X-Real-IP", "203.0.113.9"),
    ("X-Forwarded-For", "203.0.113.9"),
    ("X-Forwarded-Proto", "gopher"),
    ("X-Forwarded-Host", "forged.example"),
    ("X-Forwarded-Port", "70"),
    ("Forwarded", "for=203.0.113.9"),
];

fn address_of(node: &Process) -> SocketAddr {
    format!("127.0.0.1:{}", node.port()).parse().unwrap()
}

#[tokio::test]
async fn forwarding_headers_of_a_client_are_overwritten() {
    let node = FakeNode::start(Conduct::Answers("200 OK", "{}")).await;
    let proxy = Proxy::before(&[node.address]).await;
    for path in ["/", "/v1/consent/record", "/api/v1/pixel/fire", "/v1/pixels/some/contacts"] {
        let request = client().post(proxy.url(path));
        let forged =
            FORGED.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        assert_eq!(forged.send().await.unwrap().status(), 200);
    }
    for head in node.requests() {
        assert!(!head.contains("203.0.113.9") && !head.contains("forged"), "{head}");
        assert!(!head.contains("\nforwarded:") && !head.contains("gopher"), "{head}");
        assert!(head.contains("\nx-real-ip: 127.0.0.1\r"), "{head}");
        assert!(head.contains("\nx-forwarded-for: 127.0.0.1\r"), "{head}");
        assert!(head.contains("\nx-forwarded-proto: http\r"), "{head}");
        assert!(head.contains("\nhost: 127.0.0.1\r"), "{head}");
    }
    assert_eq!(node.requests().len(), 4);
}

#[tokio::test]
async fn a_forged_address_does_not_escape_the_rate_limits_and_a_real_one_has_its_own() {
    let database = TestDatabase::create().await;
    let mut command = program(&database.url);
    command.env("RATE_LIMITS", "on").env("CLIENT_IP_HEADER", "X-Real-IP");
    let node = Process::start(command).await;
    let proxy = Proxy::before(&[address_of(&node)]).await;
    // Six digits can be guessed: 30 at once, then one every 5 seconds.
    let guess = async |client: &reqwest::Client, forged: &str| {
        let request = client.post(proxy.url("/v1/accounts/acc_nobody/confirm"));
        let request = request.header("X-Real-IP", forged).header("X-Forwarded-For", forged);
        request.json(&json!({"code": "123456"})).send().await.unwrap().status().as_u16()
    };
    let one = client();
    let mut statuses = Vec::new();
    for number in 0..40 {
        statuses.push(guess(&one, &format!("203.0.113.{number}")).await);
    }
    assert_eq!(&statuses[..30], &[404; 30]);
    assert_eq!(statuses[39], 429);
    let elsewhere = client_with(|builder| builder.local_address(IpAddr::from([127, 0, 0, 2])));
    assert_eq!(guess(&elsewhere, "203.0.113.1").await, 404);
}

#[tokio::test]
async fn compressed_scripts_pass_as_the_node_made_them() {
    let database = TestDatabase::create().await;
    let node = Process::start(program(&database.url)).await;
    let proxy = Proxy::before(&[address_of(&node)]).await;
    let get = async |url: String, encoding: &str| {
        let request = client().get(url).header("Accept-Encoding", encoding);
        request.send().await.unwrap()
    };
    // At first a script goes out plain: it is compressed aside.
    while !get(node.url("/pixel.js"), "br").await.headers().contains_key("content-encoding") {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for encoding in ["br", "gzip", "identity"] {
        let direct = get(node.url("/pixel.js"), encoding).await;
        let passed = get(proxy.url("/pixel.js"), encoding).await;
        for name in ["content-encoding", "content-type", "content-length", "vary", "cache-control"]
        {
            assert_eq!(passed.headers().get(name), direct.headers().get(name), "{encoding} {name}");
        }
        let expected = (encoding != "identity").then_some(encoding);
        let sent = passed.headers().get("content-encoding").map(|sent| sent.to_str().unwrap());
        assert_eq!(sent, expected);
        assert_eq!(passed.bytes().await.unwrap(), direct.bytes().await.unwrap());
    }
}

#[tokio::test]
async fn a_nodes_own_refusal_passes_as_it_is_and_is_not_tried_elsewhere() {
    let body = r#"{"status":503,"detail":"database unavailable"}"#;
    let busy = Conduct::Answers("503 Service Unavailable", body);
    let nodes = [FakeNode::start(busy).await, FakeNode::start(busy).await];
    let proxy = Proxy::before(&[nodes[0].address, nodes[1].address]).await;
    for _ in 0..4 {
        let answer = client().get(proxy.url("/healthz")).send().await.unwrap();
        assert_eq!(answer.status(), 503);
        assert_eq!(answer.headers()["retry-after"], "7");
        assert_eq!(answer.text().await.unwrap(), body);
    }
    assert_eq!(nodes[0].requests().len() + nodes[1].requests().len(), 4);
}

#[tokio::test]
async fn with_tls_everything_else_is_sent_on_to_it() {
    let node = FakeNode::start(Conduct::Answers("200 OK", "{}")).await;
    let (proxy, authority) = Proxy::with_tls_before(&[node.address]).await;
    let client = client_with(|builder| builder.add_root_certificate(authority));
    let (secure, plain) = (proxy.tls.port(), proxy.plain.port());
    let answer = client.get(format!("https://localhost:{secure}/healthz")).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(node.requests()[0].contains("\nx-forwarded-proto: https\r"));
    let sent_on = client.get(format!("http://localhost:{plain}/px/a.js?lang=de")).send().await;
    let sent_on = sent_on.unwrap();
    assert_eq!(sent_on.status(), 301);
    assert_eq!(sent_on.headers()["location"], "https://localhost/px/a.js?lang=de");
    assert_eq!(node.requests().len(), 1);
}

#[tokio::test]
async fn without_any_node_the_answer_is_a_problem_that_pages_may_read() {
    let proxy = Proxy::before(&[free_address(), free_address()]).await;
    let answer = client().get(proxy.url("/v1/consent/check?pixel_id=a&visitor_id=b")).send().await;
    let answer = answer.unwrap();
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    assert_eq!(answer.headers()["access-control-allow-origin"], "*");
    assert_eq!(answer.headers()["retry-after"], "1");
    let problem = answer.json::<Value>().await.unwrap();
    assert_eq!(problem["detail"], "the service is busy, try again");
}
