//! An app that connects to the tool server, and the person who allows it.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::Url;
use url::form_urlencoded::Serializer;

use super::console::{Browser, token_of};
use super::tools;
use super::{Answer, App};

pub const VERIFIER: &str = "the-verifier-of-the-tests-is-long-enough-0123456789";
pub const CALLBACK: &str = "https://agent.example/callback";

/// A registered app.
pub struct Agent<'a> {
    pub app: &'a App,
    pub client_id: String,
    pub redirect_uri: String,
}

/// What an app holds once it is connected.
#[derive(Clone, Debug)]
pub struct Tokens {
    pub access: String,
    pub refresh: String,
    pub scope: String,
}

impl Tokens {
    pub fn of(answer: &Answer) -> Self {
        let tokens = answer.expect(200);
        assert_eq!(tokens["token_type"], "Bearer");
        let text = |name: &str| tokens[name].as_str().unwrap().to_owned();
        Self { access: text("access_token"), refresh: text("refresh_token"), scope: text("scope") }
    }
}

pub fn challenge_of(verifier: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

impl App {
    pub async fn agent(&self) -> Agent<'_> {
        self.agent_at(CALLBACK).await
    }

    pub async fn agent_at(&self, redirect_uri: &str) -> Agent<'_> {
        let body = json!({"client_name": "Test agent", "redirect_uris": [redirect_uri]});
        let client = self.post("/oauth/register", body).await.expect(201);
        let client_id = client["client_id"].as_str().unwrap().to_owned();
        Agent { app: self, client_id, redirect_uri: redirect_uri.to_owned() }
    }

    /// An app that is connected to the account of a key.
    pub async fn connected(&self, key: &str, scope: &str) -> (Agent<'_>, Tokens) {
        let agent = self.agent().await;
        let tokens = agent.connect(&mut self.browser_of(key).await, scope).await;
        (agent, tokens)
    }

    /// Posts a form to an endpoint of the protocol.
    pub async fn form(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        Answer::of(self.request(Method::POST, path).form(fields)).await
    }

    /// Calls a tool with a credential in the header.
    pub async fn tool_by(&self, token: &str, tool: &str, arguments: Value) -> Answer {
        let call = json!({"name": tool, "arguments": arguments});
        let request = tools::post(self).bearer_auth(token);
        Answer::of(request.json(&tools::message("tools/call", call))).await
    }

    /// Whether the tool server takes a token.
    pub async fn takes(&self, token: &str) -> bool {
        match self.tool_by(token, "list_pixels", json!({})).await {
            Answer { status: 200, text, .. } => !text.contains("isError\":true"),
            Answer { status: 401, .. } => false,
            other => panic!("{other:?}"),
        }
    }
}

impl Agent<'_> {
    /// The query of a request for authorization: with some parameters changed, added or left out.
    pub fn query(&self, changes: &[(&str, Option<&str>)]) -> String {
        let (resource, challenge) = (self.app.url("/mcp"), challenge_of(VERIFIER));
        let usual = [
            ("response_type", "code"),
            ("client_id", &self.client_id),
            ("redirect_uri", &self.redirect_uri),
            ("state", "state-1"),
            ("scope", "operate"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("resource", &resource),
        ];
        let is_changed = |name: &str| changes.iter().any(|(changed, _)| *changed == name);
        let mut query = Serializer::new(String::new());
        query.extend_pairs(usual.iter().filter(|(name, _)| !is_changed(name)));
        let changed = changes.iter().filter_map(|(name, value)| Some((*name, (*value)?)));
        query.extend_pairs(changed);
        query.finish()
    }

    /// The person answers the page of a request, whose first account is chosen.
    pub async fn answered(
        &self,
        browser: &mut Browser<'_>,
        query: &str,
        fields: &[(&str, &str)],
    ) -> Answer {
        let page = browser.page(&format!("/oauth/authorize?{query}")).await;
        let (token, account_id) = (token_of(&page), account_on(&page));
        let fields =
            [fields, &[("form_token", &*token), ("request", query), ("account_id", &*account_id)]];
        browser.post("/oauth/authorize", &fields.concat()).await
    }

    /// The code that the person's permission gives.
    pub async fn code(&self, browser: &mut Browser<'_>, scope: &str) -> String {
        let fields = [("answer", "allow"), ("scope", scope)];
        let answer = self.answered(browser, &self.query(&[]), &fields).await;
        parameter(&answer, "code").unwrap_or_else(|| panic!("{answer:?}"))
    }

    pub async fn redeem(&self, code: &str) -> Answer {
        self.redeem_with(code, &[]).await
    }

    /// Exchanges a code, with some fields changed, added or left out.
    pub async fn redeem_with(&self, code: &str, changes: &[(&str, Option<&str>)]) -> Answer {
        let resource = self.app.url("/mcp");
        let usual = [
            ("grant_type", "authorization_code"),
            ("client_id", &*self.client_id),
            ("code", code),
            ("redirect_uri", &self.redirect_uri),
            ("code_verifier", VERIFIER),
            ("resource", &resource),
        ];
        self.app.form("/oauth/token", &changed(&usual, changes)).await
    }

    pub async fn refresh(&self, token: &str) -> Answer {
        self.refresh_with(token, &[]).await
    }

    pub async fn refresh_with(&self, token: &str, changes: &[(&str, Option<&str>)]) -> Answer {
        let usual = [
            ("grant_type", "refresh_token"),
            ("client_id", &*self.client_id),
            ("refresh_token", token),
        ];
        self.app.form("/oauth/token", &changed(&usual, changes)).await
    }

    pub async fn connect(&self, browser: &mut Browser<'_>, scope: &str) -> Tokens {
        let code = self.code(browser, scope).await;
        Tokens::of(&self.redeem(&code).await)
    }
}

fn changed<'a>(
    usual: &[(&'a str, &'a str)],
    changes: &[(&'a str, Option<&'a str>)],
) -> Vec<(&'a str, &'a str)> {
    let is_changed = |name: &str| changes.iter().any(|(changed, _)| *changed == name);
    let kept = usual.iter().filter(|(name, _)| !is_changed(name)).copied();
    kept.chain(changes.iter().filter_map(|(name, value)| Some((*name, (*value)?)))).collect()
}

/// The account that a page proposes.
fn account_on(page: &str) -> String {
    let start = page.find("acc_").expect("an account on the page");
    page[start..].split('"').next().unwrap().to_owned()
}

/// A parameter of the address that an answer leads to.
pub fn parameter(answer: &Answer, name: &str) -> Option<String> {
    let address = Url::parse(answer.header("location")?).ok()?;
    let found = address.query_pairs().find(|(key, _)| key == name);
    found.map(|(_, value)| value.into_owned())
}
