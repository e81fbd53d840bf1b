//! Mail: templates in, one message with a text and an HTML part out, over SMTP.

use std::sync::LazyLock;
use std::time::Duration;

use lettre::address::Envelope;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use lettre::transport::smtp;
use lettre::transport::smtp::response::Code;
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use tera::Tera;

use super::metrics::MailMetrics;
use crate::config::Config;

/// A mail server that has not answered by then counts as failed.
const SEND_TIMEOUT: Duration = Duration::from_secs(8);

static TEMPLATES: LazyLock<Tera> = LazyLock::new(|| {
    let mut tera = Tera::default();
    tera.add_raw_templates([
        ("confirmation.html", include_str!("../../templates/mail/confirmation.html.tera")),
        ("confirmation.txt", include_str!("../../templates/mail/confirmation.txt.tera")),
        ("snippet.html", include_str!("../../templates/mail/snippet.html.tera")),
        ("snippet.txt", include_str!("../../templates/mail/snippet.txt.tera")),
    ])
    .expect("the mail templates are valid");
    tera
});

/// What became of a mail that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// A mail server took it.
    Sent,
    /// No mail server is configured.
    Skipped,
}

#[derive(Debug, thiserror::Error)]
pub enum MailError {
    #[error("mail template: {0}")]
    Template(#[from] tera::Error),
    #[error("mail: {0}")]
    Message(#[from] lettre::error::Error),
    /// What a mail server answers often repeats the address, so only its code is kept.
    #[error("mail server: answered {0}")]
    Refused(Code),
    #[error("mail server: {0}")]
    Smtp(smtp::Error),
    #[error("mail server: no answer in time")]
    Timeout,
}

impl From<smtp::Error> for MailError {
    fn from(error: smtp::Error) -> Self {
        error.status().map_or(Self::Smtp(error), Self::Refused)
    }
}

/// Sends mails, or skips them all when no mail server is configured.
#[derive(Clone)]
pub struct Mailer {
    server: Option<Server>,
    metrics: MailMetrics,
}

#[derive(Clone)]
struct Server {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

impl Mailer {
    pub fn from_config(config: &Config, metrics: MailMetrics) -> Result<Self, MailError> {
        let Some(url) = &config.smtp_url else { return Ok(Self { server: None, metrics }) };
        let transport = AsyncSmtpTransport::<Tokio1Executor>::from_url(url.expose())?
            .timeout(Some(SEND_TIMEOUT))
            .build();
        let from = config.mail_from.clone().unwrap_or_else(|| default_sender(config));
        Ok(Self { server: Some(Server { transport, from }), metrics })
    }

    /// Renders `mail/{template}` as text and HTML and hands it to the mail server.
    ///
    /// Takes at most [`SEND_TIMEOUT`], whatever the server does.
    pub async fn send(
        &self,
        to: &Address,
        subject: &str,
        template: &str,
        context: &tera::Context,
    ) -> Result<Delivery, MailError> {
        let sent = match &self.server {
            Some(server) => server.send(to, subject, template, context).await,
            None => Ok(Delivery::Skipped),
        };
        let result = match &sent {
            Ok(Delivery::Sent) => "sent",
            Ok(Delivery::Skipped) => "skipped",
            Err(_) => "failed",
        };
        self.metrics.count(template, result);
        sent
    }
}

impl Server {
    async fn send(
        &self,
        to: &Address,
        subject: &str,
        template: &str,
        context: &tera::Context,
    ) -> Result<Delivery, MailError> {
        let Self { transport, from } = self;
        let text = TEMPLATES.render(&format!("{template}.txt"), context)?;
        let html = TEMPLATES.render(&format!("{template}.html"), context)?;
        // Given rather than read back from the headers, where quoted local parts get lost.
        let envelope = Envelope::new(Some(from.email.clone()), vec![to.clone()])?;
        let message = Message::builder()
            .envelope(envelope)
            .from(from.clone())
            .to(Mailbox::new(None, to.clone()))
            .subject(subject)
            .raw_header(auto_submitted())
            .multipart(MultiPart::alternative_plain_html(text, html))?;
        // In a task of its own: cut off, the connection would go back to the pool halfway through
        // its conversation, and the next mail would fail on it.
        let transport = transport.clone();
        let sending = tokio::spawn(async move { transport.send(message).await });
        match tokio::time::timeout(SEND_TIMEOUT, sending).await {
            Ok(Ok(sent)) => sent.map(|_| Delivery::Sent).map_err(MailError::from),
            Ok(Err(_)) | Err(_) => Err(MailError::Timeout),
        }
    }
}

/// RFC 3834: keeps holiday answers away.
fn auto_submitted() -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str("Auto-Submitted"), "auto-generated".to_owned())
}

fn default_sender(config: &Config) -> Mailbox {
    let host = config
        .base_url
        .as_deref()
        .and_then(|base| url::Url::parse(base).ok())
        .and_then(|url| url.host_str().map(str::to_owned))
        .unwrap_or_else(|| "localhost".to_owned());
    let address = Address::new("no-reply", host)
        .unwrap_or_else(|_| Address::new("no-reply", "localhost").expect("a valid address"));
    Mailbox::new(Some("Assent".to_owned()), address)
}
