use std::collections::HashMap;

use rocket::{Route, get, routes};
use rocket_dyn_templates::context;
use serde_json::{Value, json};

use super::account_mails::title as mail_title;
use super::event_words::what;
use crate::accounts::activity_log::{EventQuery, ReadAccountEvents};
use crate::accounts::capability::NoInput;
use crate::accounts::event::{EventKind, EventView};
use crate::accounts::keys::ListApiKeys;
use crate::accounts::mails::facts;
use crate::accounts::mails::switch::MailSwitch;
use crate::accounts::scope::Scope;
use crate::error::{Error, Result};
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::pixels::setup::ListPixels;
use crate::policies::published::{self, PublishedAt};
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{Place, Screen};
use crate::web::console::webhooks::deliveries::host_of;
use crate::webhooks::listing::ListWebhooks;

pub fn routes() -> Vec<Route> {
    routes![events]
}

const EVENTS: Screen<'static> = Screen {
    template: "console/events.html",
    title: tr("Audit log"),
    place: Place::AccountPart("events"),
    calls: &["GET /v1/account/events"],
};

const PAGE: &str = "50";

#[get("/console/account/events")]
async fn events(member: Member<'_>, query: Query) -> Result<Reply, Refusal> {
    let before = query.present("before").map(str::to_owned);
    let is_first = before.is_none();
    let request = EventQuery { before, limit: Some(PAGE.to_owned()) };
    let page = member.ask::<ReadAccountEvents>(request).await?;
    let names = Names::of(&member, &page.events).await?;
    let rows = page.events.iter().map(|event| names.row(event, &member.member.address));
    let content = context! {
        rows: rows.collect::<Vec<_>>(),
        is_first,
        next: page.next_before,
        may_export: member.member.role == Scope::Full,
    };
    Ok(member.screen(EVENTS, content))
}

struct Names {
    hosts: HashMap<String, String>,
    keys: HashMap<String, String>,
    webhooks: HashMap<String, String>,
    published: Vec<PublishedAt>,
}

impl Names {
    async fn of(member: &Member<'_>, events: &[EventView]) -> Result<Self> {
        let pixels = member.ask::<ListPixels>(NoInput {}).await?.pixels.into_iter();
        let keys = match member.ask::<ListApiKeys>(NoInput {}).await {
            Ok(list) => list.api_keys,
            Err(Error::RestrictedToSites) => Vec::new(),
            Err(error) => return Err(error),
        };
        let webhooks = member.ask::<ListWebhooks>(NoInput {}).await?.webhooks.into_iter();
        let is_published = |event: &&EventView| event.kind == EventKind::PolicyPublished.as_str();
        let hashes = events.iter().filter(is_published).filter_map(|event| event.subject.clone());
        let account_id = &member.member.account.account_id;
        let hashes = hashes.collect::<Vec<_>>();
        Ok(Self {
            hosts: pixels.map(|it| (it.pixel_id.to_string(), it.domain.to_string())).collect(),
            keys: keys.into_iter().filter_map(|key| Some((key.prefix, key.name?))).collect(),
            webhooks: webhooks.map(|it| (it.endpoint_id.to_string(), host_of(&it.url))).collect(),
            published: published::list_of(&member.app.infra, account_id, &hashes).await?,
        })
    }

    fn row(&self, event: &EventView, own: &str) -> Value {
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
        match EventKind::parse(&event.kind) {
            Some(EventKind::PolicyPublished) => match self.version(&subject, event) {
                Some(it) => {
                    let text = tr("version {{ version }} of {{ site }}")
                        .with("version", it.version)
                        .with("site", &it.domain);
                    (Some(text), screen(it.pixel_id.as_str(), "popup/versions"))
                }
                None => (Some(Message::Plain(subject)), None),
            },
            Some(EventKind::KeyIssued | EventKind::KeyRevoked | EventKind::KeyExpired) => {
                (Some(Message::Plain(self.key(&subject))), None)
            }
            Some(EventKind::SignedIn | EventKind::AccountEntered) => {
                (Some(tr("with {{ browser }}").with("browser", facts::browser(&subject))), None)
            }
            Some(EventKind::MailTurnedOff | EventKind::MailTurnedOn) => {
                let mail = MailSwitch::parse(&subject).map(mail_title);
                (Some(mail.unwrap_or(Message::Plain(subject))), None)
            }
            Some(EventKind::WebhookCreated | EventKind::WebhookChanged) => {
                let href = format!("/console/account/deliveries/{subject}");
                let host = self.webhooks.get(&subject).cloned();
                (host.clone().or(Some(subject)).map(Message::Plain), host.map(|_| href))
            }
            Some(EventKind::SuppressionsImported) => {
                let href = format!("/console/account/suppressed/imports/{subject}");
                (Some(tr("a list")), Some(href))
            }
            _ => {
                let href = screen(&subject, "overview");
                (Some(Message::Plain(self.hosts.get(&subject).cloned().unwrap_or(subject))), href)
            }
        }
    }

    /// The publication of an event: a text may have been published more than once.
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

    fn who(&self, actor: &str) -> Message {
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
