//! Mails to owners about failed payments: one per invoice, whatever the provider reports.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::store;
use super::stripe::Stripe;
use super::stripe::invoice::Invoice;
use crate::accounts::mails::owners_mail::{receives_notifications, wanted};
use crate::accounts::mails::switch::MailSwitch;
use crate::accounts::{find_account, lock_account};
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::outbox::{ClaimedMail, Kind, NewMail};
use crate::infra::smtp::{Notice, NoticeLink, RenderedMail};
use crate::infra::templates::{Message, tr};
use crate::types::ids::AccountId;

#[derive(Deserialize, Serialize)]
struct Failed {
    invoice_id: String,
    amount: Option<String>,
    next_attempt_at: Option<DateTime<Utc>>,
}

/// Handles a failed payment. As with every event, the current state is queried from the provider.
/// Does nothing where no mail can be sent.
pub async fn report(infra: &Infra, stripe: &Stripe, event: Invoice) -> Result<()> {
    let (Some(invoice_id), Some(subscription_id)) = (event.id(), event.subscription()) else {
        return Ok(());
    };
    if !infra.outbox.mailer.is_configured() {
        return Ok(());
    }
    let subscriber = {
        let mut connection = infra.pool.acquire().await?;
        if store::has_failed_invoice(&mut connection, invoice_id).await? {
            return Ok(());
        }
        store::find_subscriber(&mut connection, subscription_id).await?
    };
    let Some(account_id) = subscriber.or_else(|| event.account()) else { return Ok(()) };
    let Some(invoice) = stripe.find_invoice(invoice_id).await? else { return Ok(()) };
    let subscription = stripe.find_subscription(subscription_id).await?;
    // No mail for the first payment of a subscription: the checkout page shows its failure.
    if !invoice.is_open() || !subscription.is_some_and(|found| found.is_running()) {
        return Ok(());
    }
    let failed = Failed {
        invoice_id: invoice_id.as_str().to_owned(),
        amount: invoice.amount(),
        next_attempt_at: invoice.next_attempt_at(),
    };
    notify(infra, &account_id, failed).await
}

async fn notify(infra: &Infra, account_id: &AccountId, failed: Failed) -> Result<()> {
    let mut transaction = infra.pool.begin().await?;
    let account = lock_account(&mut transaction, account_id).await?;
    if !account.as_ref().is_some_and(receives_notifications) {
        return Ok(());
    }
    let (id, now) = (&failed.invoice_id, infra.clock.now());
    if !store::insert_failed_invoice(&mut transaction, id, account_id, now).await? {
        return Ok(());
    }
    let new = NewMail { kind: Kind::PaymentFailed, account_id: Some(account_id), pixel_id: None };
    let mail = infra.outbox.put(&mut transaction, new, &failed).await?;
    transaction.commit().await?;
    if let Some(mail) = mail {
        send(infra, mail);
    }
    Ok(())
}

/// Sends the mail in a separate task, so that the provider's webhook request is answered without delay.
fn send(infra: &Infra, mail: ClaimedMail) {
    infra.spawn(|infra| async move {
        let rendered = rendered(&infra, &mail).await;
        if let Err(error) = infra.outbox.deliver(&mail, rendered).await {
            tracing::error!(?error, "a rejected mail could not be removed from the outbox");
        }
    });
}

/// Renders the mail; `None` once the invoice is paid, or where such mails are turned off.
pub async fn rendered(infra: &Infra, mail: &ClaimedMail) -> Result<Option<RenderedMail>> {
    let failed = infra.outbox.secrets::<Failed>(mail)?;
    let Some(account_id) = &mail.account_id else { return Ok(None) };
    let mut connection = infra.pool.acquire().await?;
    if !store::is_failed_invoice_unpaid(&mut connection, &failed.invoice_id).await? {
        return Ok(None);
    }
    let account = find_account(&mut connection, account_id).await?;
    let Some(account) = account.filter(receives_notifications) else { return Ok(None) };
    let (config, base_url) = (&infra.config, infra.base_url());
    let notice = notice(base_url, failed);
    wanted(&mut connection, config, base_url, &account, MailSwitch::PaymentFailed, notice).await
}

fn notice(base_url: &str, failed: Failed) -> Notice {
    let again = match failed.next_attempt_at {
        Some(_) => tr("It is retried automatically. Check that your card is still valid."),
        None => tr("It is not retried automatically. Change the card, or pay the invoice."),
    };
    let manage = tr(
        "In the console, choose “Manage billing”. The subscription runs to the end of the paid period; after that, no new contacts are stored, and nothing is deleted.",
    );
    let url = format!("{base_url}/console/account");
    Notice {
        subject: tr("A payment for your Assent account has failed"),
        paragraphs: vec![
            tr("The payment provider could not charge you for your subscription."),
            Message::Sentences(vec![again, manage]),
        ],
        facts: [
            failed.amount.map(|amount| (tr("Amount"), amount.into())),
            failed.next_attempt_at.map(|time| (tr("Next attempt"), Message::DayOf(time))),
        ]
        .into_iter()
        .flatten()
        .collect(),
        link: Some(NoticeLink { label: tr("View your account"), url }),
        ..Notice::default()
    }
}
