use chrono::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::{PgConnection, Postgres, Transaction};
use uuid::Uuid;

use super::endpoint::{Endpoint, EndpointView, EndpointWithSecret, PausedBecause};
use super::format::{Format, SignatureKind};
use super::input::{self, MAX_PIXELS, NewEndpoint, OfEndpoint, OnEndpoint};
use super::secrets::open_secrets;
use super::signing::SigningSecret;
use super::store::endpoints as store;
use crate::accounts::access::{AllSites, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::event::ActivityKind;
use crate::accounts::lock_account;
use crate::accounts::scope::Governs;
use crate::accounts::tool::Tool;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::idempotency;
use crate::infra::Infra;
use crate::infra::changes::{Changes, Invalidation};
use crate::infra::events::EventSelector;
use crate::pixels::find_pixel;
use crate::types::ids::{AccountId, PixelId, uuid_v7};

const MOST: i64 = 5;
/// Period after a rotation during which the previous secret still signs.
const OVERLAP: Duration = Duration::days(1);

pub struct CreateWebhook;

impl Capability for CreateWebhook {
    const NAME: &'static str = "create_webhook";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.open_world().described(
        "Create a webhook",
        "Has a server told what happens, by signed messages. The secret is shown only in this \
         answer.",
    ));
    type Service = Infra;
    type Access = AllSites<Governs>;
    type Input = NewEndpoint;
    type Output = EndpointWithSecret;

    fn refusals() -> Vec<Error> {
        vec![
            Error::WebhookAllowanceReached,
            Error::PixelNotFound,
            input::not_public(),
            input::too_many_pixels(),
        ]
    }

    async fn run(infra: &Infra, caller: Caller, new: NewEndpoint) -> Result<EndpointWithSecret> {
        let url = input::public_url(&new.url)?;
        let (account_id, now) = (caller.account_id(), infra.clock.now());
        let mut transaction = infra.pool.begin().await?;
        // Waits for concurrent creations.
        lock_account(&mut transaction, account_id).await?.ok_or(Error::AccountNotFound)?;
        if store::count_endpoints(&mut transaction, account_id).await? >= MOST {
            return Err(Error::WebhookAllowanceReached);
        }
        let secret = SigningSecret::random()?;
        let endpoint = Endpoint {
            endpoint_id: uuid_v7(now),
            account_id: account_id.clone(),
            url,
            events: events(new.events),
            pixels: pixels(&mut transaction, account_id, new.pixels).await?,
            format: new.format.unwrap_or(Format::Standard).as_str().to_owned(),
            public_key: public_key(&secret, new.signature)?,
            created_at: now,
            previous_until: None,
            paused_at: None,
            paused_because: None,
            failing_since: None,
        };
        let encrypted = infra.webhook_encryptor.encrypt(endpoint.endpoint_id, secret.bytes())?;
        store::insert_endpoint(&mut transaction, &endpoint, &encrypted).await?;
        let webhook = EndpointView::at(endpoint.clone(), now);
        let created = EndpointWithSecret { webhook, secret: secret.text() };
        idempotency::keep(&infra.answer_encryptor, &mut transaction, Some(201), &created).await?;
        let (clock, changes) = (&infra.clock, &infra.changes);
        commit(clock, changes, transaction, &caller, ActivityKind::WebhookCreated, &endpoint)
            .await?;
        Ok(created)
    }
}

/// Changes the given fields. Resuming or a new address resets its failures.
pub struct ChangeWebhook;

impl Capability for ChangeWebhook {
    const NAME: &'static str = "change_webhook";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.idempotent().open_world().described(
        "Change a webhook",
        "Changes, pauses or resumes a webhook; what is left out stays.",
    ));
    type Service = Infra;
    type Access = AllSites<Governs>;
    type Input = OnEndpoint;
    type Output = EndpointView;

    fn refusals() -> Vec<Error> {
        vec![
            Error::WebhookNotFound,
            Error::PixelNotFound,
            input::not_public(),
            input::too_many_pixels(),
        ]
    }

    async fn run(infra: &Infra, caller: Caller, request: OnEndpoint) -> Result<EndpointView> {
        let endpoint_id = input::id_of(request.endpoint_id)?;
        let url = request.url.as_deref().map(input::public_url).transpose()?;
        let (account_id, now) = (caller.account_id(), infra.clock.now());
        let mut transaction = infra.pool.begin().await?;
        let mut endpoint = locked(&mut transaction, account_id, endpoint_id).await?;
        if let Some(list) = request.pixels {
            endpoint.pixels = pixels(&mut transaction, account_id, list).await?;
        }
        if let Some(list) = request.events {
            endpoint.events = events(list);
        }
        if let Some(format) = request.format {
            endpoint.format = format.as_str().to_owned();
        }
        if let Some(kind) = request.signature {
            let secrets =
                open_secrets(&infra.clock, &infra.webhook_encryptor, &mut transaction, endpoint_id)
                    .await?;
            let secret = secrets.first();
            let secret = secret.ok_or_else(|| Error::internal("a secret cannot be opened"))?;
            endpoint.public_key = public_key(secret, Some(kind))?;
        }
        if let Some(url) = url.filter(|url| *url != endpoint.url) {
            (endpoint.url, endpoint.failing_since) = (url, None);
        }
        match request.paused {
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
            super::store::waiting::update_due_now(&mut transaction, &[endpoint_id], now).await?;
        }
        let (clock, changes) = (&infra.clock, &infra.changes);
        commit(clock, changes, transaction, &caller, ActivityKind::WebhookChanged, &endpoint)
            .await?;
        infra.events.wake();
        Ok(EndpointView::at(endpoint, now))
    }
}

