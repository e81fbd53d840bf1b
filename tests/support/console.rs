//! A person with a browser, as far as the console sees one: it keeps cookies, says where a form comes
//! from, and sends what the page's form carries.

use std::collections::BTreeMap;

use reqwest::{Method, RequestBuilder};

use super::mail::MailServer;
use super::server::{Answer, App};

/// A browser without scripts.
pub struct Browser<'a> {
    pub app: &'a App,
    pub cookies: BTreeMap<String, String>,
}

impl<'a> Browser<'a> {
    pub fn new(app: &'a App) -> Self {
        Self { app, cookies: BTreeMap::new() }
    }

    /// A request with the browser's cookies, for tests that change what browsers do.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.app.request(method, path).header("accept", "text/html");
        let cookies = self.cookies.iter().map(|(name, value)| format!("{name}={value}"));
        match cookies.collect::<Vec<_>>().join("; ") {
            cookies if cookies.is_empty() => request,
            cookies => request.header("cookie", cookies),
        }
    }

    pub async fn send(&mut self, request: RequestBuilder) -> Answer {
        let answer = Answer::of(request).await;
        for cookie in answer.headers.get_all("set-cookie") {
            let cookie = cookie.to_str().unwrap();
            let (name, rest) = cookie.split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            if value.is_empty() {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    pub async fn get(&mut self, path: &str) -> Answer {
        let request = self.request(Method::GET, path);
        self.send(request).await
    }

    /// A page that must be there.
    pub async fn page(&mut self, path: &str) -> String {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        answer.text
    }

    /// Posts a form's fields as they are, from a page of the service.
    pub async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let request = self.request(Method::POST, path).header("origin", &self.app.base);
        self.send(request.form(fields)).await
    }

    /// Fills in the form of a page and sends it to `path`: with the page's token.
    pub async fn submit(&mut self, page: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
        let token = token_of(&self.page(page).await);
        let fields = [fields, &[("form_token", &*token)]].concat();
        self.post(path, &fields).await
    }

    /// The session's secret.
    pub fn session(&self) -> Option<&String> {
        self.cookies.get("assent-session")
    }

    /// Signs in with the digits of a mail.
    pub async fn sign_in(&mut self, email: &str) {
        let code = self.ask_for_code(email).await;
        leads_to(&self.type_code(&code).await, "/console");
    }

    /// The digits of the mail that a new sign-in brings.
    pub async fn ask_for_code(&mut self, email: &str) -> String {
        let before = MailServer::shared().inbox(email).len();
        let sent = self.post("/console/sign-in", &[("email", email)]).await;
        leads_to(&sent, "/console/sign-in/code?next=%2Fconsole");
        MailServer::shared().wait_for(email, before + 1).await.pop().unwrap().code()
    }

    pub async fn type_code(&mut self, code: &str) -> Answer {
        self.post("/console/sign-in/code", &[("code", code)]).await
    }

    /// Signs up where no mail is sent.
    pub async fn sign_up(&mut self, email: &str) {
        let fields = [("email", email), ("display_name", "Ann Lee")];
        leads_to(&self.post("/console/sign-up", &fields).await, "/console/sites/new");
    }
}

/// The token that a page's forms carry.
pub fn token_of(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"form_token\" value=\"").expect("a form on the page");
    rest.split('"').next().unwrap().to_owned()
}

#[track_caller]
pub fn leads_to(answer: &Answer, address: &str) {
    assert_eq!(answer.status, 303, "{}", answer.text);
    assert_eq!(answer.header("location"), Some(address));
}

impl App {
    /// A browser that is signed in with a key, where no mail is sent.
    pub async fn browser_of(&self, key: &str) -> Browser<'_> {
        let mut browser = Browser::new(self);
        leads_to(&browser.post("/console/sign-in/key", &[("api_key", key)]).await, "/console");
        browser
    }
}
