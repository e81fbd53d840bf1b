use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::types::hem::Hem;
use crate::types::text_enum::text_enum;

text_enum! {
    /// How a suppression came to be.
    pub enum SuppressionSource {
        /// The account's owner named the person.
        Owner = "owner",
        /// The person was on an imported list.
        Import = "import",
    }
}

/// Somebody who is never stored.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct Suppression {
    pub hem: Hem,
    /// How it came to be first.
    pub source: SuppressionSource,
    pub created_at: Timestamp,
}

text_enum! {
    /// How far an import has come.
    pub enum ImportProgress {
        /// There are lines that wait to be applied.
        Waiting = "waiting",
        Done = "done",
    }
}

/// How far an import has come. All counts but `lines` grow while it is applied.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct ImportStatus {
    pub import_id: Uuid,
    pub status: ImportProgress,
    /// Lines of the list, without its header and empty ones.
    pub lines: i64,
    /// Lines that have been applied.
    pub read: i64,
    /// People who were not suppressed before.
    pub added: i64,
    /// Contacts that were erased.
    pub erased: i64,
    /// Lines without a digest.
    pub rejected: i64,
}

pub struct ListedImport {
    pub created_at: DateTime<Utc>,
    pub status: ImportStatus,
}
