//! Describes the member `next` and the header `Link`, which the transport adds to lists ([`crate::http::listed`]).

use serde_json::{Value, json};

use super::tidy::operations;

/// The operations that answer with a list, and the schemas of their pages.
const LISTS: &[(&str, &[&str])] = &[
    ("list_plans", &["PlanList"]),
    ("list_pixels", &["PixelList"]),
    ("list_api_keys", &["KeyList"]),
    ("list_grants", &["GrantList"]),
    ("list_members", &["MemberList"]),
    ("list_shared_links", &["SharedLinkList"]),
    ("list_webhooks", &["EndpointList"]),
    ("list_webhook_deliveries", &["DeliveryList"]),
    ("read_consent_log", &["ConsentLog"]),
    ("read_consent_history", &["History"]),
    ("read_own_erasure_requests", &["OwnRequests"]),
    ("read_account_events", &["EventPage"]),
    ("list_suppressions", &["SuppressionPage"]),
    ("list_erasure_requests", &["ErasureRequestPage"]),
    ("list_watch_reports", &["WatchReportPage"]),
    ("list_screenshots", &["ScreenshotPage"]),
    ("list_withdrawn_contacts", &["WithdrawnContacts"]),
    ("read_contacts", &["ContactPage", "ContactsOfDay", "ChangedContacts"]),
];

pub fn add_to(document: &mut Value) {
    for name in LISTS.iter().flat_map(|(_, schemas)| *schemas) {
        let schema = &mut document["components"]["schemas"][*name];
        schema["properties"]["next"] = json!({
            "type": ["string", "null"],
            "format": "uri",
            "description": "The address of the next page; null on the last one.",
        });
        if let Some(required) = schema["required"].as_array_mut() {
            required.push(json!("next"));
        }
    }
    for operation in operations(document) {
        if LISTS.iter().any(|(name, _)| operation["operationId"] == *name) {
            operation["responses"]["200"]["headers"]["Link"] = json!({
                "description": "The address of the next page, with `rel=\"next\"`.",
                "schema": {"type": "string"},
            });
        }
    }
}