/// An endpoint that is gone.
#[derive(Serialize, JsonSchema)]
pub struct DeletedWebhook {
    endpoint_id: Uuid,
    /// Always true.
    deleted: bool,
}

pub struct DeleteWebhook;

impl Capability for DeleteWebhook {
    const NAME: &'static str = "delete_webhook";
    const TOOL: Option<Tool> = Some(
        Tool::DESTRUCTIVE
            .described("Delete a webhook", "Deletes a webhook with what waits for it."),
    );
    type Service = Infra;
    type Access = AllSites<Governs>;
    type Input = OfEndpoint;
    type Output = DeletedWebhook;

    fn refusals() -> Vec<Error> {
        vec![Error::WebhookNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfEndpoint) -> Result<DeletedWebhook> {
        let endpoint_id = request.id()?;
        let mut transaction = infra.pool.begin().await?;
        let endpoint = locked(&mut transaction, caller.account_id(), endpoint_id).await?;
        store::delete_endpoint(&mut transaction, endpoint_id).await?;
        let (clock, changes) = (&infra.clock, &infra.changes);
        commit(clock, changes, transaction, &caller, ActivityKind::WebhookDeleted, &endpoint)
            .await?;
        Ok(DeletedWebhook { endpoint_id, deleted: true })
    }
}

/// Rotates the secret of an endpoint. The previous one also signs for a day, so that receivers can be updated
/// meanwhile.
pub struct RotateWebhookSecret;

impl Capability for RotateWebhookSecret {
    const NAME: &'static str = "rotate_webhook_secret";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.described(
        "Rotate a webhook secret",
        "Gives a webhook a new secret, shown only in this answer; the one before signs too for \
         a day.",
    ));
    type Service = Infra;
    type Access = AllSites<Governs>;
    type Input = OfEndpoint;
    type Output = EndpointWithSecret;

    fn refusals() -> Vec<Error> {
        vec![Error::WebhookNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfEndpoint) -> Result<EndpointWithSecret> {
        let endpoint_id = request.id()?;
        let now = infra.clock.now();
        let mut transaction = infra.pool.begin().await?;
        let mut endpoint = locked(&mut transaction, caller.account_id(), endpoint_id).await?;
        let secret = SigningSecret::random()?;
        let encrypted = infra.webhook_encryptor.encrypt(endpoint_id, secret.bytes())?;
        let until = now + OVERLAP;
        let kind = endpoint.public_key.as_ref().map(|_| SignatureKind::V1a);
        endpoint.public_key = public_key(&secret, kind)?;
        let key = endpoint.public_key.as_deref();
        store::update_secret(&mut transaction, endpoint_id, &encrypted, key, until).await?;
        endpoint.previous_until = Some(until);
        let webhook = EndpointView::at(endpoint.clone(), now);
        let rotated = EndpointWithSecret { webhook, secret: secret.text() };
        idempotency::keep(&infra.answer_encryptor, &mut transaction, Some(200), &rotated).await?;
        let (clock, changes) = (&infra.clock, &infra.changes);
        commit(clock, changes, transaction, &caller, ActivityKind::WebhookChanged, &endpoint)
            .await?;
        Ok(rotated)
    }
}

/// Whether all events of an endpoint concern sites of the caller.
pub fn is_seen_by(endpoint: &Endpoint, caller: &Caller) -> bool {
    caller.sites.include_all(endpoint.pixels.as_deref())
}

pub async fn find(
    connection: &mut PgConnection,
    caller: &Caller,
    endpoint_id: Uuid,
) -> Result<Endpoint> {
    let found = store::find_endpoint(connection, caller.account_id(), endpoint_id).await?;
    found.filter(|endpoint| is_seen_by(endpoint, caller)).ok_or(Error::WebhookNotFound)
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
    clock: &Clock,
    changes: &Changes,
    mut transaction: Transaction<'_, Postgres>,
    caller: &Caller,
    kind: ActivityKind,
    endpoint: &Endpoint,
) -> Result<()> {
    let (account_id, now) = (caller.account_id(), clock.now());
    let subject = endpoint.endpoint_id.to_string();
    caller.record(&mut transaction, now, account_id, kind, Some(&subject)).await?;
    changes.commit(transaction, &Invalidation::of_account(account_id)).await
}

fn public_key(secret: &SigningSecret, kind: Option<SignatureKind>) -> Result<Option<String>> {
    match kind {
        Some(SignatureKind::V1a) => secret.public_key().map(Some),
        Some(SignatureKind::V1) | None => Ok(None),
    }
}

fn events(mut list: Vec<EventSelector>) -> Option<Vec<String>> {
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
