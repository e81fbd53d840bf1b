//! Which contacts of a page may be read: the primary says so, whatever the page was read from.

use std::collections::HashMap;

use crate::contacts::contact::ContactConsent;
use crate::contacts::store::consent::{JudgedContact, list_judged};
use crate::contacts::store::reading::PlacedContact;
use crate::error::Result;
use crate::infra::Infra;
use crate::receipts::check::Reason;
use crate::types::ids::PixelId;

/// Judges contacts of a pixel.
pub struct Evaluation {
    infra: Infra,
    pixel_id: PixelId,
    /// Whether pages come from a replica, on which a contact may not be bound yet, or not erased.
    is_late: bool,
}

impl Evaluation {
    pub fn of(infra: &Infra, pixel_id: &PixelId) -> Self {
        let is_late = infra.config.database_read_url.is_some();
        Self { infra: infra.clone(), pixel_id: pixel_id.clone(), is_late }
    }

    /// Those that may be read now, with the consent that they depend on. Contacts that depend on
    /// nobody's are not asked about unless the page is a replica's.
    pub async fn keep_readable(&self, found: Vec<PlacedContact>) -> Result<Vec<PlacedContact>> {
        if found.is_empty() {
            return Ok(found);
        }
        if !self.is_late && !found.iter().any(|contact| contact.is_bound) {
            return Ok(found);
        }
        let mut connection = self.infra.pool.acquire().await?;
        let asked = found.iter().filter(|contact| contact.is_bound || self.is_late);
        let ids = asked.map(|contact| contact.contact.id).collect::<Vec<_>>();
        let now = self.infra.clock.now();
        let judged = list_judged(&mut connection, &self.pixel_id, now, &ids).await?;
        let mut judged =
            judged.into_iter().map(|judged| (judged.id, judged)).collect::<HashMap<_, _>>();
        let readable = found.into_iter().filter_map(|mut placed| {
            if !placed.is_bound && !self.is_late {
                return Some(placed);
            }
            // One that is gone there was erased meanwhile.
            let judged = judged.remove(&placed.contact.id).filter(|judged| !judged.is_hidden)?;
            placed.contact.consent = consent_of(judged);
            Some(placed)
        });
        Ok(readable.collect())
    }
}

/// The consent of a contact that is not hidden: whoever takes consent back, or lets it end, hides it.
fn consent_of(judged: JudgedContact) -> Option<ContactConsent> {
    let reason = match (judged.is_in_force, judged.is_current) {
        (false, _) => Reason::ConsentOff,
        (true, false) => Reason::PolicyVersionStale,
        (true, true) => Reason::Ok,
    };
    judged.bound.map(|(visitor_id, receipt_id)| ContactConsent {
        visitor_id,
        receipt_id,
        permitted: reason == Reason::Ok,
        reason,
    })
}
