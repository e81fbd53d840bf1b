use lettre::Address;
use serde::Serialize;

use super::error::MailError;
use super::rendered_mail::{Recipient, RenderedMail};
use crate::infra::templates::message::Message;

/// A notice to an account's owner or to another person.
#[derive(Debug, Serialize)]
pub struct Notice {
    pub subject: Message,
    pub paragraphs: Vec<Message>,
    pub facts: Vec<(Message, Message)>,
    pub sections: Vec<NoticeSection>,
    pub link: Option<NoticeLink>,
    /// The account that the notice concerns, and the account's display name if it has one.
    pub account_id: Option<String>,
    pub account_name: Option<String>,
    pub unsubscribe_url: Option<String>,
}

/// A part of a notice about one thing, such as a site.
#[derive(Debug, Serialize)]
pub struct NoticeSection {
    pub title: Message,
    pub url: String,
    pub facts: Vec<(Message, Message)>,
}

#[derive(Debug, Serialize)]
pub struct NoticeLink {
    pub label: Message,
    pub url: String,
}

impl Default for Notice {
    fn default() -> Self {
        Self {
            subject: Message::plain(""),
            paragraphs: Vec::new(),
            facts: Vec::new(),
            sections: Vec::new(),
            link: None,
            account_id: None,
            account_name: None,
            unsubscribe_url: None,
        }
    }
}

impl Notice {
    pub fn rendered(
        self,
        to: Address,
        recipient: Recipient,
        base_url: &str,
    ) -> Result<RenderedMail, MailError> {
        let mut values = serde_json::to_value(&self).map_err(tera::Error::json)?;
        values["base_url"] = base_url.into();
        let Self { subject, unsubscribe_url, .. } = self;
        Ok(RenderedMail { to, subject, values, recipient, unsubscribe_url })
    }
}
