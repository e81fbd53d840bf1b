use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::install_check::install_state::kept_findings;
use super::pixel::{InstallStatus, Pixel};
use super::store;
use super::store::usage::EndingPixel;
use crate::accounts::find_account;
use crate::accounts::mails::owners_mail::{always, wanted};
use crate::accounts::mails::switch::MailSwitch;
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::outbox::{ClaimedMail, Kind, NewMail, Outbox};
use crate::infra::smtp::{Notice, NoticeLink, RenderedMail};
use crate::infra::templates::{Message, tr};
use crate::page_analysis::diagnostics::finding::Finding;
use crate::types::ids::PixelId;

#[derive(Deserialize, Serialize)]
struct LostPixel {
    pixel_id: String,
    domain: String,
}

pub async fn put_ending(
    connection: &mut PgConnection,
    outbox: &Outbox,
    pixel_id: &PixelId,
) -> Result<Option<ClaimedMail>> {
    let new = NewMail { kind: Kind::PixelEnding, account_id: None, pixel_id: Some(pixel_id) };
    outbox.put(connection, new, &()).await
}

/// Renders the mail about a pixel that will be deleted; `None` once it is used or gone, or where
/// such mails are turned off.
pub async fn render_ending(infra: &Infra, mail: &ClaimedMail) -> Result<Option<RenderedMail>> {
    let Some(pixel_id) = &mail.pixel_id else { return Ok(None) };
    let mut connection = infra.pool.acquire().await?;
    let pixel = store::usage::find_ending(&mut connection, pixel_id).await?;
    let Some(EndingPixel { account_id, domain, ends_at }) = pixel else { return Ok(None) };
    let account = find_account(&mut connection, &account_id).await?;
    let Some(account) = account else { return Ok(None) };
    let (config, base_url) = (&infra.config, infra.base_url());
    let notice = ending_notice(base_url, &domain, pixel_id, ends_at);
    wanted(&mut connection, config, base_url, &account, MailSwitch::PixelEnding, notice).await
}

fn ending_notice(
    base_url: &str,
    domain: &str,
    pixel_id: &PixelId,
    ends_at: DateTime<Utc>,
) -> Notice {
    let day = Message::DayOf(ends_at);
    let url = format!("{base_url}/console/sites/{pixel_id}/install");
    Notice {
        subject: tr("{{ domain }} will be removed on {{ day }}")
            .with("domain", domain)
            .with("day", &day),
        paragraphs: vec![
            tr(
                "{{ domain }} is in your account, but its snippet does not seem to be installed: no check of the site has found it, and for some weeks no page has loaded it (pixel {{ pixel_id }}).",
            )
            .with("domain", domain)
            .with("pixel_id", pixel_id),
            tr(
                "To keep the site, add the snippet to its pages and verify the installation. Otherwise it is removed from your account on {{ day }}. You can add it again at any time.",
            )
            .with("day", day),
        ],
        link: Some(NoticeLink { label: tr("See how to install it"), url }),
        ..Notice::default()
    }
}

pub async fn put_lost(
    connection: &mut PgConnection,
    outbox: &Outbox,
    lost: &Pixel,
) -> Result<Option<ClaimedMail>> {
    let new = NewMail { kind: Kind::PixelLost, account_id: Some(&lost.account_id), pixel_id: None };
    let lost = LostPixel { pixel_id: lost.pixel_id.to_string(), domain: lost.domain.to_string() };
    outbox.put(connection, new, &lost).await
}

pub async fn lost(infra: &Infra, mail: &ClaimedMail) -> Result<Option<RenderedMail>> {
    let lost = infra.outbox.secrets::<LostPixel>(mail)?;
    let Some(account_id) = &mail.account_id else { return Ok(None) };
    let mut connection = infra.pool.acquire().await?;
    let Some(account) = find_account(&mut connection, account_id).await? else { return Ok(None) };
    always(&mut connection, infra.base_url(), &account, lost_notice(infra.base_url(), &lost))
        .await
        .map(Some)
}

fn lost_notice(base_url: &str, LostPixel { pixel_id, domain }: &LostPixel) -> Notice {
    Notice {
        subject: tr("{{ domain }} was moved to another account").with("domain", domain),
        paragraphs: vec![
            tr(
                "Another account has proved that it owns {{ domain }}, by a DNS record or by a snippet on its home page. At that moment the snippet of your pixel {{ pixel_id }} was not on the home page.",
            )
            .with("domain", domain)
            .with("pixel_id", pixel_id),
            tr("The pixel and its contacts are deleted. Earlier receipts can still be verified."),
            tr("If you own {{ domain }}, add it again and prove ownership in the same way.")
                .with("domain", domain),
        ],
        link: Some(NoticeLink {
            label: tr("Add the site again"),
            url: format!("{base_url}/console/sites/new?domain={domain}"),
        }),
        ..Notice::default()
    }
}

pub async fn put_vanished(
    connection: &mut PgConnection,
    outbox: &Outbox,
    pixel_id: &PixelId,
) -> Result<Option<ClaimedMail>> {
    let new = NewMail { kind: Kind::TagVanished, account_id: None, pixel_id: Some(pixel_id) };
    outbox.put(connection, new, &()).await
}

/// Renders the mail about a tag that disappeared from its site; `None` once it is back, the pixel
/// has moved or is gone, or such mails are turned off.
pub async fn vanished(infra: &Infra, mail: &ClaimedMail) -> Result<Option<RenderedMail>> {
    let Some(pixel_id) = &mail.pixel_id else { return Ok(None) };
    let mut connection = infra.pool.acquire().await?;
    let pixel = store::find_any_pixel(&mut connection, pixel_id).await?;
    let known = store::install_checks::find_install(&mut connection, pixel_id).await?;
    let (Some(pixel), Some(known)) = (pixel, known) else { return Ok(None) };
    let account = find_account(&mut connection, &pixel.account_id).await?;
    let has_vanished = pixel.install_status == InstallStatus::NotInstalled;
    let (Some(account), Some(since), true) = (account, known.missing_since, has_vanished) else {
        return Ok(None);
    };
    let finding = kept_findings(&pixel, &known).into_iter().next();
    let (config, base_url) = (&infra.config, infra.base_url());
    let notice = vanished_notice(base_url, &pixel, since, finding);
    wanted(&mut connection, config, base_url, &account, MailSwitch::TagVanished, notice).await
}

fn vanished_notice(
    base_url: &str,
    pixel: &Pixel,
    since: DateTime<Utc>,
    finding: Option<Finding>,
) -> Notice {
    let Pixel { domain, pixel_id, .. } = pixel;
    let opening = tr(
        "We check {{ domain }} once a day. Since {{ day }} we have not found your snippet there, three days in a row. Without it, no visitor is asked and nobody is identified.",
    );
    let opening = opening.with("domain", domain).with("day", Message::DayOf(since));
    let likely =
        finding.map(|Finding { found, cure, .. }| Message::Plain(format!("{found} {cure}")));
    let rest = tr("The next daily check detects when the snippet is there again.");
    let url = format!("{base_url}/console/sites/{pixel_id}/install");
    Notice {
        subject: tr("The snippet is missing from {{ domain }}").with("domain", domain),
        paragraphs: [Some(opening), likely, Some(rest)].into_iter().flatten().collect(),
        link: Some(NoticeLink { label: tr("View the results"), url }),
        ..Notice::default()
    }
}

/// Makes a later run notify the owner, because no mail arrived.
pub async fn take_back(connection: &mut PgConnection, pixel_id: &PixelId) -> Result<()> {
    store::usage::update_ending_unnotified(connection, pixel_id).await
}
