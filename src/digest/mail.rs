use std::collections::HashMap;

use chrono::{Days, NaiveDate};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use url::Url;

use super::site::{has_time_zone, section};
use crate::accounts::find_account;
use crate::accounts::mails::owners_mail::{receives_notifications, wanted};
use crate::accounts::mails::switch::MailSwitch;
use crate::clock::Clock;
use crate::erasure::{OpenCount, list_open_counts};
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::outbox::ClaimedMail;
use crate::infra::smtp::{Notice, NoticeLink, RenderedMail};
use crate::infra::templates::{Message, tr};
use crate::pixels::setup;
use crate::receipts::days::DayRange;
use crate::types::ids::AccountId;
use crate::webhooks::listing::list_failing;

/// The maximum number of sites in a mail.
const MOST_SITES: usize = 20;

#[derive(Deserialize, Serialize)]
pub struct Week {
    /// The Monday on which the digest is due.
    pub week: NaiveDate,
}

impl Week {
    /// The two weeks before that Monday: the reported one, and the one with which it is compared.
    fn days(&self) -> DayRange {
        DayRange { from: self.week - Days::new(14), to: self.week - Days::new(1) }
    }

    /// Inserts the first and the last day of the reported week into a text.
    fn name_in(&self, text: Message) -> Message {
        let (from, to) = (self.week - Days::new(7), self.week - Days::new(1));
        text.with("from", Message::DayAndMonth(from)).with("to", Message::Day(to))
    }
}

/// Renders the digest; `None` if the account receives no notifications, has no sites, or has turned digests off.
pub async fn rendered(infra: &Infra, mail: &ClaimedMail) -> Result<Option<RenderedMail>> {
    let week = infra.outbox.secrets::<Week>(mail)?;
    let Some(account_id) = &mail.account_id else { return Ok(None) };
    let account = {
        let mut connection = infra.pool.acquire().await?;
        find_account(&mut connection, account_id).await?
    };
    let Some(account) = account.filter(receives_notifications) else { return Ok(None) };
    let Some(notice) = notice(infra, account_id, &week).await? else { return Ok(None) };
    let mut connection = infra.pool.acquire().await?;
    let (config, base_url) = (&infra.config, infra.base_url());
    wanted(&mut connection, config, base_url, &account, MailSwitch::WeeklyDigest, notice).await
}

async fn notice(infra: &Infra, account_id: &AccountId, week: &Week) -> Result<Option<Notice>> {
    let sites = setup::list(&infra.pool, account_id).await?;
    if sites.is_empty() {
        return Ok(None);
    }
    let requests = requests_of(&infra.pool, &infra.clock, account_id).await?;
    let mut sections = Vec::new();
    for site in sites.iter().take(MOST_SITES) {
        let requests = requests.get(site.pixel_id.as_str());
        sections.push(section(infra, site, week.days(), requests).await?);
    }
    let opening = match sites.iter().take(MOST_SITES).any(has_time_zone) {
        true => tr(
            "The week from {{ from }} to {{ to }}, counted in days of the time zone of each site, or in UTC days.",
        ),
        false => tr("The week from {{ from }} to {{ to }}, counted in UTC days."),
    };
    let rest = sites.len().saturating_sub(MOST_SITES);
    let rest = (rest > 0)
        .then(|| tr("The other {{ number }} sites are in the console.").with("number", rest));
    let url = format!("{}/console", infra.base_url());
    Ok(Some(Notice {
        subject: week.name_in(tr("Your sites from {{ from }} to {{ to }}")),
        paragraphs: [Some(week.name_in(opening)), rest].into_iter().flatten().collect(),
        facts: vec![(
            tr("Failing webhooks"),
            failing_webhooks(&infra.pool, &infra.clock, account_id).await?,
        )],
        sections,
        link: Some(NoticeLink { label: tr("See your sites"), url }),
        ..Notice::default()
    }))
}

async fn requests_of(
    pool: &PgPool,
    clock: &Clock,
    account_id: &AccountId,
) -> Result<HashMap<String, OpenCount>> {
    let mut connection = pool.acquire().await?;
    let counts = list_open_counts(&mut connection, account_id, clock.now()).await?;
    Ok(counts.into_iter().map(|count| (count.pixel_id.to_string(), count)).collect())
}

async fn failing_webhooks(pool: &PgPool, clock: &Clock, account_id: &AccountId) -> Result<Message> {
    let failing = list_failing(pool, clock, account_id).await?;
    let host = |url: &str| Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
    let hosts = failing.iter().filter_map(|webhook| host(&webhook.url)).collect::<Vec<_>>();
    Ok(match failing.len() {
        0 => tr("None"),
        count => Message::Plain(format!("{count}: {}", hosts.join(", "))),
    })
}
