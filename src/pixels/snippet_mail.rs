//! Mailing the install snippet to whoever can paste it.

use chrono::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::pixel::{InstallStatus, Pixel, find_for};
use super::{snippet, store};
use crate::accounts::Caller;
use crate::accounts::confirmation::seconds;
use crate::accounts::email::Email;
use crate::error::{Error, Result};
use crate::ids::PixelId;
use crate::platform::Platform;
use crate::platform::mailer::Delivery;

/// Between two snippet mails of one pixel, from the moment a mail server took the first.
const PAUSE: Duration = Duration::minutes(10);
/// How long a mail on its way keeps the next one waiting, should nothing be heard of it any more:
/// longer than the mailer tries.
const ON_ITS_WAY: Duration = Duration::seconds(15);

/// Where the snippet is mailed to.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct SnippetMailRequest {
    #[schemars(with = "String")]
    #[schema(value_type = String, format = Email, example = "developer@shop.example")]
    pub email: Option<String>,
    /// `cms`, `gtm` and `utm` are refused; every other word is accepted.
    pub method: Option<String>,
}

/// What became of the mail.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct SnippetMail {
    /// `false` where the service has no mail server.
    pub sent: bool,
    pub install_status: InstallStatus,
}

/// Mails the immediate snippet, also where consent is on: the consent tag comes with its
/// configuration.
pub async fn mail_snippet(
    platform: &Platform,
    caller: &Caller,
    pixel_id: &str,
    email: &Email,
) -> Result<SnippetMail> {
    let pixel = find_for(platform, caller, pixel_id).await?;
    claim_mail(platform, &pixel.pixel_id).await?;
    let delivery = send(platform, caller, &pixel, email).await;
    let mut connection = platform.pool.acquire().await?;
    let mailed_at = matches!(delivery, Ok(Delivery::Sent)).then(|| platform.clock.now());
    store::update_snippet_mailed(&mut connection, &pixel.pixel_id, mailed_at).await?;
    Ok(SnippetMail { sent: delivery? == Delivery::Sent, install_status: pixel.install_status })
}

/// Takes the right to send the one mail that is due, before anything is sent.
async fn claim_mail(platform: &Platform, pixel_id: &PixelId) -> Result<()> {
    let now = platform.clock.now();
    let mut transaction = platform.pool.begin().await?;
    let mails =
        store::lock_snippet_mails(&mut transaction, pixel_id).await?.ok_or(Error::PixelNotFound)?;
    let paused_until = mails.mailed_at.map(|mailed| mailed + PAUSE).max(mails.mailing_until);
    if let Some(until) = paused_until.filter(|&until| until > now) {
        return Err(Error::SnippetMailTooSoon { retry_after: seconds(until - now) });
    }
    store::update_snippet_mailing(&mut transaction, pixel_id, now + ON_ITS_WAY).await?;
    transaction.commit().await?;
    Ok(())
}

async fn send(
    platform: &Platform,
    caller: &Caller,
    pixel: &Pixel,
    email: &Email,
) -> Result<Delivery> {
    let base_url = platform.base_url();
    let mut context = tera::Context::new();
    context.insert("sender_name", &caller.account.display_name);
    context.insert("domain", &pixel.domain);
    context.insert("pixel_id", &pixel.pixel_id);
    context.insert("snippet", &snippet::immediate(&pixel.pixel_id, base_url));
    context.insert("base_url", base_url);
    let subject = format!("The pixel for {}", pixel.domain);
    let address = email.address()?;
    platform.mailer.send(&address, &subject, "snippet", &context).await.map_err(|error| {
        tracing::warn!(%error, "snippet mail failed");
        Error::SnippetMailFailed
    })
}
