use serde_json::{Value, json};

use super::answered::Answered;
use crate::consent_receipt::receipt::Receipt;
use crate::consent_receipt::user_action::Act;
use crate::policies::policy::{CURRENT_WORDING, Policy};
use crate::types::consent::{ConsentState, ControllerType, Granted, Purpose};
use crate::types::locales::{self, Locale};

pub(super) fn data_subject(receipt: &Receipt) -> Value {
    json!({"@type": "dpv:DataSubject", "dct:identifier": receipt.visitor_id})
}

pub(super) fn notice(answered: &Answered<'_>, policy: &Policy) -> Value {
    let mut notice = json!({"@id": notice_url(answered), "@type": "dpv:ConsentNotice"});
    notice["dct:date"] =
        json!({"@type": "xsd:date", "@value": policy.published_at.format("%Y-%m-%d").to_string()});
    if let Some(shown) = answered.shown {
        notice["dct:language"] = json!([shown.language]);
    }
    notice
}

fn notice_url(answered: &Answered<'_>) -> String {
    let Receipt { pixel_id, policy_hash, .. } = answered.receipt;
    let language = answered.shown.map(|shown| format!("&lang={}", shown.language));
    let language = language.unwrap_or_default();
    format!("{}/v1/policy/{pixel_id}?hash={policy_hash}{language}", answered.base_url)
}

fn controller_id(answered: &Answered<'_>) -> String {
    let Receipt { pixel_id, policy_hash, .. } = answered.receipt;
    format!("{}/v1/policy/{pixel_id}?hash={policy_hash}#controller", answered.base_url)
}

pub(super) fn controller(answered: &Answered<'_>, policy: &Policy) -> Value {
    let (id, stated) = (controller_id(answered), &policy.text.controller);
    let kind = match stated.kind {
        ControllerType::Person => "dpv:NaturalPerson",
        ControllerType::Company => "dpv:ForProfitOrganisation",
        ControllerType::Organization => "dpv:Organisation",
    };
    let mut controller = json!({
        "@id": id,
        "@type": ["dpv:DataController", kind],
        "dpv:hasName": stated.name,
        "dpv:hasIdentifier": id,
    });
    let address = stated.address.as_ref().map(|address| {
        json!({"@id": format!("{id}-address"), "@type": "schema:PostalAddress", "schema:streetAddress": address})
    });
    let contact = stated.contact.as_deref().map(contact_point);
    // The guide has the address both as a separate property and as one of the contacts.
    let contacts = contact.into_iter().chain(address.clone()).collect::<Vec<_>>();
    if !contacts.is_empty() {
        controller["schema:contactPoint"] = json!(contacts);
    }
    if let Some(address) = address {
        controller["schema:address"] = json!([address]);
    }
    controller
}

/// A contact that was entered as free text: a URL, an email address or a description.
fn contact_point(contact: &str) -> Value {
    let is_one_word = !contact.contains(char::is_whitespace);
    let name = match contact {
        _ if is_one_word && contact.starts_with("https://") => "schema:url",
        _ if is_one_word && contact.contains('@') => "schema:email",
        _ => "schema:description",
    };
    json!({"@type": "schema:ContactPoint", name: contact})
}

pub(super) fn location(name: &str) -> Value {
    json!({"@type": "dpv:Location", "dct:title": name})
}

/// The service's page for the visitor, which shows the choice and allows its withdrawal.
fn own_page(answered: &Answered<'_>) -> String {
    let Receipt { pixel_id, visitor_id, .. } = answered.receipt;
    let visitor = visitor_id.as_str();
    format!("{}/your-data#pixel={pixel_id}&visitor={visitor}", answered.base_url)
}

/// The page, and the user action if it was reported.
pub(super) fn indication_method(answered: &Answered<'_>) -> String {
    let action = answered.shown.map(|shown| shown.action).unwrap_or_default();
    let made = match action.act {
        None => "In a browser",
        Some(Act::Pointer) => "With a pointer, in a browser",
        Some(Act::Keyboard) => "With a keyboard, in a browser",
        Some(Act::Assistive) => "With assistive technology, in a browser",
        Some(Act::Page) => "By a script of the page, in a browser",
    };
    let automated = match action.automated {
        Some(true) => " that a program controlled",
        Some(false) | None => "",
    };
    format!("{made}{automated}, on {}", answered.receipt.origin)
}

