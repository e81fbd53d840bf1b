//! Attacks with the request for authorization.

use super::{Changes, count};
use crate::support::App;
use crate::support::console::Browser;
use crate::support::oauth::{CALLBACK, VERIFIER, challenge_of, parameter};

/// What a request for authorization leads to.
#[derive(Clone, Copy)]
enum Told {
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
    let table: Vec<(&str, Changes<'_>, Told)> = vec![
        ("no client", vec![("client_id", None)], Told::Person),
        ("unknown client", vec![("client_id", Some("oc_unknown"))], Told::Person),
        ("empty client", vec![("client_id", Some(""))], Told::Person),
        ("another app's client", vec![("client_id", Some(&*other.client_id))], Told::Person),
        (
            "foreign host",
            vec![("redirect_uri", Some("https://evil.example/callback"))],
            Told::Person,
        ),
        (
            "longer path",
            vec![("redirect_uri", Some("https://agent.example/callback/x"))],
            Told::Person,
        ),
        ("shorter path", vec![("redirect_uri", Some("https://agent.example/"))], Told::Person),
        (
            "added query",
            vec![("redirect_uri", Some("https://agent.example/callback?x=1"))],
            Told::Person,
        ),
        (
            "fragment",
            vec![("redirect_uri", Some("https://agent.example/callback#x"))],
            Told::Person,
        ),
        (
            "subdomain",
            vec![("redirect_uri", Some("https://x.agent.example/callback"))],
            Told::Person,
        ),
        (
            "suffix",
            vec![("redirect_uri", Some("https://agent.example.evil.example/callback"))],
            Told::Person,
        ),
        ("port", vec![("redirect_uri", Some("https://agent.example:8443/callback"))], Told::Person),
        ("plain http", vec![("redirect_uri", Some("http://agent.example/callback"))], Told::Person),
        (
            "credentials",
            vec![("redirect_uri", Some("https://a@agent.example/callback"))],
            Told::Person,
        ),
        (
            "host in credentials",
            vec![("redirect_uri", Some("https://agent.example@evil.example/callback"))],
            Told::Person,
        ),
        (
            "backslash",
            vec![("redirect_uri", Some("https://agent.example\\@evil.example/callback"))],
            Told::Person,
        ),
        ("dots", vec![("redirect_uri", Some("https://agent.example/x/../callback"))], Told::Person),
        ("encoded", vec![("redirect_uri", Some("https://agent.example/%63allback"))], Told::Person),
        (
            "upper case",
            vec![("redirect_uri", Some("https://AGENT.example/callback"))],
            Told::Person,
        ),
        ("script", vec![("redirect_uri", Some("javascript:alert(1)"))], Told::Person),
        ("data", vec![("redirect_uri", Some("data:text/html,x"))], Told::Person),
        (
            "line break",
            vec![("redirect_uri", Some("https://agent.example/callback\r\nX: y"))],
            Told::Person,
        ),
        ("no scheme", vec![("redirect_uri", Some("//agent.example/callback"))], Told::Person),
        (
            "implicit",
            vec![("response_type", Some("token"))],
            Told::Agent("unsupported_response_type"),
        ),
        (
            "hybrid",
            vec![("response_type", Some("code token"))],
            Told::Agent("unsupported_response_type"),
        ),
        ("no type", vec![("response_type", None)], Told::Agent("unsupported_response_type")),
        (
            "fragment mode",
            vec![("response_mode", Some("fragment"))],
            Told::Agent("invalid_request"),
        ),
        ("posted form", vec![("response_mode", Some("form_post"))], Told::Agent("invalid_request")),
        (
            "no PKCE",
            vec![("code_challenge", None), ("code_challenge_method", None)],
            Told::Agent("invalid_request"),
        ),
        (
            "plain PKCE",
            vec![("code_challenge_method", Some("plain"))],
            Told::Agent("invalid_request"),
        ),
        ("PKCE by default", vec![("code_challenge_method", None)], Told::Agent("invalid_request")),
        (
            "lower-case method",
            vec![("code_challenge_method", Some("s256"))],
            Told::Agent("invalid_request"),
        ),
        ("challenge missing", vec![("code_challenge", None)], Told::Agent("invalid_request")),
        (
            "challenge short",
            vec![("code_challenge", Some(&*short))],
            Told::Agent("invalid_request"),
        ),
        (
            "challenge padded",
            vec![("code_challenge", Some(&*padded))],
            Told::Agent("invalid_request"),
        ),
        (
            "verifier as challenge",
            vec![("code_challenge", Some(VERIFIER))],
            Told::Agent("invalid_request"),
        ),
        (
            "other resource",
            vec![("resource", Some("https://other.example/mcp"))],
            Told::Agent("invalid_target"),
        ),
        (
            "the API as resource",
            vec![("resource", Some(&*app.base))],
            Told::Agent("invalid_target"),
        ),
        ("resource with slash", vec![("resource", Some(&*slash))], Told::Agent("invalid_target")),
        ("other scheme", vec![("resource", Some(&*foreign))], Told::Agent("invalid_target")),
        ("unknown scope", vec![("scope", Some("read admin"))], Told::Agent("invalid_scope")),
        ("only spaces", vec![("scope", Some("  "))], Told::Agent("invalid_scope")),
        ("request object", vec![("request", Some("eyJ"))], Told::Agent("request_not_supported")),
        (
            "request by address",
            vec![("request_uri", Some("https://evil.example"))],
            Told::Agent("request_not_supported"),
        ),
        ("endless state", vec![("state", Some(&*long))], Told::Agent("invalid_request")),
    ];
    let mut signed_in = app.browser_of(&ann.key).await;
    for (name, changes, told) in &table {
        let path = format!("/oauth/authorize?{}", agent.query(changes));
        for browser in [&mut Browser::new(&app), &mut signed_in] {
            let answer = browser.get(&path).await;
            match told {
                Told::Person => {
                    assert_eq!(answer.status, 400, "{name}: {answer:?}");
                    assert_eq!(answer.header("location"), None, "{name}");
                }
                Told::Agent(error) => {
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
