use chrono::Duration;
use sqlx::PgConnection;

use super::store::{self, OpenRequest, OpenRequests};
use crate::accounts::mails::owners_mail::wanted;
use crate::accounts::mails::switch::MailSwitch;
use crate::accounts::{find_account, lock_account};
use crate::clock::Clock;
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::isolation::isolate;
use crate::infra::outbox::{ClaimedMail, Kind, NewMail};
use crate::infra::smtp::{Notice, NoticeLink, NoticeSection, RenderedMail};
use crate::infra::templates::{Message, tr};
use crate::types::ids::AccountId;

const REMINDER: Duration = Duration::days(7);
/// The minimum interval between two mails of the same kind to an account.
const PAUSE: Duration = Duration::days(1);
const MOST_MAILS: i64 = 100;
const MOST_PIXELS: i64 = 10;
const MOST_LISTED: i64 = 20;

pub async fn notify_owners(infra: &Infra) -> Result<()> {
    let now = infra.clock.now();
    let (unnotified, unreminded) = {
        let mut connection = infra.pool.acquire().await?;
        let (due, since) = (now + REMINDER, now - PAUSE);
        (
            store::list_unnotified(&mut connection, since, MOST_MAILS).await?,
            store::list_unreminded(&mut connection, due, since, MOST_MAILS).await?,
        )
    };
    let unnotified = unnotified.into_iter().map(|account_id| (Kind::ErasureRequested, account_id));
    let unreminded = unreminded.into_iter().map(|account_id| (Kind::ErasureDue, account_id));
    for (kind, account_id) in unnotified.chain(unreminded) {
        if infra.shutdown.has_begun() {
            break;
        }
        isolate(
            notify(infra, kind, &account_id).await,
            "a notification could not be sent",
            &account_id,
        )?;
    }
    Ok(())
}

async fn notify(infra: &Infra, kind: Kind, account_id: &AccountId) -> Result<()> {
    let _guard = infra.shutdown.delay();
    let mut transaction = infra.pool.begin().await?;
    if !record(&mut transaction, &infra.clock, kind, account_id).await? {
        return Ok(());
    }
    let new = NewMail { kind, account_id: Some(account_id), pixel_id: None };
    let mail = infra.outbox.put(&mut transaction, new, &()).await?;
    transaction.commit().await?;
    let Some(mail) = mail else { return Ok(()) };
    let rendered = rendered(infra, &mail).await;
    infra.outbox.deliver(&mail, rendered).await?;
    Ok(())
}

/// Records the notification; `false` if the account is deleted or another node has notified it. A reminder includes
/// the requests that are due before the next reminder.
async fn record(
    connection: &mut PgConnection,
    clock: &Clock,
    kind: Kind,
    account_id: &AccountId,
) -> Result<bool> {
    let Some(_) = lock_account(connection, account_id).await? else { return Ok(false) };
    let now = clock.now();
    let since = now - PAUSE;
    if kind == Kind::ErasureDue {
        let due = now + REMINDER + PAUSE;
        return store::update_reminded(connection, account_id, now, due, since).await;
    }
    store::update_notified(connection, account_id, now, since).await
}

/// Renders the mail with the open requests; `None` without any, or where such mails are turned off.
pub async fn rendered(infra: &Infra, mail: &ClaimedMail) -> Result<Option<RenderedMail>> {
    let Some(account_id) = &mail.account_id else { return Ok(None) };
    let mut connection = infra.pool.acquire().await?;
    let account = find_account(&mut connection, account_id).await?;
    let open = store::list_open(&mut connection, account_id, MOST_PIXELS).await?;
    let (Some(account), Some(first)) = (account, open.first()) else { return Ok(None) };
    let each = store::list_each_open(&mut connection, account_id, MOST_LISTED).await?;
    let (config, base_url) = (&infra.config, infra.base_url());
    let notice = notice(&infra.clock, base_url, mail.kind, first, &open, &each);
    wanted(&mut connection, config, base_url, &account, MailSwitch::ErasureRequests, notice).await
}

/// A request with a link to it. It names no visitor.
fn section(clock: &Clock, base_url: &str, request: &OpenRequest) -> NoticeSection {
    let OpenRequest { domain, pixel_id, request_id, requested_at, due_at } = request;
    let is_late = *due_at < clock.now();
    NoticeSection {
        title: tr("{{ domain }}: request of {{ day }}")
            .with("domain", domain)
            .with("day", Message::DayOf(*requested_at)),
        url: format!("{base_url}/console/sites/{pixel_id}/requests/{request_id}"),
        facts: vec![(
            if is_late { tr("Overdue since") } else { tr("Due") },
            Message::DayOf(*due_at),
        )],
    }
}

fn notice(
    clock: &Clock,
    base_url: &str,
    kind: Kind,
    first: &OpenRequests,
    open: &[OpenRequests],
    each: &[OpenRequest],
) -> Notice {
    let subject = match kind {
        Kind::ErasureDue => {
            tr("Erasure requests are due on {{ day }}").with("day", Message::DayOf(first.due_at))
        }
        _ => tr("A visitor of {{ domain }} asks to be erased").with("domain", &first.domain),
    };
    let help = tr(
        "Complete each request, which erases the visitor, or refuse it with a reason. The law gives you a month to answer.",
    );
    let url = format!("{base_url}/console/sites/{}/requests", first.pixel_id);
    Notice {
        subject,
        paragraphs: open.iter().map(of_pixel).chain([help]).collect(),
        sections: each.iter().map(|request| section(clock, base_url, request)).collect(),
        link: Some(NoticeLink { label: tr("View all requests"), url }),
        ..Notice::default()
    }
}

fn of_pixel(requests: &OpenRequests) -> Message {
    let OpenRequests { domain, count, due_at, .. } = requests;
    let text = match count {
        1 => tr("{{ domain }}: one request is open. It is due on {{ day }}."),
        _ => tr("{{ domain }}: {{ number }} requests are open. The first is due on {{ day }}.")
            .with("number", Message::Number(*count)),
    };
    text.with("domain", domain).with("day", Message::DayOf(*due_at))
}
