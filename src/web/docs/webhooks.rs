//! The bodies of webhooks in the description: one entry for each kind of event.

use serde_json::{Map, Value, json};

use crate::infra::events::EventKind;

/// The bodies that a test received (`tests/api_webhooks/examples.rs`).
const EXAMPLES: &str = include_str!("webhooks.json");

struct DocumentedPayload {
    summary: &'static str,
    description: &'static str,
    data: &'static str,
}

fn documented(kind: EventKind) -> DocumentedPayload {
    match kind {
        EventKind::ContactCreated => DocumentedPayload {
            summary: "A person was stored",
            description: "Sent only while the contact may be read.",
            data: "ContactNews",
        },
        EventKind::ContactUpdated => DocumentedPayload {
            summary: "A person was stored again",
            description: "Sent only while the contact may be read.",
            data: "ContactNews",
        },
        EventKind::ContactWithdrawn => DocumentedPayload {
            summary: "The consent that a contact depends on has ended",
            description: "Copies of the contact have to be deleted.",
            data: "WithdrawnNews",
        },
        EventKind::ChoiceRecorded => DocumentedPayload {
            summary: "A visitor accepted, declined or withdrew",
            description: "With the receipt, as it was signed.",
            data: "ChoiceNews",
        },
        EventKind::PolicyPublished => DocumentedPayload {
            summary: "A policy was published",
            description: "Sent for a text that visitors have not seen yet.",
            data: "PolicyNews",
        },
        EventKind::InstallChanged => DocumentedPayload {
            summary: "A tag came or went",
            description: "Found for the first time, vanished, or back.",
            data: "InstallNews",
        },
        EventKind::AllowanceReached => DocumentedPayload {
            summary: "80 or 100 % of a month's new contacts are used",
            description: "Sent once for each.",
            data: "AllowanceNews",
        },
        EventKind::ErasureRequested => DocumentedPayload {
            summary: "A visitor asks to be erased",
            description: "The owner has 30 days to answer.",
            data: "ErasureNews",
        },
        EventKind::SilenceBroken => DocumentedPayload {
            summary: "A site loads or stores something without consent",
            description: "Sent once, with the report that found it.",
            data: "SilenceNews",
        },
        EventKind::SilenceRestored => DocumentedPayload {
            summary: "A site is silent again",
            description: "Sent once, with the report that found it silent.",
            data: "SilenceNews",
        },
    }
}

pub fn add_to(document: &mut Value) {
    let examples = serde_json::from_str::<Map<String, Value>>(EXAMPLES);
    let examples = examples.expect("the examples are well-formed");
    let mut webhooks = Map::new();
    for &kind in EventKind::ALL {
        let (documented, schema) = (documented(kind), schema_name(kind));
        document["components"]["schemas"][&schema] = body_schema(kind, &documented);
        let example = examples.get(kind.as_str()).cloned().unwrap_or_default();
        webhooks.insert(kind.as_str().to_owned(), webhook(kind, &documented, &schema, example));
    }
    document["webhooks"] = Value::Object(webhooks);
}

/// `contact.created` has the schema `ContactCreatedEvent`.
fn schema_name(kind: EventKind) -> String {
    let words = kind.as_str().split('.').map(|word| word[..1].to_uppercase() + &word[1..]);
    words.chain(["Event".to_owned()]).collect()
}

fn body_schema(kind: EventKind, documented: &DocumentedPayload) -> Value {
    json!({
        "type": "object",
        "description": format!("{}.", documented.summary),
        "required": ["type", "timestamp", "data"],
        "properties": {
            "type": {"type": "string", "const": kind.as_str()},
            "timestamp": {
                "type": "string",
                "format": "date-time",
                "description": "When it happened.",
            },
            "data": {"$ref": format!("#/components/schemas/{}", documented.data)},
        },
    })
}

fn webhook(kind: EventKind, documented: &DocumentedPayload, schema: &str, example: Value) -> Value {
    json!({"post": {
        "operationId": format!("on_{}", kind.as_str().replace('.', "_")),
        "summary": documented.summary,
        "description": documented.description,
        "tags": ["Webhooks"],
        "security": [],
        "parameters": [
            header("webhook-id", "The same in every attempt."),
            header("webhook-timestamp", "When this attempt was made, in seconds since 1970."),
            header("webhook-signature", "After Standard Webhooks: `v1,` and the signature; two of them while a secret is being changed."),
        ],
        "requestBody": {
            "required": true,
            "content": {"application/json": {
                "schema": {"$ref": format!("#/components/schemas/{schema}")},
                "example": example,
            }},
        },
        "responses": {
            "2XX": {"description": "Taken."},
            "default": {"description": "Not taken: sent again, for a day."},
        },
    }})
}

fn header(name: &str, description: &str) -> Value {
    json!({
        "name": name,
        "in": "header",
        "required": true,
        "description": description,
        "schema": {"type": "string"},
    })
}
