use futures_util::future::join_all;
use sqlx::PgPool;

use crate::account_deletion;
use crate::accounts::clients::client_mails;
use crate::accounts::codes::code_mail;
use crate::accounts::mails::{key_expiry, safety, trial_ending};
use crate::accounts::members::invitation;
use crate::accounts::profile::address_notice;
use crate::accounts::sign_in;
use crate::accounts::signup::confirmation_mail;
use crate::billing::payment_failed;
use crate::contacts::allowance::{allowance_mails, end_mails};
use crate::digest;
use crate::erasure::mails;
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::outbox::{Attempt, ClaimedMail, Draft, Kind, MailRun, Outbox, Retry};
use crate::pixels::notices;
use crate::pixels::snippets::snippet_mail;
use crate::silence;
use crate::webhooks::paused_mail;

/// Number of mails that a node sends concurrently, so that one slow reply does not delay all others.
const WORKERS: usize = 4;

/// Attempts all due mails, after giving up on those that are too old. No worker is cancelled when another one
/// fails, because a mail in transmission would be sent twice.
pub async fn try_all_due(infra: &Infra) -> Result<()> {
    infra.outbox.give_up().await?;
    infra.outbox.count().await?;
    if !infra.outbox.mailer.is_configured() {
        return Ok(());
    }
    let workers = join_all((0..WORKERS).map(|_| try_due(infra))).await;
    workers.into_iter().collect::<Result<()>>()?;
    infra.outbox.count().await
}

async fn try_due(infra: &Infra) -> Result<()> {
    let mut run = MailRun::default();
    while !infra.shutdown.has_begun()
        && run.may_continue()
        && let Some(mail) = infra.outbox.claim_due().await?
    {
        let _guard = infra.shutdown.delay();
        if infra.outbox.give_up_undecryptable(&mail).await? {
            continue;
        }
        let draft = draft(infra, &mail).await;
        let attempt = infra.outbox.attempt(&mail, draft, Retry::UnlessRefused).await;
        run.count(Some(attempt));
        if attempt == Attempt::Failed {
            give_back(&infra.pool, &infra.outbox, &mail).await?;
        }
    }
    Ok(())
}

/// Deletes a refused mail, and rolls back its effects. (After a refusal of the first attempt, its caller
/// rolls back more.) If an earlier attempt may have arrived, its code stays valid.
async fn give_back(pool: &PgPool, outbox: &Outbox, mail: &ClaimedMail) -> Result<()> {
    let mut transaction = pool.begin().await?;
    if !outbox.cancel(&mut transaction, mail).await? {
        return Ok(());
    }
    match (mail.kind, &mail.pixel_id) {
        (Kind::Confirmation | Kind::Code, _) if !mail.unanswered => {
            confirmation_mail::give_back(&mut transaction, outbox, mail).await?;
        }
        (Kind::PixelEnding, Some(pixel_id)) => {
            notices::take_back(&mut transaction, pixel_id).await?;
        }
        _ => {}
    }
    transaction.commit().await?;
    Ok(())
}

async fn draft(infra: &Infra, mail: &ClaimedMail) -> Result<Draft> {
    let rendered = match mail.kind {
        Kind::Confirmation | Kind::Code => return confirmation_mail::rendered(infra, mail).await,
        Kind::SignIn => sign_in::mail::rendered(infra, mail).await?,
        Kind::AccountCode => code_mail::rendered(infra, mail).await?,
        Kind::Invitation => invitation::rendered(infra, mail).await?,
        Kind::ClientOffer | Kind::ClientConfirmed => client_mails::rendered(infra, mail).await?,
        Kind::AddressChanged | Kind::AddressWaiting => {
            address_notice::rendered(infra, mail).await?
        }
        Kind::Snippet | Kind::PresentSnippet => snippet_mail::rendered(infra, mail).await?,
        Kind::PixelEnding => notices::render_ending(infra, mail).await?,
        Kind::PixelLost => notices::lost(infra, mail).await?,
        Kind::TagVanished => notices::vanished(infra, mail).await?,
        Kind::ErasureRequested | Kind::ErasureDue => mails::rendered(infra, mail).await?,
        Kind::SilenceBroken | Kind::SilenceRestored => {
            silence::mails::rendered(infra, mail).await?
        }
        Kind::NewKey | Kind::NewSignIn | Kind::NewGrant | Kind::ChangedPasskey => {
            safety::rendered(infra, mail).await?
        }
        Kind::KeyExpiring => key_expiry::rendered(infra, mail).await?,
        Kind::TrialEnding => trial_ending::rendered(infra, mail).await?,
        Kind::CoverageEnded => end_mails::rendered(infra, mail).await?,
        Kind::AllowanceReached => allowance_mails::rendered(infra, mail).await?,
        Kind::WebhookPaused => paused_mail::rendered(infra, mail).await?,
        Kind::PaymentFailed => payment_failed::rendered(infra, mail).await?,
        Kind::WeeklyDigest => digest::mail::rendered(infra, mail).await?,
        Kind::AccountDeleted => {
            account_deletion::mail::rendered(&infra.outbox, infra.base_url(), mail)?
        }
    };
    Ok(rendered.into())
}
