//! Requests that are carried out once, even if they are sent repeatedly (`Idempotency-Key`). The first request
//! stores its key before it is carried out, and its answer afterwards. An operation that must not create
//! anything twice, or that answers with a secret, stores the answer in its own transaction ([`keep`]), so that
//! a repetition finds it even if the node died before it answered.

mod store;

use std::sync::{Arc, OnceLock};

use chrono::{DateTime, Duration, Utc};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use sqlx::PgConnection;
use uuid::Uuid;

use self::store::Stored;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::encryption::Encryptor;
use crate::types::ids::uuid_v7;

/// Retention of an answer.
const LIFE: Duration = Duration::days(1);
/// The time after which a request without an answer may be carried out again, because the first one can
/// no longer create anything.
const LEASE: Duration = Duration::seconds(60);
/// The status of an answer that [`keep`] stored without one.
const CREATED: i16 = 201;

type Digest = [u8; 32];

pub struct Pending {
    infra: Infra,
    scope: Digest,
    /// Method and address of the request.
    head: String,
    opened: OnceLock<Opened>,
}

/// The state of a key when a request arrives with it.
pub enum Opened {
    /// The request is carried out now.
    Fresh(Uuid),
    /// The request was answered before.
    Answered { started_at: DateTime<Utc>, status: u16, body: Vec<u8> },
}

tokio::task_local! {
    static CURRENT: Arc<Pending>;
}

impl Pending {
    pub fn new(infra: Infra, caller_and_key: &[&[u8]], head: String) -> Arc<Self> {
        let scope = digest(caller_and_key);
        Arc::new(Self { infra, scope, head, opened: OnceLock::new() })
    }

    /// Carries out a request, which may [`open`] its key.
    pub async fn scope<F: Future>(self: &Arc<Self>, request: F) -> F::Output {
        CURRENT.scope(Arc::clone(self), request).await
    }

    pub fn opened(&self) -> Option<&Opened> {
        self.opened.get()
    }

    pub async fn store(&self, attempt: Uuid, status: u16, body: &[u8]) -> Result<()> {
        let infra = &self.infra;
        let encrypted = infra.answer_encryptor.encrypt(attempt, body)?;
        let status = i16::try_from(status).map_err(Error::internal)?;
        let mut connection = infra.pool.acquire().await?;
        store::update_answer(&mut connection, &self.scope, attempt, Some(status), &encrypted)
            .await?;
        Ok(())
    }

    /// Deletes the key of a refused request, but keeps a stored answer if the request failed after creating something.
    pub async fn forget(&self, attempt: Uuid, has_failed: bool) -> Result<()> {
        let mut connection = self.infra.pool.acquire().await?;
        store::delete_attempt(&mut connection, &self.scope, attempt, has_failed).await
    }
}

fn current() -> Option<Arc<Pending>> {
    CURRENT.try_with(Arc::clone).ok()
}

pub fn has_key() -> bool {
    current().is_some()
}

fn digest(parts: &[&[u8]]) -> Digest {
    let add = |hash: Sha256, part: &&[u8]| {
        let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
        hash.chain_update(length.to_be_bytes()).chain_update(part)
    };
    parts.iter().fold(Sha256::new(), add).finalize().into()
}

/// Opens the key of the current request, whose body has been read. Does nothing without a key; fails if
/// the request was answered before, or is being answered.
pub async fn open(body: &[u8]) -> Result<()> {
    let Some(pending) = current() else { return Ok(()) };
    let asked = digest(&[pending.head.as_bytes(), body]);
    let taken = take(&pending.infra, &pending.scope, &asked).await?;
    let is_fresh = matches!(taken, Opened::Fresh(_));
    let _ = pending.opened.set(taken);
    // The transport replaces this refusal with the first answer.
    if is_fresh { Ok(()) } else { Err(Error::IdempotencyKeyInUse { retry_after: 1 }) }
}

async fn take(infra: &Infra, scope: &Digest, request: &Digest) -> Result<Opened> {
    let now = infra.clock.now();
    let attempt = uuid_v7(now);
    let mut connection = infra.pool.acquire().await?;
    let (expired, abandoned) = (now - LIFE, now - LEASE);
    if store::upsert_attempt(&mut connection, scope, request, attempt, now, expired, abandoned)
        .await?
    {
        return Ok(Opened::Fresh(attempt));
    }
    let in_use = Error::IdempotencyKeyInUse { retry_after: 1 };
    // The row was deleted a moment ago, because the first request was refused.
    let Some(stored) = store::find_stored(&mut connection, scope).await? else {
        return Err(in_use);
    };
    if stored.request != request {
        return Err(Error::IdempotencyKeyReused);
    }
    let Stored { attempt, started_at, status, answer: Some(answer), .. } = stored else {
        return Err(in_use);
    };
    if status.is_none() && started_at > abandoned {
        return Err(in_use);
    }
    let body = infra.answer_encryptor.decrypt(attempt, &answer);
    let body = body.ok_or_else(|| Error::internal("a stored answer cannot be opened"))?;
    let status = u16::try_from(status.unwrap_or(CREATED)).map_err(Error::internal)?;
    Ok(Opened::Answered { started_at, status, body })
}

/// Stores the answer of the current request in the transaction of its operation. Does nothing without a key;
/// fails if another request has taken the key over. `status` is `None` for an answer of 201 that may still
/// become a refusal: repetitions get it only once the first request can no longer be answered.
pub async fn keep(
    encryptor: &Encryptor,
    connection: &mut PgConnection,
    status: Option<u16>,
    answer: &impl Serialize,
) -> Result<()> {
    let Some(pending) = current() else { return Ok(()) };
    let Some(Opened::Fresh(attempt)) = pending.opened() else { return Ok(()) };
    let status = status.map(i16::try_from).transpose().map_err(Error::internal)?;
    let body = serde_json::to_vec(answer).map_err(Error::internal)?;
    let encrypted = encryptor.encrypt(*attempt, &body)?;
    match store::update_answer(connection, &pending.scope, *attempt, status, &encrypted).await? {
        true => Ok(()),
        false => Err(Error::IdempotencyKeyInUse { retry_after: 1 }),
    }
}

/// Deletes the answer that [`keep`] stored, in the transaction that reverses the operation.
pub async fn take_back(connection: &mut PgConnection) -> Result<()> {
    let Some(pending) = current() else { return Ok(()) };
    let Some(Opened::Fresh(attempt)) = pending.opened() else { return Ok(()) };
    store::delete_attempt(connection, &pending.scope, *attempt, false).await
}

pub async fn delete_expired(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    store::delete_expired(connection, now - LIFE, limit).await
}
