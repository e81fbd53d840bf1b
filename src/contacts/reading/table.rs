use crate::contacts::contact::Contact;
use crate::error::Result;
use crate::types::csv;

/// The columns of the consent are empty for contacts without one.
const COLUMNS: [&str; 8] =
    ["id", "hem", "resolved_at", "contact", "visitor_id", "receipt_id", "permitted", "reason"];
const OF_CHANGES: [&str; 3] = ["change", "last_seen_at", "visits"];

pub fn head(is_of_changes: bool) -> Result<Vec<u8>> {
    let more = if is_of_changes { &OF_CHANGES[..] } else { &[] };
    csv::lines([COLUMNS.iter().chain(more)])
}

pub fn lines<'a>(
    contacts: impl Iterator<Item = &'a Contact>,
    is_of_changes: bool,
) -> Result<Vec<u8>> {
    csv::lines(contacts.map(|contact| cells(contact, is_of_changes)))
}

fn cells(contact: &Contact, is_of_changes: bool) -> Vec<String> {
    let mut cells = vec![
        contact.id.to_string(),
        contact.hem.to_hex(),
        contact.resolved_at.clone(),
        contact.contact.get().to_owned(),
    ];
    match &contact.consent {
        Some(consent) => cells.extend([
            consent.visitor_id.to_string(),
            consent.receipt_id.to_string(),
            consent.permitted.to_string(),
            consent.reason.as_str().to_owned(),
        ]),
        None => cells.extend(std::iter::repeat_n(String::new(), 4)),
    }
    if is_of_changes {
        let number = |number: Option<i64>| number.unwrap_or_default().to_string();
        let last_seen_at = contact.last_seen_at.clone().unwrap_or_default();
        cells.extend([number(contact.change), last_seen_at, number(contact.visits.map(i64::from))]);
    }
    cells
}
