mod conversation;
mod error;
mod notice;
pub mod rendered_mail;
mod server;
mod texts;

use std::time::Duration;

use lettre::address::{AddressError, Envelope};
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use lettre::{Address, Message};
use url::{Host, Url};
use uuid::Uuid;

use self::conversation::hand_over;
pub use self::error::MailError;
pub use self::notice::{Notice, NoticeLink, NoticeSection};
pub use self::rendered_mail::{Recipient, RenderedMail};
use self::server::SmtpServer;
use self::texts::Texts;
use super::metrics::MailMetrics;
use crate::config::Config;
use crate::types::email::with_ascii_domain;

const SEND_TIMEOUT: Duration = Duration::from_secs(8);

/// Sends mails, or skips them all when no mail server is configured.
#[derive(Clone)]
pub struct Mailer {
    server: Option<SmtpServer>,
    from: Mailbox,
    metrics: MailMetrics,
    pub send_timeout: Duration,
}

impl Mailer {
    pub fn from_config(config: &Config, metrics: MailMetrics) -> Result<Self, MailError> {
        let own_host = own_host(config);
        let server = config
            .smtp
            .as_ref()
            .map(|smtp| SmtpServer::new(smtp, own_host.as_ref()))
            .transpose()?;
        let from = match &config.mail_from {
            Some(sender) => deliverable_sender(sender)?,
            None => default_sender(own_host.as_ref()),
        };
        Ok(Self { server, from, metrics, send_timeout: SEND_TIMEOUT })
    }

    pub fn is_configured(&self) -> bool {
        self.server.is_some()
    }

    pub fn skip(&self, template: &str) {
        self.metrics.count(template, "skipped");
    }

    /// Renders `mail/{template}` and delivers it. Takes at most `send_timeout`, even if the server hangs.
    pub async fn send(
        &self,
        message_id: Uuid,
        template: &str,
        rendered: &RenderedMail,
    ) -> Result<(), MailError> {
        let Some(server) = &self.server else {
            self.skip(template);
            return Ok(());
        };
        let sent = match self.message(message_id, template, rendered) {
            Ok(message) => hand_over(server, &message, self.send_timeout).await,
            Err(error) => Err(error),
        };
        let result = match &sent {
            Ok(()) => "sent",
            Err(error) if error.may_have_arrived() => "unanswered",
            Err(_) => "failed",
        };
        self.metrics.count(template, result);
        sent
    }

    fn message(
        &self,
        message_id: Uuid,
        template: &str,
        rendered: &RenderedMail,
    ) -> Result<Message, MailError> {
        let Texts { subject, text, html } = rendered.texts(template)?;
        // The envelope is passed explicitly, because one made from the headers loses quoted local parts.
        let to = with_ascii_domain(&rendered.to).ok_or(AddressError::InvalidDomain)?;
        let envelope = Envelope::new(Some(self.from.email.clone()), vec![to.clone()])?;
        let mut builder = Message::builder();
        if let Some(url) = &rendered.unsubscribe_url {
            builder =
                builder.raw_header(header("List-Unsubscribe", format!("<{url}>"))).raw_header(
                    header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click".to_owned()),
                );
        }
        let message = builder
            .envelope(envelope)
            .message_id(Some(format!("<{message_id}@{}>", self.from.email.domain())))
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(subject)
            // RFC 3834: prevents automatic replies.
            .raw_header(header("Auto-Submitted", "auto-generated".to_owned()))
            .multipart(MultiPart::alternative_plain_html(text, html))?;
        Ok(message)
    }
}

fn header(name: &'static str, value: String) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value)
}

fn own_host(config: &Config) -> Option<Host> {
    let base_url = Url::parse(config.base_url.as_deref()?).ok()?;
    base_url.host().map(|host| host.to_owned())
}

fn default_sender(own_host: Option<&Host>) -> Mailbox {
    let host = match own_host {
        Some(Host::Domain(domain)) => domain,
        _ => "localhost",
    };
    let address = Address::new("no-reply", host)
        .unwrap_or_else(|_| Address::new("no-reply", "localhost").expect("a valid address"));
    Mailbox::new(Some("Assent".to_owned()), address)
}

/// The sender of every mail. Fails for an address that servers without SMTPUTF8 refuse.
fn deliverable_sender(sender: &Mailbox) -> Result<Mailbox, MailError> {
    let address = with_ascii_domain(&sender.email).ok_or(MailError::Sender)?;
    if !address.user().is_ascii() {
        return Err(MailError::Sender);
    }
    Ok(Mailbox::new(sender.name.clone(), address))
}
