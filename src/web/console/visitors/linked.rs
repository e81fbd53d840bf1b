//! The links from a visitor to people and erasure requests.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::person_words::{person_of, rows};
use crate::contacts::people::finding::{FindPeople, OfPeople};
use crate::contacts::reading::finding::OfContact;
use crate::contacts::reading::of_visitor::{FindContactsOfVisitor, VisitorContacts};
use crate::erasure::contact::FindRequestsOfPerson;
use crate::erasure::of_visitor::FindRequestsOfVisitor;
use crate::erasure::view::{ErasureRequestStatus, ErasureRequestView, ReceivedBy};
use crate::erasure::visitor::OfVisitor;
use crate::error::{Error, Result};
use crate::infra::templates::Message;
use crate::types::hem::Hem;
use crate::types::ids::id_param::IdParam;
use crate::types::ids::{PixelId, VisitorId};
use crate::web::console::kit::member::Member;

/// The people of a visitor with their fields; empty while the account may not read contacts.
pub async fn people_of(
    member: &Member<'_>,
    pixel_id: &PixelId,
    visitor_id: &VisitorId,
) -> Result<Vec<Value>> {
    let visitor_id = visitor_id.clone().into();
    let visitor = VisitorContacts { pixel_id: pixel_id.clone().into(), visitor_id };
    let contacts = match member.ask::<FindContactsOfVisitor>(visitor).await {
        Err(Error::NotInGoodStanding) => Vec::new(),
        found => found?,
    };
    rows(&contacts)
}

/// The names or email addresses of the people who are stored; empty while the account may not read contacts.
pub async fn titles_of(
    member: &Member<'_>,
    pixel_id: &PixelId,
    hems: Vec<Hem>,
) -> Result<HashMap<Hem, String>> {
    if hems.is_empty() {
        return Ok(HashMap::new());
    }
    let people = OfPeople { pixel_id: pixel_id.clone(), hems };
    let contacts = match member.ask::<FindPeople>(people).await {
        Err(Error::NotInGoodStanding) => Vec::new(),
        found => found?,
    };
    contacts.iter().map(|contact| Ok((contact.hem, person_of(contact)?.title()))).collect()
}

/// The erasure requests of a visitor, newest first.
pub async fn requests_of(
    member: &Member<'_>,
    pixel_id: &PixelId,
    visitor_id: IdParam<VisitorId>,
) -> Result<Vec<Value>> {
    let visitor = OfVisitor { pixel_id: pixel_id.clone().into(), visitor_id };
    let requests = member.ask::<FindRequestsOfVisitor>(visitor).await?;
    Ok(requests.iter().map(line).collect())
}

/// The erasure requests that a person sent by email, newest first.
pub async fn mailed_requests_of(
    member: &Member<'_>,
    pixel_id: &PixelId,
    hem: &str,
) -> Result<Vec<Value>> {
    let person = OfContact { pixel_id: pixel_id.clone().into(), hem: hem.into() };
    let requests = member.ask::<FindRequestsOfPerson>(person).await?;
    Ok(requests.iter().map(line).collect())
}

fn line(request: &ErasureRequestView) -> Value {
    json!({
        "id": request.request_id,
        "received": requested_day(request),
        "due": due_day(request),
        "is_open": request.status == ErasureRequestStatus::Open,
        "reason": request.reason,
    })
}

pub fn requested_day(request: &ErasureRequestView) -> Message {
    day_of(request, request.requested_at.0)
}

pub fn due_day(request: &ErasureRequestView) -> Message {
    day_of(request, request.due_at.0)
}

/// A request by email has only a day, which a member entered, so it is not converted to the reader's time zone.
fn day_of(request: &ErasureRequestView, time: DateTime<Utc>) -> Message {
    match request.received_by {
        ReceivedBy::Mail => Message::Day(time.date_naive()),
        ReceivedBy::Page => Message::DayOf(time),
    }
}
