use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use sqlx::types::Json;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::receipts::check::Reason;
use crate::types::hem::Hem;
use crate::types::ids::VisitorId;
use crate::types::seen_at::SeenAt;

pub struct Person {
    pub hem: Hem,
    pub seen_at: SeenAt,
    pub last_seen_at: String,
    pub contact: String,
    /// The consent that the contact depends on; `None` leaves it unchanged.
    pub binding: Option<Binding>,
    /// All visitors under whose consent the request stores the person.
    pub visitor_ids: Vec<VisitorId>,
}

#[derive(Clone)]
pub struct Binding {
    pub visitor_id: VisitorId,
    pub receipt_id: Uuid,
    pub seq: i64,
    /// The time at which the consent must be evaluated again, because it may have expired.
    pub judge_at: DateTime<Utc>,
}

/// A stored person, as its pixel's owner reads it.
#[derive(Clone, Debug, Serialize, JsonSchema, ToSchema)]
#[schema(as = ResolvedContact)]
pub struct Contact {
    /// Stays the same across updates; contacts are read in its order.
    pub id: i64,
    pub hem: Hem,
    /// When the person was first seen: ISO 8601 in UTC, with the fraction of a second that was
    /// given, if one was.
    #[schemars(extend("format" = "date-time"))]
    #[schema(format = DateTime, example = "2026-01-12T08:41:07Z")]
    pub resolved_at: String,
    /// The object as it was last stored.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    #[schema(value_type = Object)]
    pub contact: Json<Box<RawValue>>,
    /// Only with `changed_after`: the contact's place in the order of changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<i64>,
    /// Only with `changed_after`: as `resolved_at`, the latest time of all that were stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    #[schema(format = DateTime, example = "2026-01-12T08:41:07Z")]
    pub last_seen_at: Option<String>,
    /// Only with `changed_after`: how many requests stored the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visits: Option<i32>,
    /// Only of a contact that was stored with a `visitor_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consent: Option<ContactConsent>,
}

/// The consent that a contact depends on. When it ends the contact is not read any more.
#[derive(Clone, Debug, Serialize, JsonSchema, ToSchema)]
pub struct ContactConsent {
    pub visitor_id: VisitorId,
    /// The acceptance under which the contact was stored last.
    pub receipt_id: Uuid,
    /// True only when `reason` is `ok`.
    pub permitted: bool,
    /// As a check of `resolution` says now: `ok`, `policy_version_stale` or `consent_off`.
    pub reason: Reason,
}

/// A contact whose consent has ended.
#[derive(Clone, Debug, Serialize, JsonSchema, ToSchema)]
pub struct WithdrawnContact {
    #[serde(skip)]
    pub position: i64,
    /// The contact's.
    pub id: i64,
    /// Null once the contact is erased.
    #[schema(required = true)]
    pub hem: Option<Hem>,
    pub withdrawn_at: Timestamp,
}
