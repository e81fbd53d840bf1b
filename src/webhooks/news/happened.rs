//! What a row says of an event.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::infra::events::EventKind;
use crate::pixels::install_state::InstallChange;

/// An event, as it was noted.
#[derive(Clone, Debug)]
pub struct Happened {
    pub kind: EventKind,
    /// The pixel, or the account for what concerns it as a whole.
    pub place: String,
    /// The ids of what it happened to.
    pub subject: Value,
    pub occurred_at: DateTime<Utc>,
}

/// The ids that an event may name, each kind its own.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Subject {
    pub contact_id: Option<i64>,
    /// A receipt's position.
    pub seq: Option<i64>,
    /// Of a policy.
    pub version: Option<i32>,
    pub change: Option<InstallChange>,
    pub percent: Option<i64>,
    pub request_id: Option<Uuid>,
}

impl Happened {
    /// Empty for a row that a newer version has written in another way.
    pub(super) fn subject(&self) -> Subject {
        Subject::deserialize(&self.subject).unwrap_or_default()
    }
}
