use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use crate::types::consent::Purpose;
use crate::types::host::SiteHost;
use crate::types::ids::PixelId;

/// The answer to a configuration.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct Configured {
    pub pixel_id: PixelId,
    /// Always true.
    pub consent_enabled: bool,
    /// Counts up with each change of the policy's text, from 1.
    pub policy_version: i32,
    /// SHA-256 of the policy's canonical JSON, 64 lowercase hex digits. Visitors accept this one.
    pub policy_hash: String,
    /// Where visitors read the policy.
    pub policy_url: String,
    /// HTML to paste into the site: the consent tag.
    pub snippet: String,
    /// Sorted by name.
    pub purposes: Vec<Purpose>,
    /// What was asked for and is no purpose.
    pub dropped_purposes: Vec<String>,
    /// For how many days a permission lasts.
    pub consent_days: i32,
    /// Whether contacts are only stored with a `visitor_id`.
    pub contacts_need_consent: bool,
    /// Whether contacts are only stored with a `visitor_id` whose acceptance a person made.
    pub contacts_need_act: bool,
    /// Hosts besides localhost for the test id.
    pub test_hosts: Vec<SiteHost>,
    /// Whether a choice on one subdomain counts on all of them.
    pub share_subdomains: bool,
}
