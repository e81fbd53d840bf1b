use chrono::{DateTime, Datelike, NaiveDate, Utc};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::coverage::{Coverage, contacts_included, month_of, next_month};
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

#[derive(Deserialize, Serialize)]
struct Notified {
    percent: i16,
    month: NaiveDate,
}

/// Notifies owners about the current month. Without a mail server, nothing is recorded.
pub async fn notify_owners(infra: &Infra) -> Result<()> {
    if !infra.outbox.mailer.is_configured() {
        return Ok(());
    }
    let (mut run, mut after) = (MailRun::default(), None);
    loop {
        let month = month_of(infra.clock.now());
        let due = {
            let mut connection = infra.pool.acquire().await?;
            store::list_unnotified(&mut connection, month, after.as_ref(), PAGE).await?
        };
        for account_id in &due {
            if infra.shutdown.has_begun() || !run.may_continue() {
                return Ok(());
            }
            run.count_notification(notify(infra, account_id, month).await, account_id)?;
        }
        let Some(last) = due.last() else { return Ok(()) };
        after = Some(last.clone());
    }
}

async fn notify(
    infra: &Infra,
    account_id: &AccountId,
    month: NaiveDate,
) -> Result<Option<Attempt>> {
    let _guard = infra.shutdown.delay();
    let mut transaction = infra.pool.begin().await?;
    let account = lock_account(&mut transaction, account_id).await?;
    let now = infra.clock.now();
    let Some(account) = account.filter(|account| is_recipient(account, now)) else {
        return Ok(None);
    };
    let account_id = &account.account_id;
    let notified = store::update_notified(&mut transaction, account_id, month).await?;
    let Some(percent) = notified else { return Ok(None) };
    let new =
        NewMail { kind: Kind::AllowanceReached, account_id: Some(account_id), pixel_id: None };
    let mail = infra.outbox.put(&mut transaction, new, &Notified { percent, month }).await?;
    transaction.commit().await?;
    let Some(mail) = mail else { return Ok(None) };
    let rendered = rendered(infra, &mail).await;
    infra.outbox.deliver(&mail, rendered).await.map(Some)
}

fn is_recipient(account: &Account, now: DateTime<Utc>) -> bool {
    let is_bounded = contacts_included(account.plan).is_some();
    is_bounded && receives_notifications(account) && Coverage::of(account).ended(now).is_none()
}

/// Renders the mail; `None` once the month is over, a higher percentage is reached, or such mails are turned off.
pub async fn rendered(infra: &Infra, mail: &ClaimedMail) -> Result<Option<RenderedMail>> {
    let notified = infra.outbox.secrets::<Notified>(mail)?;
    let Some(account_id) = &mail.account_id else { return Ok(None) };
    let now = infra.clock.now();
    let mut connection = infra.pool.acquire().await?;
    let account = find_account(&mut connection, account_id).await?;
    let Some(account) = account.filter(|account| is_recipient(account, now)) else {
        return Ok(None);
    };
    let used = reached(&mut connection, account_id, &notified, now).await?;
    let (Some(used), Some(included)) = (used, contacts_included(account.plan)) else {
        return Ok(None);
    };
    let (config, base_url) = (&infra.config, infra.base_url());
    let notice = notice(base_url, notified.percent, used, included, now);
    wanted(&mut connection, config, base_url, &account, MailSwitch::Allowance, notice).await
}

async fn reached(
    connection: &mut PgConnection,
    account_id: &AccountId,
    notified: &Notified,
    now: DateTime<Utc>,
) -> Result<Option<i64>> {
    if notified.month != month_of(now) {
        return Ok(None);
    }
    let percent = store::find_reached(connection, account_id, notified.month).await?;
    match percent == notified.percent {
        true => store::find_usage(connection, account_id, notified.month).await.map(Some),
        false => Ok(None),
    }
}

fn notice(base_url: &str, percent: i16, used: i64, included: i64, now: DateTime<Utc>) -> Notice {
    let (today, next) = (now.date_naive(), Message::Day(next_month(now).date_naive()));
    let month = Message::Month(today);
    let (used, included) = (Message::Number(used), Message::Number(included));
    let (subject, first, second) = match percent {
        100 => (
            tr("All contacts of {{ month }} are used"),
            tr("Your plan includes {{ included }} new contacts a month, and all of them are used."),
            tr(
                "Until {{ day }}, no new contacts are stored. The popup still asks, and existing contacts are still updated. The allowance resets on {{ day }}.",
            ),
        ),
        _ => (
            tr("{{ percent }} of the contacts of {{ month }} are used")
                .with("percent", Message::WholePercent(percent.into())),
            tr(
                "Your plan includes {{ included }} new contacts a month. {{ used }} of them are used.",
            )
            .with("used", &used),
            tr(
                "You do not have to do anything. Once all are used, no new contacts are stored until the allowance resets on {{ day }}.",
            ),
        ),
    };
    let of_included = tr("{{ used }} of {{ included }}").with("used", &used);
    let of_year = tr("{{ month }} {{ year }} (UTC)").with("year", today.year());
    let url = format!("{base_url}/console/account");
    Notice {
        subject: subject.with("month", &month),
        paragraphs: vec![first.with("included", &included), second.with("day", &next)],
        facts: vec![
            (tr("Month"), of_year.with("month", &month)),
            (tr("Used"), of_included.with("included", &included)),
            (tr("Resets on"), next),
        ],
        link: Some(NoticeLink { label: tr("View your plan"), url }),
        ..Notice::default()
    }
}
