use chrono::{DateTime, Utc};
use rand::RngExt;
use sqlx::PgConnection;

use super::store;
use super::switch::MailSwitch;
use super::weekly;
use crate::accounts::actor::Actor;
use crate::accounts::event::ActivityKind;
use crate::accounts::events;
use crate::error::Result;
use crate::types::ids::AccountId;

/// Whether the account wants such mails. Evaluated just before a mail is sent.
pub async fn is_wanted(
    connection: &mut PgConnection,
    account_id: &AccountId,
    switch: MailSwitch,
) -> Result<bool> {
    match switch {
        MailSwitch::WeeklyDigest => store::has_digest(connection, account_id).await,
        _ => Ok(!store::is_off(connection, account_id, switch).await?),
    }
}

pub async fn turn(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account_id: &AccountId,
    actor: &Actor,
    switch: MailSwitch,
    wanted: bool,
) -> Result<()> {
    let changed = match (switch, wanted) {
        (MailSwitch::WeeklyDigest, true) => {
            let delay = rand::rng().random_range(0..weekly::SPREAD_MINUTES);
            let week = weekly::due_week(now);
            store::insert_digest(connection, account_id, now, delay, week).await?
        }
        (MailSwitch::WeeklyDigest, false) => store::delete_digest(connection, account_id).await?,
        (_, true) => store::delete_off(connection, account_id, switch).await?,
        (_, false) => store::insert_off(connection, account_id, switch, now).await?,
    };
    if changed {
        let kind = if wanted { ActivityKind::MailTurnedOn } else { ActivityKind::MailTurnedOff };
        let subject = Some(switch.as_str());
        events::record(connection, now, account_id, actor, kind, subject).await?;
    }
    Ok(())
}
