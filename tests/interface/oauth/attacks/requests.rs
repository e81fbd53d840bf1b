//! Attacks with the request for authorization.

use super::{Changes, count};
use crate::support::App;
use crate::support::console::Browser;
use crate::support::oauth::{CALLBACK, VERIFIER, challenge_of, parameter};

/// The recipient of the answer to a request for authorization.
#[derive(Clone, Copy)]
enum Recipient {
    /// A page for the person; nothing is sent anywhere.
    Person,
    /// The app, at its own address, with this error.
    Agent(&'static str),
}

#[tokio::test]
async fn requests_for_authorization_that_are_not_the_apps_own() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let agent = app.agent().await;
    let other = app.agent_at("https://other.example/callback").await;
    let short = "x".repeat(42);
    let padded = format!("{}=", challenge_of(VERIFIER));
    let long = "s".repeat(2_001);
    let slash = format!("{}/mcp/", app.base);
    let foreign = format!("{}/mcp", app.base.replace("http://", "https://"));
    let table: Vec<(&str, Changes<'_>, Recipient)> = vec![
        ("no client", vec![("client_id", None)], Recipient::Person),
        ("unknown client", vec![("client_id", Some("oc_unknown"))], Recipient::Person),
        ("empty client", vec![("client_id", Some(""))], Recipient::Person),
        ("another app's client", vec![("client_id", Some(&*other.client_id))], Recipient::Person),
        (
            "foreign host",
            vec![("redirect_uri", Some("https://evil.example/callback"))],
            Recipient::Person,
        ),
        (
            "longer path",
            vec![("redirect_uri", Some("https://agent.example/callback/x"))],
            Recipient::Person,
        ),
        ("shorter path", vec![("redirect_uri", Some("https://agent.example/"))], Recipient::Person),
        (
            "added query",
            vec![("redirect_uri", Some("https://agent.example/callback?x=1"))],
            Recipient::Person,
        ),
        (
            "fragment",
            vec![("redirect_uri", Some("https://agent.example/callback#x"))],
            Recipient::Person,
        ),
        (
            "subdomain",
            vec![("redirect_uri", Some("https://x.agent.example/callback"))],
            Recipient::Person,
        ),
        (
            "suffix",
            vec![("redirect_uri", Some("https://agent.example.evil.example/callback"))],
            Recipient::Person,
        ),
        (
            "port",
            vec![("redirect_uri", Some("https://agent.example:8443/callback"))],
            Recipient::Person,
        ),
        (
            "plain http",
            vec![("redirect_uri", Some("http://agent.example/callback"))],
            Recipient::Person,
        ),
        (
            "credentials",
            vec![("redirect_uri", Some("https://a@agent.example/callback"))],
            Recipient::Person,
        ),
        (
            "host in credentials",
            vec![("redirect_uri", Some("https://agent.example@evil.example/callback"))],
            Recipient::Person,
        ),
        (
            "backslash",
            vec![("redirect_uri", Some("https://agent.example\\@evil.example/callback"))],
            Recipient::Person,
        ),
        (
            "dots",
            vec![("redirect_uri", Some("https://agent.example/x/../callback"))],
            Recipient::Person,
        ),
        (
            "encoded",
            vec![("redirect_uri", Some("https://agent.example/%63allback"))],
            Recipient::Person,
        ),
        (
            "upper case",
            vec![("redirect_uri", Some("https://AGENT.example/callback"))],
            Recipient::Person,
        ),
        ("script", vec![("redirect_uri", Some("javascript:alert(1)"))], Recipient::Person),
        ("data", vec![("redirect_uri", Some("data:text/html,x"))], Recipient::Person),
        (
            "line break",
            vec![("redirect_uri", Some("https://agent.example/callback\r\nX: y"))],
            Recipient::Person,
        ),
        ("no scheme", vec![("redirect_uri", Some("//agent.example/callback"))], Recipient::Person),
        (
            "implicit",
            vec![("response_type", Some("token"))],
            Recipient::Agent("unsupported_response_type"),
        ),
        (
            "hybrid",
            vec![("response_type", Some("code token"))],
            Recipient::Agent("unsupported_response_type"),
        ),
        ("no type", vec![("response_type", None)], Recipient::Agent("unsupported_response_type")),
        (
            "fragment mode",
            vec![("response_mode", Some("fragment"))],
            Recipient::Agent("invalid_request"),
        ),
        (
            "posted form",
            vec![("response_mode", Some("form_post"))],
            Recipient::Agent("invalid_request"),
        ),
        (
            "no PKCE",
            vec![("code_challenge", None), ("code_challenge_method", None)],
            Recipient::Agent("invalid_request"),
        ),
        (
            "plain PKCE",
            vec![("code_challenge_method", Some("plain"))],
            Recipient::Agent("invalid_request"),
        ),
        (
            "PKCE by default",
            vec![("code_challenge_method", None)],
            Recipient::Agent("invalid_request"),
        ),
        (
            "lower-case method",
            vec![("code_challenge_method", Some("s256"))],
            Recipient::Agent("invalid_request"),
        ),
        ("challenge missing", vec![("code_challenge", None)], Recipient::Agent("invalid_request")),
        (
            "challenge short",
            vec![("code_challenge", Some(&*short))],
            Recipient::Agent("invalid_request"),
        ),
        (
            "challenge padded",
            vec![("code_challenge", Some(&*padded))],
            Recipient::Agent("invalid_request"),
        ),
        (
            "verifier as challenge",
            vec![("code_challenge", Some(VERIFIER))],
            Recipient::Agent("invalid_request"),
        ),
        (
            "other resource",
            vec![("resource", Some("https://other.example/mcp"))],
            Recipient::Agent("invalid_target"),
        ),
        (
            "the API as resource",
            vec![("resource", Some(&*app.base))],
            Recipient::Agent("invalid_target"),
        ),
        (
            "resource with slash",
            vec![("resource", Some(&*slash))],
            Recipient::Agent("invalid_target"),
        ),
        ("other scheme", vec![("resource", Some(&*foreign))], Recipient::Agent("invalid_target")),
        ("unknown scope", vec![("scope", Some("read admin"))], Recipient::Agent("invalid_scope")),
        ("only spaces", vec![("scope", Some("  "))], Recipient::Agent("invalid_scope")),
        (
            "request object",
            vec![("request", Some("eyJ"))],
            Recipient::Agent("request_not_supported"),
        ),
        (
            "request by address",
            vec![("request_uri", Some("https://evil.example"))],
            Recipient::Agent("request_not_supported"),
        ),
        ("endless state", vec![("state", Some(&*long))], Recipient::Agent("invalid_request")),
    ];
    let mut signed_in = app.browser_of(&ann.key).await;
    for (name, changes, recipient) in &table {
        let path = format!("/oauth/authorize?{}", agent.query(changes));
        for browser in [&mut Browser::new(&app), &mut signed_in] {
            let answer = browser.get(&path).await;
            match recipient {
                Recipient::Person => {
                    assert_eq!(answer.status, 400, "{name}: {answer:?}");
                    assert_eq!(answer.header("location"), None, "{name}");
                }
                Recipient::Agent(error) => {
                    assert_eq!(answer.status, 303, "{name}: {answer:?}");
                    let to = answer.header("location").unwrap();
                    assert!(to.starts_with(&format!("{CALLBACK}?")), "{name}: {to}");
                    assert_eq!(parameter(&answer, "error").as_deref(), Some(*error), "{name}");
                    assert_eq!(parameter(&answer, "iss").as_deref(), Some(&*app.base), "{name}");
                    assert_eq!(parameter(&answer, "code"), None, "{name}");
                }
            }
        }
    }
    for twice in ["redirect_uri=https://evil.example/", "client_id=x", "scope=full", "resource=x"] {
        let path = format!("/oauth/authorize?{}&{twice}", agent.query(&[]));
        assert_eq!(signed_in.get(&path).await.status, 400, "{twice}");
    }
    assert_eq!(count(&app, "oauth_codes").await, 0);
}
