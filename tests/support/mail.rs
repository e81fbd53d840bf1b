//! A real SMTP server, one for all tests of the process, with an inbox per recipient.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;

use super::server::App;
use super::story::Account;

static SERVER: OnceLock<MailServer> = OnceLock::new();

/// Beginnings of the subjects of mails that the tests do not request.
const UNASKED: [&str; 6] = [
    "A new API key for your Assent account",
    "A new sign-in to your Assent account",
    "A passkey was",
    "Identification is paused",
    "Your Assent trial ends on",
    "Your Assent account was deleted",
];

pub struct MailServer {
    /// For the service's setting `SMTP_URL`.
    pub url: String,
    folder: tempfile::TempDir,
    /// Its standard input closes with this process, which ends it.
    _process: Child,
}

impl MailServer {
    pub fn shared() -> &'static Self {
        SERVER.get_or_init(|| Self::start(&[]))
    }

    /// A server without SMTPUTF8.
    pub fn without_smtputf8() -> Self {
        Self::start(&["ascii"])
    }

    fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let python = std::env::var("TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let mut process = Command::new(python)
            .args(["tests/support/mail_server.py".as_ref(), folder.path()])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python with aiosmtpd is there");
        let mut port = String::new();
        let output = process.stdout.take().expect("its output is piped");
        BufReader::new(output).read_line(&mut port).expect("the mail server starts");
        let port: u16 = port.trim().parse().expect("the mail server says its port");
        Self { url: format!("smtp://127.0.0.1:{port}"), folder, _process: process }
    }

    /// The mails that an address has received so far, oldest first, but for [`UNASKED`] ones.
    pub fn inbox(&self, address: &str) -> Vec<Mail> {
        let is_unasked =
            |mail: &Mail| UNASKED.iter().any(|subject| mail.subject().starts_with(subject));
        self.everything(address).into_iter().filter(|mail| !is_unasked(mail)).collect()
    }

    /// All mails that an address has received so far, oldest first.
    pub fn everything(&self, address: &str) -> Vec<Mail> {
        let Ok(entries) = std::fs::read_dir(self.folder.path().join(address)) else {
            return Vec::new();
        };
        let mut files = entries
            .map(|entry| entry.expect("a readable inbox").path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .collect::<Vec<_>>();
        files.sort();
        let read = |path| std::fs::read_to_string(path).expect("a readable mail");
        files
            .into_iter()
            .map(|path| Mail(serde_json::from_str(&read(path)).expect("JSON")))
            .collect()
    }

    /// The newest mail of an address, waited for.
    pub async fn newest(&self, address: &str) -> Mail {
        for _ in 0..1_200 {
            if let Some(mail) = self.inbox(address).pop() {
                return mail;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("{address} received no mail");
    }
}

impl MailServer {
    /// The mails of an address, waited for until there are `count`.
    pub async fn wait_for(&self, address: &str, count: usize) -> Vec<Mail> {
        for _ in 0..1_200 {
            let inbox = self.inbox(address);
            if inbox.len() >= count {
                return inbox;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("{address} received {} mails, not {count}", self.inbox(address).len());
    }
}

/// A received mail.
pub struct Mail(pub Value);

impl Mail {
    pub fn text(&self) -> &str {
        self.0["text"].as_str().expect("a text part")
    }

    pub fn html(&self) -> &str {
        self.0["html"].as_str().expect("an HTML part")
    }

    pub fn subject(&self) -> &str {
        self.0["subject"].as_str().expect("a subject")
    }

    /// The six-digit code of a confirmation mail.
    pub fn code(&self) -> String {
        let is_code =
            |word: &&str| word.len() == 6 && word.bytes().all(|byte| byte.is_ascii_digit());
        let words = self.text().split(|character: char| !character.is_ascii_alphanumeric());
        words.into_iter().find(is_code).expect("a code in the mail").to_owned()
    }

    /// The confirmation link, as path and query.
    pub fn link(&self) -> String {
        let text = self.text();
        let start = text.find("/v1/email/verify?token=").expect("a link in the mail");
        text[start..].split_whitespace().next().unwrap().to_owned()
    }
}

impl App {
    /// The service with a mail server.
    pub async fn spawn_with_mail() -> Self {
        Self::spawn_with(&[("SMTP_URL", &MailServer::shared().url)]).await
    }

    /// An account that has confirmed its address by the link of a mail, and holds a key.
    pub async fn mailed_account(&self, email: &str) -> Account {
        let opened = self.sign_up(email).await;
        let link = MailServer::shared().newest(email).await.link();
        assert_eq!(self.get(&link).await.status, 200);
        let text = |name: &str| opened[name].as_str().expect("a text").to_owned();
        let (account_id, signup_token) = (text("account_id"), text("signup_token"));
        let issued = self.issue_key(&account_id, &signup_token).await.expect(201);
        let key = issued["api_key"].as_str().expect("a key").to_owned();
        Account { account_id, email: email.to_owned(), signup_token, key }
    }
}

/// An address that no other test writes to; the mail server behaves as `local` says.
pub fn fresh_address(local: &str) -> String {
    format!("{local}-{}@example.com", assent::types::ids::random_text(10).to_lowercase())
}
