use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};

use super::owners_mail::{receives_notifications, wanted};
use super::store;
use super::switch::MailSwitch;
use crate::accounts::account::{Account, Plan};
use crate::accounts::store::{find_account, lock_account};
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::outbox::{Attempt, ClaimedMail, Kind, MailRun, NewMail};
use crate::infra::smtp::{Notice, NoticeLink, RenderedMail};
use crate::infra::templates::{Message, tr};
use crate::types::ids::AccountId;

const EARLY: i16 = 7;
const LATE: i16 = 1;
const PAGE: i64 = 100;

#[derive(Deserialize, Serialize)]
struct Notified {
    days: i16,
}

/// Notifies the owners whose trial ends. Without a mail server, nothing is recorded.
pub async fn notify_owners(infra: &Infra) -> Result<()> {
    if !infra.outbox.mailer.is_configured() {
        return Ok(());
    }
    let mut run = MailRun::default();
    loop {
        let now = infra.clock.now();
        let (early, late) = (now + days(EARLY), now + days(LATE));
        let due = {
            let mut connection = infra.pool.acquire().await?;
            store::list_unnotified_trials(&mut connection, now, early, late, PAGE).await?
        };
        let mut attempted = 0;
        for account_id in &due {
            if infra.shutdown.has_begun() || !run.may_continue() {
                return Ok(());
            }
            let notified = notify(infra, account_id).await;
            attempted += u32::from(matches!(notified, Ok(Some(_))));
            run.count_notification(notified, account_id)?;
        }
        if attempted == 0 {
            return Ok(());
        }
    }
}

fn days(days: i16) -> Duration {
    Duration::days(days.into())
}

async fn notify(infra: &Infra, account_id: &AccountId) -> Result<Option<Attempt>> {
    let _guard = infra.shutdown.delay();
    let mut transaction = infra.pool.begin().await?;
    let account = lock_account(&mut transaction, account_id).await?;
    let due = account.as_ref().and_then(|account| step(account, infra.clock.now()));
    let Some(days) = due else { return Ok(None) };
    if !store::update_trial_notified(&mut transaction, account_id, days).await? {
        return Ok(None);
    }
    let new = NewMail { kind: Kind::TrialEnding, account_id: Some(account_id), pixel_id: None };
    let mail = infra.outbox.put(&mut transaction, new, &Notified { days }).await?;
    transaction.commit().await?;
    let Some(mail) = mail else { return Ok(None) };
    let rendered = rendered(infra, &mail).await;
    infra.outbox.deliver(&mail, rendered).await.map(Some)
}

fn step(account: &Account, now: DateTime<Utc>) -> Option<i16> {
    let left = account.trial_ends_at - now;
    let in_trial =
        account.plan == Plan::Free && receives_notifications(account) && left > Duration::zero();
    if !in_trial || left > days(EARLY) {
        return None;
    }
    Some(if left > days(LATE) { EARLY } else { LATE })
}

/// Renders the mail; `None` once the account has paid, the later mail is due, or such mails are turned off.
pub async fn rendered(infra: &Infra, mail: &ClaimedMail) -> Result<Option<RenderedMail>> {
    let Notified { days } = infra.outbox.secrets(mail)?;
    let Some(account_id) = &mail.account_id else { return Ok(None) };
    let mut connection = infra.pool.acquire().await?;
    let account = find_account(&mut connection, account_id).await?;
    let due = |account: &Account| step(account, infra.clock.now()) == Some(days);
    let Some(account) = account.filter(due) else { return Ok(None) };
    let (config, base_url) = (&infra.config, infra.base_url());
    let notice = notice(base_url, &account);
    wanted(&mut connection, config, base_url, &account, MailSwitch::TrialEnding, notice).await
}

fn notice(base_url: &str, account: &Account) -> Notice {
    let ends = account.trial_ends_at;
    let url = format!("{base_url}/console/account");
    Notice {
        subject: tr("Your Assent trial ends on {{ day }}").with("day", Message::DayOf(ends)),
        paragraphs: vec![
            tr("The trial of your account ends on {{ time }}.").with("time", Message::Moment(ends)),
            tr(
                "To keep identifying visitors, subscribe for 1 US dollar a month. Without a subscription, no new contacts are stored from then on. The popup still asks, your data is kept, and nothing is charged unless you subscribe.",
            ),
        ],
        link: Some(NoticeLink { label: tr("View your plan"), url }),
        ..Notice::default()
    }
}
