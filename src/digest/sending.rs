use chrono::{DateTime, Duration, NaiveDate, Utc};

use super::mail::{Week, rendered};
use super::store;
use crate::accounts::lock_account;
use crate::accounts::mails::owners_mail::receives_notifications;
use crate::accounts::mails::weekly::{due_at, due_week};
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::outbox::{Attempt, Kind, MailRun, NewMail};
use crate::pixels::count_pixels;
use crate::types::ids::AccountId;

const PAGE: i64 = 100;
/// A digest that has not been sent within this time is skipped.
const LATEST: Duration = Duration::days(2);

/// Sends the digests that are due, each once. Without a mail server, nothing is recorded.
pub async fn send_digests(infra: &Infra) -> Result<()> {
    if !infra.outbox.mailer.is_configured() {
        return Ok(());
    }
    let mut run = MailRun::default();
    while let Some((week, minutes)) = due(infra.clock.now()) {
        let accounts = {
            let mut connection = infra.pool.acquire().await?;
            store::list_due(&mut connection, week, minutes, PAGE).await?
        };
        if accounts.is_empty() {
            break;
        }
        for account_id in &accounts {
            if infra.shutdown.has_begun() || !run.may_continue() {
                return Ok(());
            }
            run.count_notification(send(infra, account_id, week).await, account_id)?;
        }
    }
    Ok(())
}

/// The week whose digests are due, and the minutes since the first of them was due; `None` when it is too late.
fn due(now: DateTime<Utc>) -> Option<(NaiveDate, i32)> {
    let week = due_week(now);
    let since = now - due_at(week);
    let minutes = i32::try_from(since.num_minutes()).ok()?;
    (since <= LATEST).then_some((week, minutes))
}

/// Sends the digest of a week, unless the account has no sites or receives no notifications.
async fn send(infra: &Infra, account_id: &AccountId, week: NaiveDate) -> Result<Option<Attempt>> {
    let _guard = infra.shutdown.delay();
    let mut transaction = infra.pool.begin().await?;
    let account = lock_account(&mut transaction, account_id).await?;
    if !store::update_sent(&mut transaction, account_id, week).await? {
        return Ok(None);
    }
    let has_sites = count_pixels(&mut transaction, account_id).await? > 0;
    let mail = if has_sites && account.as_ref().is_some_and(receives_notifications) {
        let new =
            NewMail { kind: Kind::WeeklyDigest, account_id: Some(account_id), pixel_id: None };
        infra.outbox.put(&mut transaction, new, &Week { week }).await?
    } else {
        None
    };
    transaction.commit().await?;
    let Some(mail) = mail else { return Ok(None) };
    let rendered = rendered(infra, &mail).await;
    infra.outbox.deliver(&mail, rendered).await.map(Some)
}
