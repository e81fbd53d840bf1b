//! The client's address behind a proxy, read from `CLIENT_IP_HEADER`.

use reqwest::Method;
use serde_json::json;

use crate::limits::rate_limits::{ON, is_limited};
use crate::support::{Answer, App};

const BEHIND_PROXY: (&str, &str) = ("CLIENT_IP_HEADER", "X-Client-Address");

/// A call that one client can make 30 times in a burst.
async fn confirm(app: &App, header: &str, lines: Vec<String>) -> Answer {
    let request = app.request(Method::POST, "/v1/accounts/acc_none/confirm");
    let request = lines.into_iter().fold(request, |request, line| request.header(header, line));
    Answer::of(request.json(&json!({"code": "123456"}))).await
}

/// Number of refused calls among 40 by different clients.
async fn refused_of_clients(header: &'static str, lines: impl Fn(usize) -> Vec<String>) -> usize {
    let app = App::spawn_with(&[ON, ("CLIENT_IP_HEADER", header)]).await;
    let mut refused = 0;
    for turn in 0..40 {
        let answer = confirm(&app, header, lines(turn)).await;
        assert!([404, 429].contains(&answer.status), "{}", answer.text);
        refused += usize::from(answer.status == 429);
    }
    refused
}

/// The header lines that the proxy sends for client number `number`.
type HeaderLines = fn(usize) -> Vec<String>;

#[tokio::test]
async fn clients_are_distinguished_however_the_proxy_writes_their_addresses() {
    const FORWARDED_FOR: &str = "X-Forwarded-For";
    let forms: [(&str, HeaderLines); 9] = [
        (FORWARDED_FOR, |n| vec![format!("203.0.113.{n}:4711")]),
        (FORWARDED_FOR, |n| vec![format!("[2001:db8:{n:x}::7]:4711")]),
        (FORWARDED_FOR, |n| vec![format!("\"[2001:db8:{n:x}::7]\"")]),
        (FORWARDED_FOR, |n| vec![format!("198.51.100.1, 203.0.113.{n}")]),
        (FORWARDED_FOR, |n| vec!["198.51.100.1".to_owned(), format!("203.0.113.{n}:80")]),
        (FORWARDED_FOR, |n| vec![format!("fe80:{n:x}::1%eth0")]),
        ("Forwarded", |n| vec![format!("for=198.51.100.1, for=203.0.113.{n};proto=https")]),
        ("Forwarded", |n| vec![format!("proto=https;For=\"[2001:db8:{n:x}::7]:4711\"")]),
        ("X-Real-IP", |n| vec![format!("::ffff:203.0.113.{n}")]),
    ];
    for (index, (header, lines)) in forms.into_iter().enumerate() {
        assert_eq!(refused_of_clients(header, lines).await, 0, "form {index}");
    }
    // Everything before the last element was sent by the client itself.
    let spoofed = |n| vec![format!("203.0.113.{n}, 198.51.100.1")];
    assert_eq!(refused_of_clients(FORWARDED_FOR, spoofed).await, 10);
    let spoofed = |n| vec![format!("203.0.113.{n}"), "198.51.100.1".to_owned()];
    assert_eq!(refused_of_clients(FORWARDED_FOR, spoofed).await, 10);
    let home = |n| vec![format!("[2001:db8:1:2::{n:x}]:80")];
    assert_eq!(refused_of_clients(FORWARDED_FOR, home).await, 10);
}

#[tokio::test]
async fn invalid_headers_count_as_the_proxys_address_and_in_a_metric() {
    let app = App::spawn_with(&[ON, BEHIND_PROXY]).await;
    for turn in 0..30 {
        assert_eq!(confirm(&app, BEHIND_PROXY.1, vec![format!("client-{turn}")]).await.status, 404);
    }
    is_limited(&confirm(&app, BEHIND_PROXY.1, vec!["unknown".to_owned()]).await, 5);
    let known = confirm(&app, BEHIND_PROXY.1, vec!["192.0.2.1".to_owned()]).await;
    assert_eq!(known.status, 404);
    app.request(Method::GET, "/v1/plans").send().await.unwrap();
    let scraped = app.metrics.scrape().unwrap();
    assert!(scraped.contains("\nassent_client_addresses_unread_total 31\n"), "{scraped}");
}
