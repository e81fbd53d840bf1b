use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::types::hem::Hem;
use crate::types::ids::VisitorId;
use crate::types::text_enum::text_enum;

/// What was erased of a visitor, and how many of each.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema, ToSchema)]
pub struct ErasedRows {
    pub receipts: i64,
    /// Contacts that were ever bound to the visitor.
    pub contacts: i64,
    /// Days on which the popup was shown.
    pub days_shown: i64,
}

impl AddAssign for ErasedRows {
    fn add_assign(&mut self, more: Self) {
        self.receipts += more.receipts;
        self.contacts += more.contacts;
        self.days_shown += more.days_shown;
    }
}

text_enum! {
    /// What became of a request.
    pub enum ErasureRequestStatus {
        Open = "open",
        /// The visitor is erased.
        Completed = "completed",
        Refused = "refused",
    }
}

text_enum! {
    /// How a request arrived.
    pub enum ReceivedBy {
        /// By the page on which visitors see their data.
        Page = "page",
        /// By email; the owner recorded it.
        Mail = "mail",
    }
}

/// A visitor's request for erasure.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct ErasureRequestView {
    pub request_id: Uuid,
    /// Null once the visitor is erased, and for a request by email.
    #[schema(required = true)]
    pub visitor_id: Option<VisitorId>,
    pub received_by: ReceivedBy,
    /// Who asked by email; null once the person is erased, and for other requests.
    #[schema(required = true)]
    pub hem: Option<Hem>,
    pub requested_at: Timestamp,
    /// When the owner must have answered, 30 days later.
    pub due_at: Timestamp,
    pub status: ErasureRequestStatus,
    #[schema(required = true)]
    pub closed_at: Option<Timestamp>,
    /// Why it was refused.
    #[schema(required = true)]
    pub reason: Option<String>,
    /// What was erased when it was completed.
    #[schema(required = true)]
    pub erased: Option<ErasedRows>,
}
