//! The expiry of keys: owners are notified seven days before, and the activity log records it.

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use super::facts::shown;
use super::owners_mail::{receives_notifications, wanted};
use super::switch::MailSwitch;
use crate::accounts::actor::Actor;
use crate::accounts::event::ActivityKind;
use crate::accounts::events;
use crate::accounts::store::{self, ExpiringKey};
use crate::clock::Clock;
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::outbox::{Attempt, ClaimedMail, Kind, MailRun, NewMail};
use crate::infra::smtp::{Notice, NoticeLink, RenderedMail};
use crate::infra::templates::{Message, tr};

/// Owners are notified this long before. Keys that were issued for this time or less cause no mail.
const BEFORE: Duration = Duration::days(7);
const PAGE: i64 = 100;

#[derive(Deserialize, Serialize)]
struct Expiring {
    prefix: String,
}

/// Notifies the owners of keys that expire soon. Without a mail server, nothing is recorded.
pub async fn notify_owners(infra: &Infra) -> Result<()> {
    if !infra.outbox.mailer.is_configured() {
        return Ok(());
    }
    let now = infra.clock.now();
    let due = {
        let mut connection = infra.pool.acquire().await?;
        store::list_expiring_keys(&mut connection, now, now + BEFORE, PAGE).await?
    };
    let mut run = MailRun::default();
    for key in &due {
        if infra.shutdown.has_begun() || !run.may_continue() {
            break;
        }
        run.count_notification(notify(infra, key).await, &key.prefix)?;
    }
    Ok(())
}

async fn notify(infra: &Infra, key: &ExpiringKey) -> Result<Option<Attempt>> {
    let _guard = infra.shutdown.delay();
    let ExpiringKey { account_id, prefix } = key;
    let mut transaction = infra.pool.begin().await?;
    let account = store::lock_account(&mut transaction, account_id).await?;
    if !store::update_expiry_notified(&mut transaction, prefix, infra.clock.now()).await? {
        return Ok(None);
    }
    let mail = match account.filter(receives_notifications) {
        Some(_) => {
            let account_id = Some(account_id);
            let new = NewMail { kind: Kind::KeyExpiring, account_id, pixel_id: None };
            let expiring = Expiring { prefix: prefix.clone() };
            infra.outbox.put(&mut transaction, new, &expiring).await?
        }
        None => None,
    };
    transaction.commit().await?;
    let Some(mail) = mail else { return Ok(None) };
    let rendered = rendered(infra, &mail).await;
    infra.outbox.deliver(&mail, rendered).await.map(Some)
}

/// Renders the mail; `None` once the key has ended, or such mails are turned off.
pub async fn rendered(infra: &Infra, mail: &ClaimedMail) -> Result<Option<RenderedMail>> {
    let Expiring { prefix } = infra.outbox.secrets(mail)?;
    let (Some(account_id), now) = (&mail.account_id, infra.clock.now()) else { return Ok(None) };
    let mut connection = infra.pool.acquire().await?;
    let account =
        store::find_account(&mut connection, account_id).await?.filter(receives_notifications);
    let end = store::find_end_of_key(&mut connection, account_id, &prefix, now).await?;
    let (Some(account), Some(end)) = (account, end) else { return Ok(None) };
    let (config, base_url) = (&infra.config, infra.base_url());
    let notice = notice(base_url, prefix, end.name.as_deref(), end.expires_at);
    wanted(&mut connection, config, base_url, &account, MailSwitch::KeyExpiring, notice).await
}

fn notice(base_url: &str, prefix: String, name: Option<&str>, ends: DateTime<Utc>) -> Notice {
    let url = format!("{base_url}/console/account#keys");
    Notice {
        subject: tr("A key for your Assent account expires on {{ day }}")
            .with("day", Message::DayOf(ends)),
        paragraphs: vec![tr(
            "Programs that use this key are refused from then on. To keep them working, create another key, use it in them, and revoke this one.",
        )],
        facts: vec![
            (tr("Prefix"), prefix.into()),
            (tr("Name"), name.map_or(tr("none"), shown)),
            (tr("Expires"), Message::Moment(ends)),
        ],
        link: Some(NoticeLink { label: tr("View API keys"), url }),
        ..Notice::default()
    }
}

/// Records expired keys in the activity log.
pub async fn record_expired(pool: &PgPool, clock: &Clock) -> Result<()> {
    let now = clock.now();
    let mut transaction = pool.begin().await?;
    let expired = store::update_expiry_noted(&mut transaction, now, PAGE).await?;
    for ExpiringKey { account_id, prefix } in expired {
        let (kind, subject) = (ActivityKind::KeyExpired, Some(prefix.as_str()));
        events::record(&mut transaction, now, &account_id, &Actor::Service, kind, subject).await?;
    }
    transaction.commit().await?;
    Ok(())
}
