use std::collections::HashMap;

use serde_json::{Value, json};

use super::words::what;
use crate::accounts::capability::NoInput;
use crate::accounts::event::{ActivityKind, EventView};
use crate::accounts::keys::ListKeyNames;
use crate::accounts::mails::facts;
use crate::accounts::mails::switch::MailSwitch;
use crate::error::{Error, Result};
use crate::infra::templates::{Message, tr};
use crate::pixels::setup::ListPixels;
use crate::policies::published::{self, PublishedAt};
use crate::web::console::account::account_mails::title as mail_title;
use crate::web::console::kit::member::Member;
use crate::web::console::webhooks::deliveries::host_of;
use crate::webhooks::listing::ListWebhooks;

/// The names of the sites, keys, webhooks and policies to which events refer by id or hash.
pub struct Names {
    hosts: HashMap<String, String>,
    keys: HashMap<String, String>,
    webhooks: HashMap<String, String>,
    published: Vec<PublishedAt>,
}

impl Names {
    pub async fn of(member: &Member<'_>) -> Result<Self> {
        let pixels = member.ask::<ListPixels>(NoInput {}).await?.pixels.into_iter();
        let keys = match member.ask::<ListKeyNames>(NoInput {}).await {
            Err(Error::RestrictedToSites) => Vec::new(),
            names => names?,
        };
        let webhooks = member.ask::<ListWebhooks>(NoInput {}).await?.webhooks.into_iter();
        Ok(Self {
            hosts: pixels.map(|it| (it.pixel_id.to_string(), it.domain.to_string())).collect(),
            keys: keys.into_iter().collect(),
            webhooks: webhooks.map(|it| (it.endpoint_id.to_string(), host_of(&it.url))).collect(),
            published: Vec::new(),
        })
    }

    /// Adds the policy versions whose publication these events record.
    pub async fn with_published(self, member: &Member<'_>, events: &[EventView]) -> Result<Self> {
        let is_published =
            |event: &&EventView| event.kind == ActivityKind::PolicyPublished.as_str();
        let hashes = events.iter().filter(is_published).filter_map(|event| event.subject.clone());
        let account_id = &member.member.account.account_id;
        let hashes = hashes.collect::<Vec<_>>();
        let published = published::list_of(&member.app.infra.pool, account_id, &hashes).await?;
        Ok(Self { published, ..self })
    }

    /// The subjects whose name contains a lowercase text: sites with their notices, keys and webhooks.
    pub async fn subjects(&self, member: &Member<'_>, text: &str) -> Result<Vec<String>> {
        let matching = |names: &HashMap<String, String>| {
            let found = names.iter().filter(|(_, name)| name.to_lowercase().contains(text));
            found.map(|(id, _)| id.clone()).collect::<Vec<_>>()
        };
        let sites = matching(&self.hosts);
        let notices = published::hashes_of(&member.app.infra.pool, &sites).await?;
        Ok([sites, notices, matching(&self.keys), matching(&self.webhooks)].concat())
    }

    pub fn row(&self, event: &EventView, own: &str) -> Value {
        let (subject, href) = self.subject(event);
        json!({
            "when": Message::Moment(event.happened_at.0),
            "what": what(&event.kind),
            "subject": subject,
            "href": href,
            "who": self.who(&event.actor),
            "is_you": event.actor == own,
        })
    }

    fn subject(&self, event: &EventView) -> (Option<Message>, Option<String>) {
        let Some(subject) = event.subject.clone() else { return (None, None) };
        let screen = |pixel_id: &str, rest: &str| {
            let is_there = self.hosts.contains_key(pixel_id);
            is_there.then(|| format!("/console/sites/{pixel_id}/{rest}"))
        };
        match ActivityKind::parse(&event.kind) {
            Some(ActivityKind::PolicyPublished) => match self.version(&subject, event) {
                Some(it) => {
                    let text = tr("version {{ version }} of {{ site }}")
                        .with("version", it.version)
                        .with("site", &it.domain);
                    (Some(text), screen(it.pixel_id.as_str(), "popup/versions"))
                }
                None => (Some(Message::Plain(subject)), None),
            },
            Some(ActivityKind::KeyIssued | ActivityKind::KeyRevoked | ActivityKind::KeyExpired) => {
                (Some(Message::Plain(self.key(&subject))), None)
            }
            Some(ActivityKind::SignedIn | ActivityKind::AccountEntered) => {
                (Some(tr("with {{ browser }}").with("browser", facts::browser(&subject))), None)
            }
            Some(ActivityKind::MailTurnedOff | ActivityKind::MailTurnedOn) => {
                let mail = MailSwitch::parse(&subject).map(mail_title);
                (Some(mail.unwrap_or(Message::Plain(subject))), None)
            }
            Some(ActivityKind::WebhookCreated | ActivityKind::WebhookChanged) => {
                let href = format!("/console/account/deliveries/{subject}");
                let host = self.webhooks.get(&subject).cloned();
                (host.clone().or(Some(subject)).map(Message::Plain), host.map(|_| href))
            }
            Some(ActivityKind::SuppressionsImported) => {
                let href = format!("/console/account/suppressed/imports/{subject}");
                (Some(tr("a list")), Some(href))
            }
            _ => {
                let href = screen(&subject, "overview");
                (Some(Message::Plain(self.hosts.get(&subject).cloned().unwrap_or(subject))), href)
            }
        }
    }

    /// The publication of an event, found by its time because a text may have been published more than once.
    fn version(&self, hash: &str, event: &EventView) -> Option<&PublishedAt> {
        let mut same = self.published.iter().filter(|it| it.policy_hash == hash);
        let first = same.clone().next();
        same.find(|it| it.published_at == event.happened_at.0).or(first)
    }

    fn key(&self, prefix: &str) -> String {
        match self.keys.get(prefix) {
            Some(name) => format!("{name} ({prefix})"),
            None => prefix.to_owned(),
        }
    }

    pub fn who(&self, actor: &str) -> Message {
        match actor {
            "signup token" => tr("the signup token"),
            "operator" => tr("the operator of this service"),
            "payment provider" => tr("the payment provider"),
            "service" => tr("the service"),
            key if key.starts_with("px_") => tr("the key {{ key }}").with("key", self.key(key)),
            grant if grant.starts_with("gr_") => {
                tr("the app with the grant {{ grant }}").with("grant", grant)
            }
            address => Message::plain(address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infra::templates::in_english;

    #[test]
    fn actors_are_named_as_people_would() {
        let keys = HashMap::from([("px_abcdefghi".to_owned(), "shop".to_owned())]);
        let (hosts, webhooks) = (HashMap::new(), HashMap::new());
        let names = Names { hosts, keys, webhooks, published: Vec::new() };
        let who = |actor: &str| in_english(&names.who(actor));
        assert_eq!(who("px_abcdefghi"), "the key shop (px_abcdefghi)");
        assert_eq!(who("px_other"), "the key px_other");
        assert_eq!(who("operator"), "the operator of this service");
        assert_eq!(who("ann@example.com"), "ann@example.com");
    }
}
