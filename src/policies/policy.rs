//! The policy: the information that visitors receive before they choose, and its hash.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::types::consent::{Channel, ControllerType, Purpose};
use crate::types::host::SiteHost;

/// The version of our own sentences around the integrator's. It increases for sentences that change
/// the information; published policies keep theirs, so that an upgrade of the service does not ask
/// visitors again.
pub const CURRENT_WORDING: u32 = 2;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Controller {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: ControllerType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jurisdiction: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// The content of a policy. Its canonical JSON is stored and hashed, so the order and the names of
/// the fields are part of every published policy and must not change. Later fields are omitted
/// where unset, so that older policies keep their hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyText {
    pub controller: Controller,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_version: Option<String>,
    /// Sorted by name, each once, at least one.
    pub purposes: Vec<Purpose>,
    pub data_sharing: bool,
    pub contact_channels: Vec<Channel>,
    pub disclosed_parties: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site_policy_url: Option<String>,
    pub wording: u32,
    /// The duration of an acceptance in days. Omitted if it is the default.
    #[serde(default = "usual_days", skip_serializing_if = "is_usual")]
    pub consent_days: i32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub personal_data: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub storage_places: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<String>,
}

/// The default duration of an acceptance: half a year.
pub const USUAL_DAYS: i32 = 182;

fn usual_days() -> i32 {
    USUAL_DAYS
}

fn is_usual(days: &i32) -> bool {
    *days == USUAL_DAYS
}

impl PolicyText {
    /// Canonical JSON (RFC 8785).
    pub fn canonical(&self) -> Result<String> {
        serde_json_canonicalizer::to_string(self).map_err(Error::internal)
    }

    /// Whether an acceptance of one text is valid for the other: only their wording may differ.
    pub fn has_same_content(&self, other: &Self) -> bool {
        let reworded = Self { wording: self.wording, ..other.clone() };
        *self == reworded
    }
}

#[derive(Clone, Debug)]
pub struct Policy {
    pub version: i32,
    pub hash: String,
    pub text: PolicyText,
    pub domain: SiteHost,
    pub published_at: DateTime<Utc>,
    /// Whether the notice says that choices are shared: a setting of the pixel, not stored or hashed with the text.
    pub shares_subdomains: bool,
}

impl Policy {
    pub fn covers(&self, purpose: Purpose) -> bool {
        self.text.purposes.contains(&purpose)
    }
}

/// Whether a text has the form of a policy hash: 64 lowercase hex digits.
pub fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    fn text() -> PolicyText {
        PolicyText {
            controller: Controller {
                name: "Café".to_owned(),
                kind: ControllerType::Company,
                contact: None,
                jurisdiction: Some("EU".to_owned()),
                address: None,
            },
            rule_version: None,
            purposes: vec![Purpose::Analytics, Purpose::Resolution],
            data_sharing: false,
            contact_channels: vec![Channel::Email],
            disclosed_parties: vec![],
            site_policy_url: None,
            wording: 1,
            consent_days: USUAL_DAYS,
            personal_data: vec![],
            storage_places: vec![],
            retention: None,
        }
    }

    #[test]
    fn the_canonical_form_of_a_published_policy_never_changes() {
        let canonical = concat!(
            r#"{"contact_channels":["email"],"controller":{"jurisdiction":"EU","name":"Café","type":"company"},"#,
            r#""data_sharing":false,"disclosed_parties":[],"purposes":["analytics","resolution"],"wording":1}"#
        );
        assert_eq!(text().canonical().unwrap(), canonical);
        assert_eq!(serde_json::from_str::<PolicyText>(canonical).unwrap(), text());
        let shorter = PolicyText { consent_days: 30, ..text() };
        let named = canonical.replace(r#""contact_ch"#, r#""consent_days":30,"contact_ch"#);
        assert_eq!(shorter.canonical().unwrap(), named);
        assert_eq!(serde_json::from_str::<PolicyText>(&named).unwrap(), shorter);
        let hash = hex::encode(Sha256::digest(canonical));
        assert_eq!(hash, "f57950c0d2b02880cca3f790818b5ca9811f4ed8c551ec8b781c5eb20cc431e3");
    }

    #[test]
    fn what_is_said_for_records_is_named_and_read_back() {
        let mut detailed = PolicyText {
            personal_data: vec!["Email address".to_owned()],
            storage_places: vec!["Ireland".to_owned()],
            retention: Some("13 months".to_owned()),
            ..text()
        };
        detailed.controller.address = Some("1 Main St".to_owned());
        let canonical = concat!(
            r#"{"contact_channels":["email"],"controller":{"address":"1 Main St","jurisdiction":"EU","name":"Café","type":"company"},"#,
            r#""data_sharing":false,"disclosed_parties":[],"personal_data":["Email address"],"purposes":["analytics","resolution"],"#,
            r#""retention":"13 months","storage_places":["Ireland"],"wording":1}"#
        );
        assert_eq!(detailed.canonical().unwrap(), canonical);
        assert_eq!(serde_json::from_str::<PolicyText>(canonical).unwrap(), detailed);
        assert!(!text().has_same_content(&detailed));
    }

    #[test]
    fn a_policy_of_a_newer_version_is_read_without_what_is_unknown() {
        let newer = text().canonical().unwrap().replace('}', r#","zest":["lemon"]}"#);
        assert_eq!(serde_json::from_str::<PolicyText>(&newer).unwrap(), text());
    }

    #[test]
    fn only_a_new_wording_is_no_new_policy() {
        let reworded = PolicyText { wording: 2, ..text() };
        assert!(text().has_same_content(&reworded));
        assert!(!text().has_same_content(&PolicyText { data_sharing: true, ..text() }));
        assert!(!text().has_same_content(&PolicyText { consent_days: 30, ..text() }));
    }
}
