//! The parts that a record lacks but the guide requires, in plain words.

use super::answered::Answered;
use crate::policies::policy::PolicyText;
use crate::types::consent::{ConsentState, Granted, Purpose};

/// Lists the missing parts, each with the policy field that would contain it.
pub(super) fn list_missing(answered: &Answered<'_>) -> Vec<&'static str> {
    let mut missing = Vec::new();
    if answered.shown.is_none() {
        missing.push("the language of the notice: the choice does not say what was shown");
    }
    let Some(policy) = answered.policy else {
        missing.push("the notice, and all that it said: the policy is not kept any more");
        return missing;
    };
    let PolicyText { controller, personal_data, storage_places, retention, .. } = &policy.text;
    let stated = [
        (!personal_data.is_empty(), "the kinds of personal data (personal_data)"),
        (!storage_places.is_empty(), "where they are stored (storage_places)"),
        (retention.is_some(), "how long they are kept (retention)"),
        (names_recipients(answered, &policy.text), "with whom they are shared (disclosed_parties)"),
        (controller.jurisdiction.is_some(), "under whose law (controller_jurisdiction)"),
        (controller.contact.is_some(), "how the controller is reached (controller_contact)"),
        (controller.address.is_some(), "the controller's postal address (controller_address)"),
    ];
    missing.extend(stated.into_iter().filter(|(is_stated, _)| !is_stated).map(|(_, words)| words));
    missing
}

fn names_recipients(answered: &Answered<'_>, text: &PolicyText) -> bool {
    let receipt = answered.receipt;
    let is_shared = |purpose: &Purpose| match receipt.consent_state {
        ConsentState::Accepted => receipt.purposes.contains(&Granted::Known(*purpose)),
        ConsentState::Declined | ConsentState::Withdrawn => text.purposes.contains(purpose),
    };
    !text.disclosed_parties.is_empty()
        || !(text.data_sharing || Purpose::SHARING.iter().any(is_shared))
}
