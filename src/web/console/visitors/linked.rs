//! The links from a visitor to the people and the requests behind it.

use serde_json::{Value, json};

use super::person_words::rows;
use crate::contacts::reading::finding::OfContact;
use crate::contacts::reading::of_visitor::{FindContactsOfVisitor, VisitorContacts};
use crate::erasure::contact::FindRequestsOfPerson;
use crate::erasure::of_visitor::FindRequestsOfVisitor;
use crate::erasure::view::{ErasureRequestStatus, ErasureRequestView};
use crate::erasure::visitor::OfVisitor;
use crate::error::{Error, Result};
use crate::web::console::kit::member::Member;
use crate::web::console::kit::words::day;

/// The people of a visitor with their fields; none while the account may not read contacts.
pub async fn people_of(
    member: &Member<'_>,
    pixel_id: &str,
    visitor_id: &str,
) -> Result<Vec<Value>> {
    let visitor =
        VisitorContacts { pixel_id: pixel_id.to_owned(), visitor_id: visitor_id.to_owned() };
    let contacts = match member.ask::<FindContactsOfVisitor>(visitor).await {
        Err(Error::NotInGoodStanding) => Vec::new(),
        found => found?,
    };
    rows(&contacts)
}

/// The erasure requests of a visitor, newest first.
pub async fn requests_of(
    member: &Member<'_>,
    pixel_id: &str,
    visitor_id: &str,
) -> Result<Vec<Value>> {
    let visitor = OfVisitor { pixel_id: pixel_id.to_owned(), visitor_id: visitor_id.to_owned() };
    let requests = member.ask::<FindRequestsOfVisitor>(visitor).await?;
    Ok(requests.iter().map(line).collect())
}

/// The requests by email of a person, newest first.
pub async fn mailed_requests_of(
    member: &Member<'_>,
    pixel_id: &str,
    hem: &str,
) -> Result<Vec<Value>> {
    let person = OfContact { pixel_id: pixel_id.to_owned(), hem: hem.to_owned() };
    let requests = member.ask::<FindRequestsOfPerson>(person).await?;
    Ok(requests.iter().map(line).collect())
}

fn line(request: &ErasureRequestView) -> Value {
    json!({
        "id": request.request_id,
        "received": day(request.requested_at.0),
        "due": day(request.due_at.0),
        "is_open": request.status == ErasureRequestStatus::Open,
        "reason": request.reason,
    })
}
