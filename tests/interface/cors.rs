//! Cross-origin requests: the answers that pages of other origins may read.

use reqwest::Method;

use crate::support::{Answer, App};

/// Routes that pages of any origin call, each with its method and a query or body that fails.
const VISITOR_ROUTES: [(&str, &str); 15] = [
    ("POST", "/v1/consent/record"),
    ("POST", "/api/v1/pixel/fire"),
    ("POST", "/v1/consent/shown"),
    ("POST", "/v1/consent/verify"),
    ("GET", "/v1/consent/proof"),
    ("POST", "/v1/consent/proof/verify"),
    ("GET", "/v1/consent/check"),
    ("GET", "/v1/consent/receipt"),
    ("GET", "/api/v1/consent/receipt"),
    ("GET", "/v1/policy/unknown"),
    ("GET", "/api/v1/policy/unknown"),
    ("GET", "/px/unknown.js"),
    ("GET", "/external_api/install-pixel/tag-pixel"),
    ("GET", "/pixels/no%20id/p.js"),
    ("GET", "/pixel.js"),
];

#[tokio::test]
async fn a_preflight_of_every_visitor_route_lets_any_origin_pass() {
    let app = App::spawn().await;
    for (method, path) in VISITOR_ROUTES {
        // Scripts are loaded without a preflight.
        if path.starts_with("/pixel") {
            continue;
        }
        let preflight = app
            .request(Method::OPTIONS, path)
            .header("origin", "https://shop.example")
            .header("access-control-request-method", method)
            .header("access-control-request-headers", "baggage, content-type, traceparent");
        let answer = Answer::of(preflight).await;
        assert_eq!((answer.status, answer.text.as_str()), (204, ""), "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{path}");
        assert_eq!(answer.header("access-control-allow-methods"), Some(method), "{path}");
        // Only requests with credentials treat `*` literally, and none of these has credentials.
        assert_eq!(answer.header("access-control-allow-headers"), Some("*"), "{path}");
        assert_eq!(answer.header("access-control-allow-credentials"), None, "{path}");
    }
}

#[tokio::test]
async fn every_answer_of_a_visitor_route_may_be_read_by_any_origin() {
    let app = App::spawn().await;
    for (method, path) in VISITOR_ROUTES {
        for method in [method, "PUT"] {
            let request = app.request(Method::from_bytes(method.as_bytes()).unwrap(), path);
            let answer = Answer::of(request.header("origin", "https://shop.example")).await;
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{method} {path}");
            assert_eq!(
                answer.header("cross-origin-resource-policy"),
                Some("cross-origin"),
                "{path}"
            );
            assert_eq!(answer.header("access-control-allow-credentials"), None, "{path}");
        }
    }
    let large = app.request(Method::POST, "/v1/consent/record").body(" ".repeat(70_000));
    let large = Answer::of(large).await;
    assert_eq!((large.status, large.header("access-control-allow-origin")), (413, Some("*")));
}

#[tokio::test]
async fn no_other_route_may_be_read_by_another_origin() {
    let app = App::spawn().await;
    let key = app.account("ann@example.com").await.key;
    let pixel = app.pixel(&key, "ann.example").await;
    for (method, path) in [
        ("GET", "/healthz"),
        ("GET", "/v1/whoami"),
        ("POST", "/v1/accounts"),
        ("POST", "/v1/api-keys"),
        ("GET", "/v1/pixels"),
        ("GET", &format!("/v1/pixels/{pixel}")),
        ("GET", &format!("/v1/pixels/{pixel}/consent")),
        ("OPTIONS", "/v1/pixels"),
        ("GET", "/log"),
    ] {
        let request = app.request(Method::from_bytes(method.as_bytes()).unwrap(), path);
        let request = request.bearer_auth(&key).header("origin", "https://evil.example");
        let answer = Answer::of(request).await;
        assert_eq!(answer.header("access-control-allow-origin"), None, "{method} {path}");
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"), "{path}");
    }
}
