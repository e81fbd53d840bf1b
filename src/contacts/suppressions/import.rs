//! Uploading a list of people to suppress, which is applied afterwards.

use chrono::Duration;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use sqlx::PgPool;
use utoipa::ToSchema;
use uuid::Uuid;

use super::digests::{DigestReader, Digests};
use super::entry::ImportStatus;
use super::store;
use crate::accounts::access::{AllSites, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::event::ActivityKind;
use crate::accounts::lock_account;
use crate::accounts::scope::{Governs, Oversees};
use crate::accounts::tool::Tool;
use crate::clock::Clock;
use crate::error::{BODY, Error, FieldError, Result};
use crate::idempotency;
use crate::infra::Infra;
use crate::types::ids::id_param::IdParam;
use crate::types::ids::{AccountId, uuid_v7};

/// Digests that are stored, and later applied, together (plus those of the last chunk): the
/// account's row is locked for some hundredths of a second each time.
const CHUNK: usize = 1_000;
const MOST_UNFINISHED: i64 = 5;
/// Maximum number of suppressions of an account. At this number no further list is accepted.
const MOST_SUPPRESSED: i64 = 5_000_000;
pub const LONGEST_UPLOAD: Duration = Duration::minutes(10);

pub type List = BoxStream<'static, Result<Vec<u8>>>;

/// A list that was taken.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct OpenedImport {
    pub import_id: Uuid,
}

/// Stores a list. Once this returns it will be applied, whatever becomes of this node.
pub struct ImportSuppressions;

impl Capability for ImportSuppressions {
    const NAME: &'static str = "import_suppressions";
    type Service = Infra;
    type Access = AllSites<Governs>;
    type Input = List;
    type Output = OpenedImport;

    fn refusals() -> Vec<Error> {
        vec![Error::ImportAllowanceReached]
    }

    async fn run(infra: &Infra, caller: Caller, list: List) -> Result<OpenedImport> {
        let import_id = match open(&infra.pool, &infra.clock, caller.account_id()).await {
            // A repeated request for an accepted list gets the first answer.
            Err(Error::ImportAllowanceReached) if idempotency::has_key() => {
                idempotency::open(&hash_of(list).await?).await?;
                return Err(Error::ImportAllowanceReached);
            }
            opened => opened?,
        };
        let stored = async {
            let hash = store_all(&infra.pool, import_id, list).await?;
            idempotency::open(&hash).await
        };
        if let Err(error) = stored.await {
            let mut connection = infra.pool.acquire().await?;
            store::delete_import(&mut connection, import_id).await?;
            return Err(error);
        }
        let opened = OpenedImport { import_id };
        complete(infra, &caller, &opened).await?;
        Ok(opened)
    }
}

/// Marks the list as ready to be applied. If this fails, it is deleted later, like an interrupted upload.
async fn complete(infra: &Infra, caller: &Caller, opened: &OpenedImport) -> Result<()> {
    let (now, account_id) = (infra.clock.now(), caller.account_id());
    let (kind, subject) = (ActivityKind::SuppressionsImported, opened.import_id.to_string());
    let mut transaction = infra.pool.begin().await?;
    store::update_uploaded(&mut transaction, opened.import_id).await?;
    caller.record(&mut transaction, now, account_id, kind, Some(&subject)).await?;
    idempotency::keep(&infra.answer_encryptor, &mut transaction, Some(202), opened).await?;
    transaction.commit().await?;
    Ok(())
}

async fn open(pool: &PgPool, clock: &Clock, account_id: &AccountId) -> Result<Uuid> {
    let mut transaction = pool.begin().await?;
    lock_account(&mut transaction, account_id).await?.ok_or(Error::NotInGoodStanding)?;
    let now = clock.now();
    let unfinished =
        store::count_unfinished(&mut transaction, account_id, now - LONGEST_UPLOAD).await?;
    let is_full = unfinished >= MOST_UNFINISHED
        || store::has_suppressions(&mut transaction, account_id, MOST_SUPPRESSED).await?;
    if is_full {
        return Err(Error::ImportAllowanceReached);
    }
    let import_id = uuid_v7(now);
    store::insert_import(&mut transaction, import_id, account_id, now).await?;
    transaction.commit().await?;
    Ok(import_id)
}

/// Stores the list, and returns its SHA-256. No connection is held while waiting for the sender.
async fn store_all(pool: &PgPool, import_id: Uuid, mut list: List) -> Result<[u8; 32]> {
    let (mut reader, mut position, mut hash) = (DigestReader::default(), 0, Sha256::new());
    let mut is_empty = true;
    while let Some(piece) = list.next().await {
        let piece = piece?;
        is_empty &= piece.is_empty();
        hash.update(&piece);
        reader.read(&piece);
        if reader.waiting() >= CHUNK {
            store_chunk(pool, import_id, position, &reader.take()).await?;
            position += 1;
        }
    }
    if is_empty {
        let wrong = FieldError::new(&[BODY], "must be a list of hashes", "missing");
        return Err(Error::InvalidRequest.naming(vec![wrong]));
    }
    store_chunk(pool, import_id, position, &reader.finish()).await?;
    Ok(hash.finalize().into())
}

async fn hash_of(mut list: List) -> Result<[u8; 32]> {
    let mut hash = Sha256::new();
    while let Some(piece) = list.next().await {
        hash.update(&piece?);
    }
    Ok(hash.finalize().into())
}

async fn store_chunk(pool: &PgPool, import_id: Uuid, position: i32, chunk: &Digests) -> Result<()> {
    let mut connection = pool.acquire().await?;
    store::insert_chunk(&mut connection, import_id, position, chunk).await
}

/// An import by its id.
#[derive(Deserialize, JsonSchema)]
pub struct OfImport {
    pub import_id: IdParam<Uuid>,
}

/// How far one of the account's imports has come.
pub struct ShowSuppressionImport;

impl Capability for ShowSuppressionImport {
    const NAME: &'static str = "show_suppression_import";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Show a suppression import",
        "Tells how far the import of a list has come; lists are sent to `POST \
         /v1/suppressions/import`.",
    ));
    type Service = Infra;
    type Access = AllSites<Oversees>;
    type Input = OfImport;
    type Output = ImportStatus;

    fn refusals() -> Vec<Error> {
        vec![Error::ImportNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfImport) -> Result<ImportStatus> {
        let import_id = request.import_id.into_id().ok_or(Error::ImportNotFound)?;
        let mut connection = infra.pool.acquire().await?;
        let import = store::find_import(&mut connection, caller.account_id(), import_id).await?;
        import.ok_or(Error::ImportNotFound)
    }
}
