use std::collections::HashMap;

use rocket::{Route, get, routes};
use rocket_dyn_templates::context;
use serde_json::{Value, json};

use super::account_mails::title as mail_title;
use crate::accounts::activity_log::{EventQuery, ReadAccountEvents};
use crate::accounts::capability::NoInput;
use crate::accounts::event::{EventKind, EventView};
use crate::accounts::keys::ListApiKeys;
use crate::accounts::mails::switch::MailSwitch;
use crate::accounts::scope::Scope;
use crate::error::{Error, Result};
use crate::http::query::Query;
use crate::pixels::setup::ListPixels;
use crate::policies::published::{self, PublishedAt};
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{Place, Screen};
use crate::web::console::kit::words::{capital, moment};
use crate::web::console::webhooks::deliveries::host_of;
use crate::webhooks::listing::ListWebhooks;

pub fn routes() -> Vec<Route> {
    routes![events]
}

const EVENTS: Screen<'static> = Screen {
    template: "console/events.html",
    title: "Audit log",
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
            "when": moment(event.happened_at.0),
            "what": what(&event.kind),
            "subject": subject,
            "href": href,
            "who": self.who(&event.actor),
            "is_you": event.actor == own,
        })
    }

    fn subject(&self, event: &EventView) -> (Option<String>, Option<String>) {
        let Some(subject) = event.subject.clone() else { return (None, None) };
        let screen = |pixel_id: &str, rest: &str| {
            let is_there = self.hosts.contains_key(pixel_id);
            is_there.then(|| format!("/console/sites/{pixel_id}/{rest}"))
        };
        match EventKind::parse(&event.kind) {
            Some(EventKind::PolicyPublished) => match self.version(&subject, event) {
                Some(it) => {
                    let text = format!("version {} of {}", it.version, it.domain);
                    (Some(text), screen(it.pixel_id.as_str(), "popup/versions"))
                }
                None => (Some(subject), None),
            },
            Some(EventKind::KeyIssued | EventKind::KeyRevoked | EventKind::KeyExpired) => {
                (Some(self.key(&subject)), None)
            }
            Some(EventKind::SignedIn | EventKind::AccountEntered) => {
                (Some(format!("with {subject}")), None)
            }
            Some(EventKind::MailTurnedOff | EventKind::MailTurnedOn) => {
                let mail = MailSwitch::parse(&subject).map(|switch| mail_title(switch).to_owned());
                (Some(mail.unwrap_or(subject)), None)
            }
            Some(EventKind::WebhookCreated | EventKind::WebhookChanged) => {
                let href = format!("/console/account/deliveries/{subject}");
                let host = self.webhooks.get(&subject).cloned();
                (host.clone().or(Some(subject)), host.map(|_| href))
            }
            Some(EventKind::SuppressionsImported) => {
                let href = format!("/console/account/suppressed/imports/{subject}");
                (Some("a list".to_owned()), Some(href))
            }
            _ => {
                let href = screen(&subject, "overview");
                (Some(self.hosts.get(&subject).cloned().unwrap_or(subject)), href)
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

    fn who(&self, actor: &str) -> String {
        match actor {
            "signup token" => "the signup token".to_owned(),
            "operator" => "the operator of this service".to_owned(),
            "payment provider" => "the payment provider".to_owned(),
            "service" => "the service".to_owned(),
            key if key.starts_with("px_") => format!("the key {}", self.key(key)),
            grant if grant.starts_with("gr_") => format!("the app with the grant {grant}"),
            address => address.to_owned(),
        }
    }
}

pub fn what(kind: &str) -> String {
    let words = match EventKind::parse(kind) {
        Some(EventKind::SignedIn) => "Signed in",
        Some(EventKind::AccountEntered) => "Switched from another account",
        Some(EventKind::KeyIssued) => "Created an API key:",
        Some(EventKind::KeyRevoked) => "Revoked an API key:",
        Some(EventKind::KeyExpired) => "Ended an expired API key:",
        Some(EventKind::AppConnected) => "Connected an app:",
        Some(EventKind::AppDisconnected) => "Disconnected an app:",
        Some(EventKind::KeysRevoked) => "Revoked several API keys",
        Some(EventKind::MemberInvited) => "Invited a member:",
        Some(EventKind::MemberChanged) => "Changed a member’s role or sites:",
        Some(EventKind::MemberRemoved) => "Removed a member:",
        Some(EventKind::ClientInvited) => "Offered an account to a client:",
        Some(EventKind::ClientInvitationCancelled) => "Cancelled the offer of an account:",
        Some(EventKind::ClientConfirmed) => "Confirmed the account that was offered to",
        Some(EventKind::ClientDeclined) => "Declined the account that was offered to",
        Some(EventKind::NameChanged) => "Changed the account’s name",
        Some(EventKind::AddressChanged) => "Changed the account’s email",
        Some(EventKind::PasskeyAdded) => "Added a passkey:",
        Some(EventKind::PasskeyRemoved) => "Removed a passkey:",
        Some(EventKind::AddressChangeRequested) => "Requested a change of the account’s email",
        Some(EventKind::AddressChangeCancelled) => "Cancelled the change of the account’s email",
        Some(EventKind::AccountExported) => "Exported all data",
        Some(EventKind::AccountSuspended) => "Suspended the account",
        Some(EventKind::AccountResumed) => "Reactivated the account",
        Some(EventKind::PolicyPublished) => "Published a notice:",
        Some(EventKind::AppearanceChanged) => "Changed the appearance of the popup:",
        Some(EventKind::PixelCreated) => "Added a site:",
        Some(EventKind::ConsentTurnedOff) => "Turned a popup off:",
        Some(EventKind::WatchChanged) => "Changed the watch of",
        Some(EventKind::SharedLinkCreated) => "Shared the overview of",
        Some(EventKind::SharedLinkRevoked) => "Revoked a shared link of",
        Some(EventKind::PixelDeleted) => "Removed a site:",
        Some(EventKind::PixelMoved) => "Moved a site to another domain:",
        Some(EventKind::MoveEnded) => "Ended the move of",
        Some(EventKind::MoveCancelled) => "Cancelled the move of",
        Some(EventKind::VisitorErased) => "Erased a visitor of",
        Some(EventKind::ContactErased) => "Erased a contact of",
        Some(EventKind::ErasureRefused) => "Refused an erasure request of",
        Some(EventKind::ErasureRequestAdded) => "Recorded an erasure request by email of",
        Some(EventKind::PersonSuppressed) => "Added a person to the suppression list",
        Some(EventKind::PersonUnsuppressed) => "Removed a person from the suppression list",
        Some(EventKind::SuppressionsImported) => "Imported a suppression list:",
        Some(EventKind::MailTurnedOff) => "Turned off an email notification:",
        Some(EventKind::MailTurnedOn) => "Turned on an email notification:",
        Some(EventKind::WebhookCreated) => "Added a webhook:",
        Some(EventKind::WebhookChanged) => "Changed a webhook:",
        Some(EventKind::WebhookDeleted) => "Removed a webhook:",
        Some(EventKind::PaymentReceived) => "Received a payment",
        Some(EventKind::SubscriptionEnded) => "Ended the subscription",
        // Kinds of a later version.
        _ => return capital(&kind.replace('_', " ")),
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_words() {
        for kind in EventKind::ALL {
            assert!(what(kind.as_str()).starts_with(char::is_uppercase), "{}", kind.as_str());
        }
        assert_eq!(what("mailbox_painted"), "Mailbox painted");
    }

    #[test]
    fn actors_are_named_as_people_would() {
        let keys = HashMap::from([("px_abcdefghi".to_owned(), "shop".to_owned())]);
        let (hosts, webhooks) = (HashMap::new(), HashMap::new());
        let names = Names { hosts, keys, webhooks, published: Vec::new() };
        let told = ["px_abcdefghi", "operator", "ann@example.com"].map(|it| names.who(it));
        assert_eq!(told[0], "the key shop (px_abcdefghi)");
        assert_eq!(names.who("px_other"), "the key px_other");
        assert_eq!(told[1], "the operator of this service");
        assert_eq!(told[2], "ann@example.com");
    }
}
