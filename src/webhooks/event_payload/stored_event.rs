use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::infra::events::EventKind;
use crate::pixels::install_check::install_state::InstallChange;

#[derive(Clone, Debug)]
pub struct StoredEvent {
    pub kind: EventKind,
    /// The pixel, or the account for an event of the whole account.
    pub partition_key: String,
    pub subject: Value,
    pub occurred_at: DateTime<Utc>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Subject {
    pub contact_id: Option<i64>,
    pub seq: Option<i64>,
    pub version: Option<i32>,
    pub change: Option<InstallChange>,
    pub percent: Option<i64>,
    pub request_id: Option<Uuid>,
    pub report_id: Option<Uuid>,
}

impl StoredEvent {
    /// Empty for a row written by a newer version in another format.
    pub(super) fn subject(&self) -> Subject {
        Subject::deserialize(&self.subject).unwrap_or_default()
    }
}
