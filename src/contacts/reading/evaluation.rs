//! Evaluates on the primary which contacts of a page may be read, even if the page comes from a replica.

use std::collections::HashMap;

use crate::contacts::contact::ContactConsent;
use crate::contacts::store::consent::{EvaluatedContact, list_evaluated};
use crate::contacts::store::reading::PositionedContact;
use crate::error::Result;
use crate::infra::Infra;
use crate::receipts::check::Reason;
use crate::types::ids::PixelId;

pub struct Evaluation {
    infra: Infra,
    pixel_id: PixelId,
    /// Whether pages come from a replica, where a binding or an erasure may be missing.
    is_late: bool,
}

impl Evaluation {
    pub fn of(infra: &Infra, pixel_id: &PixelId) -> Self {
        let is_late = infra.config.database_read_url.is_some();
        Self { infra: infra.clone(), pixel_id: pixel_id.clone(), is_late }
    }

    /// Returns the contacts that may be read, with their consent. Contacts without a consent are
    /// only checked if the page comes from a replica.
    pub async fn keep_readable(
        &self,
        found: Vec<PositionedContact>,
    ) -> Result<Vec<PositionedContact>> {
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
        let evaluated = list_evaluated(&mut connection, &self.pixel_id, now, &ids).await?;
        let mut evaluated = evaluated
            .into_iter()
            .map(|evaluated| (evaluated.id, evaluated))
            .collect::<HashMap<_, _>>();
        let readable = found.into_iter().filter_map(|mut contact| {
            if !contact.is_bound && !self.is_late {
                return Some(contact);
            }
            // A missing contact was erased meanwhile.
            let evaluated =
                evaluated.remove(&contact.contact.id).filter(|evaluated| !evaluated.is_hidden)?;
            contact.contact.consent = consent_of(evaluated);
            Some(contact)
        });
        Ok(readable.collect())
    }
}

/// The consent of a visible contact: withdrawn and expired ones are hidden.
fn consent_of(evaluated: EvaluatedContact) -> Option<ContactConsent> {
    let reason = match (evaluated.is_in_force, evaluated.is_current) {
        (false, _) => Reason::ConsentOff,
        (true, false) => Reason::PolicyVersionStale,
        (true, true) => Reason::Ok,
    };
    evaluated.bound.map(|(visitor_id, receipt_id)| ContactConsent {
        visitor_id,
        receipt_id,
        permitted: reason == Reason::Ok,
        reason,
    })
}
