use rocket::get;
use serde_json::json;
use serde_json::value::to_raw_value;
use sha2::{Digest, Sha256};

use crate::contacts::contact::Contact;
use crate::contacts::reading::pages::ContactPage;
use crate::error::{Error, Result};
use crate::http::described::described_routes;
use crate::http::listed::{List, Listed};
use crate::types::hem::Hem;
use crate::types::ids::PixelId;

described_routes![sample];

/// Invented people at reserved addresses (RFC 2606).
const PEOPLE: [(&str, &str, &str, &str, &str); 3] = [
    ("Mara", "Lindqvist", "mara.lindqvist@example.com", "Gothenburg", "2026-01-12T08:41:07Z"),
    ("Tomasz", "Okafor", "tomasz.okafor@example.org", "Leeds", "2026-01-12T17:20:55Z"),
    ("Yuki", "Brandt", "yuki.brandt@example.net", "Osaka", "2026-01-13T02:03:19Z"),
];

impl List for ContactPage {
    fn next(&self) -> Option<(&'static str, String)> {
        None
    }
}

/// A page of invented contacts
///
/// In the shape of reading contacts by cursor.
#[utoipa::path(
    tag = "Contacts",
    operation_id = "sample_contacts",
    responses((status = 200, description = "Three contacts", body = ContactPage)),
)]
#[get("/v1/sample")]
fn sample() -> Result<Listed<ContactPage>> {
    let contacts = (1..).zip(PEOPLE).map(contact).collect::<Result<Vec<_>>>()?;
    Ok(Listed(ContactPage {
        pixel_id: PixelId::from("sample".to_owned()),
        after: 0,
        high_water: contacts.last().map_or(0, |last| last.id),
        contacts,
    }))
}

fn contact(
    (id, (first_name, last_name, email, city, resolved_at)): (i64, (&str, &str, &str, &str, &str)),
) -> Result<Contact> {
    let contact = json!({
        "first_name": first_name,
        "last_name": last_name,
        "email": email,
        "city": city,
    });
    Ok(Contact {
        id,
        hem: Hem::parse(&hex::encode(Sha256::digest(email)))?,
        resolved_at: resolved_at.to_owned(),
        contact: sqlx::types::Json(to_raw_value(&contact).map_err(Error::internal)?),
        change: None,
        last_seen_at: None,
        visits: None,
        consent: None,
    })
}
