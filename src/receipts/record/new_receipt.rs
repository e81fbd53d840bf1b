use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::consent_receipt::leaf::Leaf;
use crate::consent_receipt::notice_snapshot::Shown;
use crate::consent_receipt::receipt::SignedReceipt;
use crate::infra::events::EventRow;

pub struct NewReceipt {
    pub signed: SignedReceipt,
    /// The time at which an acceptance expires; `None` for a refusal.
    pub expires_at: Option<DateTime<Utc>>,
    pub shown: Option<Shown>,
    /// Its leaf in the log; `None` without a log.
    pub leaf: Option<Leaf>,
    /// The idempotency key of the choice; `None` for one that is never repeated.
    pub choice: Option<Uuid>,
    /// The time at which the first bytes of the choice arrived.
    pub arrived_at: Instant,
    /// Events for the subscribed endpoints if the choice is new; their subject is set when it is stored.
    pub events: Vec<EventRow>,
}

/// Period after the arrival of a request in which its choice may be stored. The tag gives up 8 seconds after
/// sending it; the rest is for transmission.
const STORED_WITHIN: Duration = Duration::from_secs(4);

impl NewReceipt {
    /// The receipt is not stored after this time.
    pub fn deadline(&self) -> Instant {
        self.arrived_at + STORED_WITHIN
    }
}
