use chrono::Duration;
use sqlx::{PgConnection, Postgres, Transaction};
use uuid::Uuid;

use super::endpoint::{Endpoint, EndpointList, EndpointView, EndpointWithSecret, PausedBecause};
use super::format::Format;
use super::input::{self, EndpointChange, MAX_PIXELS, NewEndpoint};
use super::signing::SigningSecret;
use super::store::endpoints as store;
use crate::accounts::access::Caller;
use crate::accounts::event::EventKind as AccountEvent;
use crate::accounts::lock_account;
use crate::accounts::scope::Scope;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::changes::Invalidation;
use crate::infra::events::EventKind;
use crate::pixels::find_pixel;
use crate::types::ids::{AccountId, PixelId, uuid_v7};

const MOST: i64 = 5;
/// Period after a rotation during which the previous secret still signs.
const OVERLAP: Duration = Duration::days(1);

pub async fn list(infra: &Infra, caller: &Caller) -> Result<EndpointList> {
    let mut connection = infra.pool.acquire().await?;
    let now = infra.clock.now();
    let endpoints = store::list_endpoints(&mut connection, caller.account_id()).await?;
    let views = endpoints.into_iter().map(|endpoint| EndpointView::at(endpoint, now));
    // Addresses may contain secrets for writing to other services, so `read` sees them shortened.
    let webhooks = match caller.scope {
        Scope::Read => views.map(EndpointView::without_secrets).collect(),
        Scope::Operate | Scope::Full => views.collect(),
    };
    Ok(EndpointList { webhooks })
}

/// Creates an endpoint; its secret is shown only here.
pub async fn create(
    infra: &Infra,
    caller: &Caller,
    new: NewEndpoint,
) -> Result<EndpointWithSecret> {
    let url = input::public_url(&new.url)?;
    let (account_id, now) = (caller.account_id(), infra.clock.now());
    let mut transaction = infra.pool.begin().await?;
    lock_account(&mut transaction, account_id).await?.ok_or(Error::AccountNotFound)?;
    if store::count_endpoints(&mut transaction, account_id).await? >= MOST {
        return Err(Error::WebhookAllowanceReached);
    }
    let endpoint = Endpoint {
        endpoint_id: uuid_v7(now),
        account_id: account_id.clone(),
        url,
        events: events(new.events),
        pixels: pixels(&mut transaction, account_id, new.pixels).await?,
        format: new.format.unwrap_or(Format::Standard).as_str().to_owned(),
        created_at: now,
        previous_until: None,
        paused_at: None,
        paused_because: None,
        failing_since: None,
    };
    let secret = SigningSecret::random()?;
    let sealed = infra.webhook_encryptor.seal(endpoint.endpoint_id, secret.bytes())?;
    store::insert_endpoint(&mut transaction, &endpoint, &sealed).await?;
    commit(infra, transaction, caller, AccountEvent::WebhookCreated, &endpoint).await?;
    let webhook = EndpointView::at(endpoint, now);
    Ok(EndpointWithSecret { webhook, secret: secret.text() })
}

/// Changes the given fields. Resuming or a new address resets its failures.
pub async fn change(
    infra: &Infra,
    caller: &Caller,
    endpoint_id: Uuid,
    change: EndpointChange,
) -> Result<EndpointView> {
    let url = change.url.as_deref().map(input::public_url).transpose()?;
    let (account_id, now) = (caller.account_id(), infra.clock.now());
    let mut transaction = infra.pool.begin().await?;
    let mut endpoint = locked(&mut transaction, account_id, endpoint_id).await?;
    if let Some(list) = change.pixels {
        endpoint.pixels = pixels(&mut transaction, account_id, list).await?;
    }
    if let Some(list) = change.events {
        endpoint.events = events(list);
    }
    if let Some(format) = change.format {
        endpoint.format = format.as_str().to_owned();
    }
    if let Some(url) = url.filter(|url| *url != endpoint.url) {
        (endpoint.url, endpoint.failing_since) = (url, None);
    }
    match change.paused {
        Some(true) if endpoint.paused_at.is_none() => {
            endpoint.paused_at = Some(now);
            endpoint.paused_because = Some(PausedBecause::Owner.as_str().to_owned());
        }
        Some(false) => {
            (endpoint.paused_at, endpoint.paused_because) = (None, None);
            endpoint.failing_since = None;
        }
        _ => {}
    }
    store::update_endpoint(&mut transaction, &endpoint).await?;
    if endpoint.paused_at.is_none() && endpoint.failing_since.is_none() {
        super::store::waiting::update_due_now(&mut transaction, endpoint_id, now).await?;
    }
    commit(infra, transaction, caller, AccountEvent::WebhookChanged, &endpoint).await?;
    infra.events.wake();
    Ok(EndpointView::at(endpoint, now))
}

