use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::answered::Answered;
use super::missing::list_missing;
use super::parts;
use crate::clock::rfc3339;
use crate::types::consent::ConsentState;

const PROFILE: &str = "https://w3id.org/dpv/schema/dpv-27560#record";

/// The JSON-LD context of a record, embedded so that readers need not fetch it.
pub static CONTEXT: LazyLock<Value> = LazyLock::new(|| {
    let link = json!({"@type": "@id"});
    let time = json!({"@type": "xsd:dateTime"});
    json!({
        "dpv": "https://w3id.org/dpv#",
        "dct": "http://purl.org/dc/terms/",
        "schema": "https://schema.org/",
        "skos": "http://www.w3.org/2004/02/skos/core#",
        "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
        "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
        "xsd": "http://www.w3.org/2001/XMLSchema#",
        "missing": "rdfs:comment",
        "dct:conformsTo": link,
        "dct:created": time,
        "dpv:hasLegalBasis": link,
        "dpv:isExercisedAt": link,
        "dpv:isIndicatedAtTime": time,
        "dpv:isIndicatedBy": link,
        "schema:url": link,
        "skos:broader": link,
    })
});

impl Answered<'_> {
    /// The record, without its context. An incomplete one claims no conformance, and states in plain words
    /// what is missing.
    pub fn record(&self) -> Value {
        let receipt = self.receipt;
        let mut record = Map::new();
        let mut set = |name: &str, value: Value| record.insert(name.to_owned(), value);
        set("@id", json!(format!("urn:uuid:{}", receipt.receipt_id)));
        set("@type", json!("dpv:ConsentRecord"));
        match list_missing(self) {
            missing if missing.is_empty() => set("dct:conformsTo", json!(PROFILE)),
            missing => set("missing", json!(missing)),
        };
        // The guide's text requires one name, its table the other.
        set("dct:identifier", json!(receipt.receipt_id));
        set("dpv:hasIdentifier", json!(receipt.receipt_id));
        set("dct:created", json!(rfc3339(receipt.recorded_at)));
        set("dpv:hasDataSubject", parts::data_subject(receipt));
        set("dpv:hasLegalBasis", json!(["dpv:ExpressedConsent"]));
        set("dpv:hasConsentControl", json!([parts::consent_control(self)]));
        set("dpv:hasRight", json!(parts::rights(self)));
        set("dpv:hasProcess", json!([parts::process(self)]));
        set("dpv:hasConsentStatus", json!([self.event()]));
        if let Some(policy) = self.policy {
            set("dpv:hasNotice", json!([parts::notice(self, policy)]));
            set("dpv:hasDataController", json!([parts::controller(self, policy)]));
            if let Some(law) = &policy.text.controller.jurisdiction {
                set("dpv:hasJurisdiction", json!([parts::location(law)]));
            }
        }
        Value::Object(record)
    }

    pub fn document(&self) -> Value {
        let mut record = self.record();
        record["@context"] = CONTEXT.clone();
        record
    }

    fn event(&self) -> Value {
        let kinds = match self.receipt.consent_state {
            ConsentState::Accepted => json!(["dpv:ConsentGiven", "dpv:ExpressedConsent"]),
            ConsentState::Declined => json!(["dpv:ConsentRefused"]),
            ConsentState::Withdrawn => json!(["dpv:ConsentWithdrawn"]),
        };
        let mut event = json!({
            "@type": kinds,
            "dpv:isIndicatedAtTime": rfc3339(self.receipt.recorded_at),
            "dpv:isIndicatedBy": "dpv:DataSubject",
            "dpv:hasIndicationMethod": parts::indication_method(self),
        });
        // After that time the visitor is asked again, whatever the answer was.
        if let Some(policy) = self.policy {
            let lasts = format!("P{}D", policy.text.consent_days);
            event["dpv:hasDuration"] = json!({
                "@type": "dpv:TemporalDuration",
                "rdf:value": {"@type": "xsd:duration", "@value": lasts},
            });
        }
        event
    }
}
