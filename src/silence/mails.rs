use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::leaks::{LeakLine, allowed_hosts, lines_of};
use super::state::SilenceChange;
use super::store;
use crate::accounts::find_account;
use crate::accounts::mails::owners_mail::wanted;
use crate::accounts::mails::switch::MailSwitch;
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::outbox::{ClaimedMail, Kind, NewMail, Outbox};
use crate::infra::smtp::{Notice, NoticeLink, RenderedMail};
use crate::infra::templates::{Message, tr};
use crate::pixels::find_any_pixel;
use crate::pixels::pixel::Pixel;
use crate::types::ids::PixelId;
use crate::watch::report::Report;

const MAX_NAMED: usize = 5;

pub async fn put(
    connection: &mut PgConnection,
    outbox: &Outbox,
    pixel_id: &PixelId,
    change: SilenceChange,
) -> Result<Option<ClaimedMail>> {
    let new = NewMail { kind: change.mail(), account_id: None, pixel_id: Some(pixel_id) };
    outbox.put(connection, new, &()).await
}

/// Makes the first attempt to send a mail. The outbox makes all others.
pub async fn send(infra: &Infra, mail: &ClaimedMail) -> Result<()> {
    let rendered = rendered(infra, mail).await;
    infra.outbox.deliver(mail, rendered).await?;
    Ok(())
}

/// Renders a mail. `None` if the site has changed again since, or such mails are turned off.
pub async fn rendered(infra: &Infra, mail: &ClaimedMail) -> Result<Option<RenderedMail>> {
    let Some(pixel_id) = &mail.pixel_id else { return Ok(None) };
    let mut connection = infra.pool.acquire().await?;
    let pixel = find_any_pixel(&mut connection, pixel_id).await?;
    let known = store::sites::find_site(&mut connection, pixel_id).await?.known;
    let (Some(pixel), Some(report_id)) = (pixel, known.report_id) else { return Ok(None) };
    let (config, base_url) = (&infra.config, infra.base_url());
    let files = store::reports::find_files(&mut connection, pixel_id, report_id).await?;
    let report = files.and_then(|files| serde_json::from_str::<Report>(&files.report).ok());
    let notice = match (mail.kind, known.broken_since, known.reported_at) {
        (Kind::SilenceBroken, Some(since), _) => {
            broken(base_url, &pixel, since, &report.as_ref().map(lines_of).unwrap_or_default())
        }
        (Kind::SilenceRestored, None, Some(at)) => {
            restored(base_url, &pixel, at, &report.as_ref().map(allowed_hosts).unwrap_or_default())
        }
        _ => return Ok(None),
    };
    let account = find_account(&mut connection, &pixel.account_id).await?;
    let Some(account) = account else { return Ok(None) };
    wanted(&mut connection, config, base_url, &account, MailSwitch::Silence, notice).await
}

fn broken(base_url: &str, pixel: &Pixel, since: DateTime<Utc>, leaks: &[LeakLine]) -> Notice {
    let domain = &pixel.domain;
    let opening = tr(
        "A visit of {{ domain }} on {{ day }} found that something is loaded or stored without consent.",
    );
    let opening = opening.with("domain", domain).with("day", Message::DayOf(since));
    let mut hosts = Vec::<String>::new();
    for LeakLine { host, kind, .. } in leaks {
        let named = format!("{host} ({kind})");
        if !hosts.contains(&named) {
            hosts.push(named);
        }
    }
    let more = hosts.len().saturating_sub(MAX_NAMED);
    hosts.truncate(MAX_NAMED);
    let named = (!hosts.is_empty()).then(|| match more {
        0 => tr("Found: {{ hosts }}.").with("hosts", hosts.join(", ")),
        _ => tr("Found: {{ hosts }} and {{ number }} more.")
            .with("hosts", hosts.join(", "))
            .with("number", more),
    });
    let cure = tr(
        "The page below names the script and line that caused each one, and the code to paste instead. We email you when a later visit finds nothing any more.",
    );
    Notice {
        subject: tr("{{ domain }} loads something without consent").with("domain", domain),
        paragraphs: [Some(opening), named, Some(cure)].into_iter().flatten().collect(),
        link: Some(link(base_url, &pixel.pixel_id)),
        ..Notice::default()
    }
}

fn restored(base_url: &str, pixel: &Pixel, at: DateTime<Utc>, allowed: &[String]) -> Notice {
    let domain = &pixel.domain;
    let found = tr(
        "A visit of {{ domain }} on {{ day }} found nothing that was loaded or stored without consent.",
    );
    let excluded = (!allowed.is_empty()).then(|| {
        tr("Listed separately in the report and not counted: {{ hosts }}.")
            .with("hosts", allowed.join(", "))
    });
    let found = found.with("domain", domain).with("day", Message::DayOf(at));
    Notice {
        subject: tr("{{ domain }} no longer loads anything without consent").with("domain", domain),
        paragraphs: [Some(found), excluded].into_iter().flatten().collect(),
        link: Some(link(base_url, &pixel.pixel_id)),
        ..Notice::default()
    }
}

fn link(base_url: &str, pixel_id: &PixelId) -> NoticeLink {
    let url = format!("{base_url}/console/sites/{pixel_id}/watch");
    NoticeLink { label: tr("View the report"), url }
}
