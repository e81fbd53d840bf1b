use serde_json::Value;
use sha2::{Digest, Sha256};

use super::found::{Found, Group, Site};
use super::search_term::SearchTerm;
use crate::contacts::people::ListPeople;
use crate::contacts::people::filter::PeopleRequest;
use crate::contacts::reading::finding::{FindContact, OfContact};
use crate::erasure::finding::FindErasureRequest;
use crate::erasure::of_visitor::FindRequestsOfVisitor;
use crate::erasure::owner::OfRequest;
use crate::erasure::view::{ErasureRequestStatus, ErasureRequestView};
use crate::erasure::visitor::OfVisitor;
use crate::error::{Error, Result};
use crate::infra::templates::{Message, tr};
use crate::types::hem::Hem;
use crate::web::console::kit::member::Member;
use crate::web::console::visitors::choice;
use crate::web::console::visitors::choice_words::{ChoiceWords, SLUG};
use crate::web::console::visitors::linked::{due_day, requested_day};
use crate::web::console::visitors::person_words::rows;

/// The results on a site.
pub async fn on_site(member: &Member<'_>, site: Site, term: &SearchTerm) -> Result<Vec<Found>> {
    let mut found = people(member, &site, term).await?;
    if term.id.is_some() {
        found.extend(choice_of(member, &site, &term.text).await?);
        found.extend(request_of(member, &site, &term.text).await?);
    }
    if let Some(visitor_id) = &term.visitor_id {
        found.extend(visitor(member, &site, visitor_id.as_str()).await?);
        found.extend(requests_of_visitor(member, &site, visitor_id.as_str()).await?);
    }
    Ok(found)
}

/// `None` if the item or its site does not exist, or has been removed meanwhile.
fn if_there<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(
            Error::NotFound
            | Error::PixelNotFound
            | Error::ContactNotFound
            | Error::ErasureRequestNotFound,
        ) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn people(member: &Member<'_>, site: &Site, term: &SearchTerm) -> Result<Vec<Found>> {
    let contacts = match term.hem {
        Some(hem) => {
            let person = OfContact { pixel_id: site.id.clone().into(), hem: hem.into() };
            if_there(member.ask::<FindContact>(person).await)?.into_iter().collect()
        }
        None if term.is_typed && term.may_be_name() => {
            let request = PeopleRequest {
                pixel_id: site.id.clone().into(),
                search: Some(term.text.clone()),
                sort: None,
                from: None,
                to: None,
                after: None,
            };
            let page = if_there(member.ask::<ListPeople>(request).await)?;
            page.map(|page| page.contacts).unwrap_or_default()
        }
        None => Vec::new(),
    };
    let hem = term.hem.unwrap_or_else(|| {
        Hem::from(<[u8; 32]>::from(Sha256::digest(term.text.trim().to_lowercase())))
    });
    let rows = rows(&contacts)?;
    Ok(rows.iter().map(|row| person(site, row, &hem.to_hex())).collect())
}

fn person(site: &Site, row: &Value, searched_hem: &str) -> Found {
    let text = |name: &str| row[name].as_str();
    let hem = text("hem").unwrap_or_default();
    let email = text("email").map(Message::plain);
    Found {
        group: Group::People,
        is_exact: hem == searched_hem,
        title: Message::plain(text("title").unwrap_or(hem)),
        details: email.into_iter().chain([Message::plain(&site.host)]).collect(),
        href: site.address(&format!("contacts/find?hem={hem}")),
    }
}

async fn choice_of(member: &Member<'_>, site: &Site, receipt_id: &str) -> Result<Option<Found>> {
    let event = if_there(choice::find(member, &site.id.clone().into(), receipt_id).await)?;
    Ok(event.map(|event| {
        let words = ChoiceWords::of(&event);
        Found {
            group: Group::Choices,
            is_exact: true,
            title: words.at,
            details: vec![words.name, Message::plain(&site.host)],
            href: site.address(&format!("{SLUG}/{}", event.fields.receipt_id)),
        }
    }))
}

async fn visitor(member: &Member<'_>, site: &Site, visitor_id: &str) -> Result<Option<Found>> {
    let filter = choice::of_visitor(visitor_id);
    let latest = if_there(choice::list(member, &site.id.clone().into(), filter, 1).await)?;
    let latest = latest.and_then(|events| events.into_iter().next());
    Ok(latest.map(|event| {
        let at = Message::Second(event.fields.recorded_at);
        let latest = tr("Latest choice: {{ moment }}").with("moment", at);
        Found {
            group: Group::Visitors,
            is_exact: true,
            title: Message::plain(visitor_id),
            details: vec![latest, Message::plain(&site.host)],
            href: site.address(&format!("{SLUG}?visitor_id={visitor_id}")),
        }
    }))
}

async fn request_of(member: &Member<'_>, site: &Site, request_id: &str) -> Result<Option<Found>> {
    let (pixel_id, request_id) = (site.id.clone().into(), request_id.into());
    let request = member.ask::<FindErasureRequest>(OfRequest { pixel_id, request_id }).await;
    Ok(if_there(request)?.map(|request| request_found(site, &request)))
}

async fn requests_of_visitor(
    member: &Member<'_>,
    site: &Site,
    visitor_id: &str,
) -> Result<Vec<Found>> {
    let visitor = OfVisitor { pixel_id: site.id.clone().into(), visitor_id: visitor_id.into() };
    let requests = if_there(member.ask::<FindRequestsOfVisitor>(visitor).await)?;
    let requests = requests.unwrap_or_default();
    Ok(requests.iter().map(|request| request_found(site, request)).collect())
}

/// An open request links to its own screen, a closed one to the list of its status.
fn request_found(site: &Site, request: &ErasureRequestView) -> Found {
    let (state, rest) = match request.status {
        ErasureRequestStatus::Open => {
            let due = tr("Open, due on {{ day }}").with("day", due_day(request));
            (due, format!("requests/{}", request.request_id))
        }
        ErasureRequestStatus::Completed => (tr("Erased"), "requests?status=completed".to_owned()),
        ErasureRequestStatus::Refused => (tr("Refused"), "requests?status=refused".to_owned()),
    };
    Found {
        group: Group::Requests,
        is_exact: true,
        title: tr("Request of {{ day }}").with("day", requested_day(request)),
        details: vec![state, Message::plain(&site.host)],
        href: site.address(&rest),
    }
}
