//! The mail that informs an owner of a paused webhook. It cannot be turned off.

use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use url::Url;
use uuid::Uuid;

use super::endpoint::{Endpoint, PausedBecause};
use super::store::endpoints::find_endpoint;
use crate::accounts::find_account;
use crate::accounts::mails::owners_mail::{always, receives_notifications};
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::outbox::{ClaimedMail, Kind, NewMail, Outbox};
use crate::infra::smtp::{Notice, NoticeLink, RenderedMail};
use crate::infra::templates::{Message, tr};
use crate::types::ids::AccountId;

#[derive(Deserialize, Serialize)]
struct Paused {
    endpoint_id: Uuid,
}

/// Enqueues the mail about an endpoint that was just paused; `None` if nobody is notified.
pub async fn put(
    connection: &mut PgConnection,
    outbox: &Outbox,
    account_id: &AccountId,
    endpoint_id: Uuid,
) -> Result<Option<ClaimedMail>> {
    let account = find_account(connection, account_id).await?;
    if !account.is_some_and(|account| receives_notifications(&account)) {
        return Ok(None);
    }
    let new = NewMail { kind: Kind::WebhookPaused, account_id: Some(account_id), pixel_id: None };
    outbox.put(connection, new, &Paused { endpoint_id }).await
}

/// The mail in its current form; `None` once the endpoint is resumed or deleted.
pub async fn rendered(infra: &Infra, mail: &ClaimedMail) -> Result<Option<RenderedMail>> {
    let Some(account_id) = &mail.account_id else { return Ok(None) };
    let Paused { endpoint_id } = infra.outbox.secrets(mail)?;
    let mut connection = infra.pool.acquire().await?;
    let account = find_account(&mut connection, account_id).await?;
    let endpoint = find_endpoint(&mut connection, account_id, endpoint_id).await?;
    let Some(account) = account.filter(receives_notifications) else { return Ok(None) };
    let Some(endpoint) = endpoint.filter(|endpoint| endpoint.paused_at.is_some()) else {
        return Ok(None);
    };
    always(&mut connection, infra.base_url(), &account, notice(infra.base_url(), &endpoint))
        .await
        .map(Some)
}

fn notice(base_url: &str, endpoint: &Endpoint) -> Notice {
    let url = Url::parse(&endpoint.url).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    let because = endpoint.paused_because.as_deref().and_then(PausedBecause::parse);
    let (why, what_to_do) = match because {
        Some(PausedBecause::Gone) => (
            tr("Your server answered with status 410 (Gone), which asks us to send nothing more."),
            tr("If that was a mistake, resume the webhook. If not, you can delete it."),
        ),
        Some(PausedBecause::SecretLost) => (
            tr("We can no longer read its signing secret."),
            tr("Rotate the secret, copy the new one to your server, and resume the webhook."),
        ),
        Some(PausedBecause::Owner | PausedBecause::Failing) | None => (
            tr("All deliveries have failed for a day."),
            tr("Once your server answers again, send a test event and resume the webhook."),
        ),
    };
    Notice {
        subject: tr("The webhook to {{ host }} is paused").with("host", host),
        paragraphs: vec![
            Message::Sentences(vec![why, tr("We have paused it.")]),
            what_to_do,
            tr("Events are kept for a day and sent when you resume. Older events are not sent."),
        ],
        facts: facts(host, endpoint),
        link: Some(NoticeLink {
            label: tr("View the webhook"),
            url: format!("{base_url}/console/account/deliveries/{}", endpoint.endpoint_id),
        }),
        ..Notice::default()
    }
}

fn facts(host: &str, endpoint: &Endpoint) -> Vec<(Message, Message)> {
    let server = (tr("Server"), Message::plain(host));
    let failing = endpoint.failing_since.map(|since| (tr("Failing since"), Message::Moment(since)));
    let paused = endpoint.paused_at.map(|at| (tr("Paused"), Message::Moment(at)));
    [Some(server), failing, paused].into_iter().flatten().collect()
}