/// The site can open the popup again; withdrawal is also possible on the visitor's page of the service.
pub(super) fn consent_control(answered: &Answered<'_>) -> Value {
    json!({
        "@type": ["dpv:ProvideConsent", "dpv:WithdrawConsent"],
        "dpv:isExercisedAt": [answered.receipt.origin, own_page(answered)],
    })
}

pub(super) fn rights(answered: &Answered<'_>) -> [Value; 3] {
    let titles = ["Right to withdraw consent", "Right of access", "Right to erasure"];
    titles.map(|title| {
        json!({
            "@type": "dpv:DataSubjectRight",
            "dct:title": title,
            "dpv:isExercisedAt": own_page(answered),
        })
    })
}

/// The permitted processing; for a refusal or withdrawal, the processing that is not permitted, or no longer.
pub(super) fn process(answered: &Answered<'_>) -> Value {
    let mut process = json!({"@type": "dpv:Process", "dpv:hasPurpose": purposes(answered)});
    let Some(Policy { text, .. }) = answered.policy else { return process };
    let mut recipients = vec![json!({"@id": controller_id(answered), "@type": "dpv:Recipient"})];
    recipients.extend(
        text.disclosed_parties.iter().map(
            |party| json!({"@type": ["dpv:Recipient", "dpv:ThirdParty"], "dpv:hasName": party}),
        ),
    );
    process["dpv:hasRecipient"] = json!(recipients);
    let kind = |kind: &String| json!({"@type": "dpv:PersonalData", "skos:broader": "dpv:PersonalData", "dct:title": kind});
    if !text.personal_data.is_empty() {
        process["dpv:hasPersonalData"] = text.personal_data.iter().map(kind).collect();
    }
    let mut storage = Vec::new();
    if !text.storage_places.is_empty() {
        let locations = text.storage_places.iter().map(|name| location(name)).collect::<Vec<_>>();
        storage.push(json!({"@type": "dpv:StorageLocation", "dpv:hasLocation": locations}));
    }
    if let Some(retention) = &text.retention {
        let lasts = json!({"@type": "dpv:Duration", "rdf:value": retention});
        storage.push(json!({"@type": "dpv:StorageDuration", "dpv:hasDuration": lasts}));
    }
    if !storage.is_empty() {
        process["dpv:hasStorageCondition"] = json!(storage);
    }
    process
}

fn purposes(answered: &Answered<'_>) -> Vec<Value> {
    let wording = answered.policy.map_or(CURRENT_WORDING, |policy| policy.text.wording);
    let language = answered.shown.and_then(|shown| locales::named(&shown.language));
    let locale = language.unwrap_or_else(locales::english);
    let known = |purpose: &Purpose| known_purpose(*purpose, wording, locale);
    match (answered.receipt.consent_state, answered.policy) {
        (ConsentState::Accepted, _) | (_, None) => {
            let granted = answered.receipt.purposes.iter().map(|granted| match granted {
                Granted::Known(purpose) => known(purpose),
                Granted::Newer(name) => json!({
                    "@type": "dpv:Purpose",
                    "skos:broader": "dpv:Purpose",
                    "dct:identifier": name,
                }),
            });
            granted.collect()
        }
        (_, Some(policy)) => policy.text.purposes.iter().map(known).collect(),
    }
}

/// A purpose in the wording that the visitor read.
fn known_purpose(purpose: Purpose, wording: u32, locale: &Locale) -> Value {
    let broader = match purpose {
        Purpose::Analytics => "dpv:ServiceUsageAnalytics",
        Purpose::Resolution | Purpose::EmailSharing | Purpose::PhoneSharing => "dpv:Marketing",
        Purpose::Newsletter
        | Purpose::PartnerEmail
        | Purpose::PartnerCalls
        | Purpose::PartnerSms => "dpv:DirectMarketing",
    };
    let words = locale.purpose(purpose.as_str(), wording);
    let said = |text: &str| json!({"@language": locale.lang, "@value": text});
    json!({
        "@type": "dpv:Purpose",
        "skos:broader": broader,
        "dct:identifier": purpose.as_str(),
        "dct:title": said(&words.title),
        "dct:description": said(&words.text),
    })
}
