//! The policy: all that a visitor is told before choosing, and the hash that names it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sqlx::PgConnection;

use super::store;
use super::terms::{Channel, ControllerType, Purpose};
use crate::error::{Error, Result};
use crate::ids::PixelId;
use crate::pixels::SiteHost;

/// The wording of our own sentences around the integrator's. A new number is for new sentences
/// that change what visitors are told; policies published before keep theirs, so that an upgrade
/// of the service asks nobody again.
pub const CURRENT_WORDING: u32 = 1;

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Controller {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: ControllerType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jurisdiction: Option<String>,
}

/// What a visitor is told. Its canonical JSON is stored and hashed, so the order and the names of
/// the fields are part of every published policy and must not change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyText {
    pub controller: Controller,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_version: Option<String>,
    /// Sorted by name, each once, at least one.
    pub purposes: Vec<Purpose>,
    pub data_sharing: bool,
    /// Sorted by name, each once.
    pub contact_channels: Vec<Channel>,
    pub disclosed_parties: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site_policy_url: Option<String>,
    pub wording: u32,
}

impl PolicyText {
    /// Canonical JSON (RFC 8785).
    pub fn canonical(&self) -> Result<String> {
        serde_json_canonicalizer::to_string(self).map_err(Error::internal)
    }

    fn says_the_same_as(&self, other: &Self) -> bool {
        let reworded = Self { wording: self.wording, ..other.clone() };
        *self == reworded
    }
}

/// A published version of a pixel's policy.
#[derive(Clone, Debug)]
pub struct Policy {
    pub version: i32,
    /// Lowercase hex SHA-256 of the canonical text.
    pub hash: String,
    pub text: PolicyText,
    pub domain: SiteHost,
    pub published_at: DateTime<Utc>,
}

impl Policy {
    pub fn covers(&self, purpose: Purpose) -> bool {
        self.text.purposes.contains(&purpose)
    }
}

/// Whether a text can be a policy's hash: 64 lowercase hex digits.
pub fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// What saving a text makes of a pixel's policy.
pub struct Revision {
    pub policy: Policy,
    /// The canonical text of a new version; `None` when the current policy says the same.
    document: Option<String>,
}

impl Revision {
    /// Whether visitors who have chosen already are asked again.
    pub fn asks_again(&self) -> bool {
        self.document.is_some() && self.policy.version > 1
    }
}

/// Compares the text with the pixel's policy: the same text keeps its version, another one gets
/// the next. Stores nothing.
pub async fn revise(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    pixel_id: &PixelId,
    domain: &SiteHost,
    text: PolicyText,
) -> Result<Revision> {
    let current = store::find_current_policy(connection, pixel_id).await?;
    let version = match current {
        Some(policy) if policy.text.says_the_same_as(&text) => {
            return Ok(Revision { policy, document: None });
        }
        Some(policy) => policy.version + 1,
        None => 1,
    };
    let document = text.canonical()?;
    let hash = hex::encode(Sha256::digest(&document));
    let policy = Policy { version, hash, text, domain: domain.clone(), published_at: now };
    Ok(Revision { policy, document: Some(document) })
}

/// Publishes the text as the pixel's policy. The pixel's row must be locked by the caller.
pub async fn publish(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    pixel_id: &PixelId,
    domain: &SiteHost,
    text: PolicyText,
) -> Result<Revision> {
    let revision = revise(connection, now, pixel_id, domain, text).await?;
    if let Some(document) = &revision.document {
        store::insert_policy(connection, pixel_id, &revision.policy, document).await?;
    }
    Ok(revision)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> PolicyText {
        PolicyText {
            controller: Controller {
                name: "Café".to_owned(),
                kind: ControllerType::Company,
                contact: None,
                jurisdiction: Some("EU".to_owned()),
            },
            rule_version: None,
            purposes: vec![Purpose::Analytics, Purpose::Resolution],
            data_sharing: false,
            contact_channels: vec![Channel::Email],
            disclosed_parties: vec![],
            site_policy_url: None,
            wording: 1,
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
    }

    #[test]
    fn only_a_new_wording_is_no_new_policy() {
        let reworded = PolicyText { wording: 2, ..text() };
        assert!(text().says_the_same_as(&reworded));
        assert!(!text().says_the_same_as(&PolicyText { data_sharing: true, ..text() }));
    }
}
