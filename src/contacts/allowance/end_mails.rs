//! Notifies owners once when their trial or subscription has ended, and identification has paused.

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};

use super::coverage::{Coverage, PausedBecause};
use crate::accounts::account::Account;
use crate::accounts::mails::owners_mail::{receives_notifications, wanted};
use crate::accounts::mails::switch::MailSwitch;
use crate::accounts::{find_account, lock_account};
use crate::contacts::store::usage as store;
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::outbox::{Attempt, ClaimedMail, Kind, MailRun, NewMail};
use crate::infra::smtp::{Notice, NoticeLink, RenderedMail};
use crate::infra::templates::{Message, tr};
use crate::types::ids::AccountId;

const PAGE: i64 = 100;
/// Maximum age of an end that is mailed, so that configuring a mail server later sends no outdated mails.
const NEWS: Duration = Duration::days(7);

#[derive(Deserialize, Serialize)]
struct Notified {
    ended_at: DateTime<Utc>,
}

/// Notifies the owners whose trial or paid period has ended. Without a mail server, nothing is recorded.
pub async fn notify_owners(infra: &Infra) -> Result<()> {
    if !infra.outbox.mailer.is_configured() {
        return Ok(());
    }
    let mut run = MailRun::default();
    loop {
        let due = {
            let mut connection = infra.pool.acquire().await?;
            store::list_end_unnotified(&mut connection, infra.clock.now(), PAGE).await?
        };
        if due.is_empty() {
            return Ok(());
        }
        for account_id in &due {
            if infra.shutdown.has_begun() || !run.may_continue() {
                return Ok(());
            }
            run.count_notification(notify(infra, account_id).await, account_id)?;
        }
    }
}

async fn notify(infra: &Infra, account_id: &AccountId) -> Result<Option<Attempt>> {
    let _guard = infra.shutdown.delay();
    let mut transaction = infra.pool.begin().await?;
    let account = lock_account(&mut transaction, account_id).await?;
    let now = infra.clock.now();
    let end = account.as_ref().and_then(|account| Some((account, end_of(account, now)?.1)));
    let Some((account, ended_at)) = end else { return Ok(None) };
    if !store::update_end_notified(&mut transaction, account_id, ended_at).await? {
        return Ok(None);
    }
    let mail = if receives_notifications(account) && now - ended_at < NEWS {
        let account_id = Some(account_id);
        let new = NewMail { kind: Kind::CoverageEnded, account_id, pixel_id: None };
        infra.outbox.put(&mut transaction, new, &Notified { ended_at }).await?
    } else {
        None
    };
    transaction.commit().await?;
    let Some(mail) = mail else { return Ok(None) };
    let rendered = rendered(infra, &mail).await;
    infra.outbox.deliver(&mail, rendered).await.map(Some)
}

fn end_of(account: &Account, now: DateTime<Utc>) -> Option<(PausedBecause, DateTime<Utc>)> {
    let coverage = Coverage::of(account);
    Some((coverage.ended(now)?, coverage.ends_at()?))
}

/// Renders the mail; `None` once the account has paid, or where such mails are turned off.
pub async fn rendered(infra: &Infra, mail: &ClaimedMail) -> Result<Option<RenderedMail>> {
    let notified = infra.outbox.secrets::<Notified>(mail)?;
    let Some(account_id) = &mail.account_id else { return Ok(None) };
    let mut connection = infra.pool.acquire().await?;
    let account = find_account(&mut connection, account_id).await?;
    let Some(account) = account.filter(receives_notifications) else { return Ok(None) };
    let end = end_of(&account, infra.clock.now()).filter(|(_, at)| *at == notified.ended_at);
    let Some((because, ended_at)) = end else { return Ok(None) };
    let switch = match because {
        PausedBecause::TrialEnded => MailSwitch::TrialEnding,
        PausedBecause::SubscriptionEnded | PausedBecause::ContactAllowanceReached => {
            MailSwitch::PaymentFailed
        }
    };
    let (config, base_url) = (&infra.config, infra.base_url());
    let notice = notice(base_url, because, ended_at);
    wanted(&mut connection, config, base_url, &account, switch, notice).await
}

fn notice(base_url: &str, because: PausedBecause, ended_at: DateTime<Utc>) -> Notice {
    let (subject, opening) = match because {
        PausedBecause::TrialEnded => (
            tr("Identification is paused: your Assent trial has ended"),
            tr("Your trial ended on {{ time }}. Since then, new visitors are not identified."),
        ),
        PausedBecause::SubscriptionEnded | PausedBecause::ContactAllowanceReached => (
            tr("Identification is paused: your Assent subscription has ended"),
            tr(
                "Your subscription ended on {{ time }}. Since then, new visitors are not identified.",
            ),
        ),
    };
    let url = format!("{base_url}/console/account#plan");
    Notice {
        subject,
        paragraphs: vec![
            opening.with("time", Message::Moment(ended_at)),
            tr(
                "The popup still asks, choices and receipts are still recorded, and your data is kept. To identify new visitors again, subscribe for 1 US dollar a month.",
            ),
        ],
        link: Some(NoticeLink { label: tr("Subscribe"), url }),
        ..Notice::default()
    }
}
