use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::accounts::keys::KeyView;
use crate::accounts::mails::facts;
use crate::accounts::scope::Scope;
use crate::accounts::sessions::SessionView;
use crate::contacts::allowance::Allowance;
use crate::infra::templates::{Message, tr};
use crate::web::console::kit::site_choice::Hosts;
use crate::web::console::kit::words::percent;

#[derive(Serialize)]
pub struct KeyRow {
    prefix: String,
    name: Option<String>,
    scope: Scope,
    made_by: Option<Message>,
    sites: Message,
    created: Message,
    expires: Message,
    is_expired: bool,
    used: Message,
}

impl KeyRow {
    pub fn of(key: KeyView, hosts: &Hosts) -> Self {
        Self {
            sites: hosts.named(key.pixels.as_deref()),
            expires: key.expires_at.map_or(tr("never"), |time| Message::DayOf(time.0)),
            is_expired: key.expired,
            created: Message::DayOf(key.created_at.0),
            used: key.last_used_at.map_or(tr("never"), |time| Message::DayOf(time.0)),
            prefix: key.prefix,
            name: key.name,
            scope: key.scope,
            made_by: key.made_by.map(facts::maker),
        }
    }
}

#[derive(Serialize)]
pub struct SessionRow {
    id: Uuid,
    browser: Message,
    address: String,
    since: Message,
    seen: Message,
    is_this: bool,
    is_elsewhere: bool,
}

impl From<SessionView> for SessionRow {
    fn from(session: SessionView) -> Self {
        Self {
            id: session.session_id,
            browser: facts::browser(&session.browser),
            address: session.address,
            since: Message::DayOf(session.created_at.0),
            seen: Message::Moment(session.last_seen_at.0),
            is_this: session.is_this,
            is_elsewhere: session.is_elsewhere,
        }
    }
}

pub fn gauges(allowance: &Allowance) -> Vec<Value> {
    let gauge = |name: Message, used: i64, of: Option<i64>, note: Option<Message>| {
        let of = of.filter(|of| *of > 0)?;
        let part = percent(used.min(of), of)?;
        let is_full = used >= of;
        Some(json!({
            "name": name, "used": Message::Number(used), "of": Message::Number(of), "part": part,
            "note": note, "is_full": is_full,
        }))
    };
    let resets = Message::DayOf(allowance.resets_at.0);
    let resets = tr("Resets on {{ day }}.").with("day", resets);
    let contacts = (allowance.contacts_used, allowance.contacts_included);
    let sites = (allowance.pixels_used, allowance.pixels_included);
    [
        gauge(tr("New contacts this month"), contacts.0, contacts.1, Some(resets)),
        gauge(tr("Sites"), sites.0, sites.1, None),
    ]
    .into_iter()
    .flatten()
    .collect()
}