pub async fn delete(infra: &Infra, caller: &Caller, endpoint_id: Uuid) -> Result<()> {
    let mut transaction = infra.pool.begin().await?;
    let endpoint = locked(&mut transaction, caller.account_id(), endpoint_id).await?;
    store::delete_endpoint(&mut transaction, endpoint_id).await?;
    commit(infra, transaction, caller, AccountEvent::WebhookDeleted, &endpoint).await
}

/// Rotates the secret. The previous one also signs for a day, so that receivers can be updated meanwhile.
pub async fn rotate(
    infra: &Infra,
    caller: &Caller,
    endpoint_id: Uuid,
) -> Result<EndpointWithSecret> {
    let now = infra.clock.now();
    let mut transaction = infra.pool.begin().await?;
    let mut endpoint = locked(&mut transaction, caller.account_id(), endpoint_id).await?;
    let secret = SigningSecret::random()?;
    let sealed = infra.webhook_encryptor.seal(endpoint_id, secret.bytes())?;
    let until = now + OVERLAP;
    store::update_secret(&mut transaction, endpoint_id, &sealed, until).await?;
    endpoint.previous_until = Some(until);
    commit(infra, transaction, caller, AccountEvent::WebhookChanged, &endpoint).await?;
    let webhook = EndpointView::at(endpoint, now);
    Ok(EndpointWithSecret { webhook, secret: secret.text() })
}

pub async fn find(
    connection: &mut PgConnection,
    caller: &Caller,
    endpoint_id: Uuid,
) -> Result<Endpoint> {
    let found = store::find_endpoint(connection, caller.account_id(), endpoint_id).await?;
    found.ok_or(Error::WebhookNotFound)
}

/// The current signing secrets; empty if the present secret cannot be decrypted.
pub async fn open_secrets(
    infra: &Infra,
    connection: &mut PgConnection,
    endpoint_id: Uuid,
) -> Result<Vec<SigningSecret>> {
    let sealed = store::list_secrets(connection, endpoint_id, infra.clock.now()).await?;
    let mut opened = sealed.iter().map(|sealed| infra.webhook_encryptor.open(endpoint_id, sealed));
    let Some(Some(present)) = opened.next() else { return Ok(Vec::new()) };
    let secrets = [present].into_iter().chain(opened.flatten());
    Ok(secrets.map(SigningSecret::from_bytes).collect())
}

/// The account's own endpoint, locked until the end of the transaction, together with its deliveries.
pub async fn locked(
    connection: &mut PgConnection,
    account_id: &AccountId,
    endpoint_id: Uuid,
) -> Result<Endpoint> {
    let found = store::lock_endpoint(connection, account_id, endpoint_id).await?;
    found.ok_or(Error::WebhookNotFound)
}

/// Commits with an audit event, and notifies every node of the changed subscriptions.
async fn commit(
    infra: &Infra,
    mut transaction: Transaction<'_, Postgres>,
    caller: &Caller,
    kind: AccountEvent,
    endpoint: &Endpoint,
) -> Result<()> {
    let (account_id, now) = (caller.account_id(), infra.clock.now());
    let subject = endpoint.endpoint_id.to_string();
    caller.note(&mut transaction, now, account_id, kind, Some(&subject)).await?;
    infra.changes.commit(transaction, &Invalidation::of_account(account_id)).await
}

fn events(mut list: Vec<EventKind>) -> Option<Vec<String>> {
    list.sort_unstable();
    list.dedup();
    let names = list.iter().map(|kind| kind.as_str().to_owned()).collect::<Vec<_>>();
    (!names.is_empty()).then_some(names)
}

/// The account's own pixels; `None` for all.
async fn pixels(
    connection: &mut PgConnection,
    account_id: &AccountId,
    mut list: Vec<String>,
) -> Result<Option<Vec<String>>> {
    list.sort_unstable();
    list.dedup();
    if list.len() > MAX_PIXELS {
        return Err(input::too_many_pixels());
    }
    for pixel_id in &list {
        let pixel_id = PixelId::parse(pixel_id).ok_or(Error::PixelNotFound)?;
        find_pixel(connection, account_id, &pixel_id).await?.ok_or(Error::PixelNotFound)?;
    }
    Ok((!list.is_empty()).then_some(list))
}
