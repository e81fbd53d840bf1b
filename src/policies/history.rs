use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgPool;
use utoipa::ToSchema;

use super::appearance::Appearance;
use super::configuration::policy_url;
use super::policy::{Policy, PolicyText};
use super::store;
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::accounts::tool::Tool;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::input::OfPixel;
use crate::pixels::{self, test_hosts};
use crate::types::consent::{Channel, ControllerType, Purpose};
use crate::types::host::SiteHost;
use crate::types::ids::{PixelId, PixelRef};

/// Maximum number of listed versions. Their total size is limited by [`MAX_BYTES`].
const MAX_VERSIONS: i64 = 100;
const MAX_BYTES: i64 = 1 << 20;

/// How a pixel asks.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct ConsentConfiguration {
    pub pixel_id: PixelId,
    pub consent_enabled: bool,
    /// Whether contacts are only stored with a `visitor_id`.
    pub contacts_need_consent: bool,
    /// Whether contacts are only stored with a `visitor_id` whose acceptance a person made.
    pub contacts_need_act: bool,
    /// Hosts besides localhost for the test id.
    pub test_hosts: Vec<SiteHost>,
    /// Whether a choice on one subdomain counts on all of them.
    pub share_subdomains: bool,
    /// How the popup looks; null while nothing was said of it.
    #[schema(required = true)]
    pub appearance: Option<Appearance>,
    /// What visitors were told, the newest first, at most 100 and at most 1 MiB of texts. The first is
    /// in force while consent is on.
    pub versions: Vec<PolicyVersionView>,
}

/// A version of what visitors are told, in the fields in which it was sent.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct PolicyVersionView {
    pub policy_version: i32,
    pub policy_hash: String,
    /// Where this version is read.
    pub policy_url: String,
    pub published_at: Timestamp,
    pub controller_name: String,
    pub controller_type: ControllerType,
    #[schema(required = true)]
    pub controller_contact: Option<String>,
    #[schema(required = true)]
    pub controller_jurisdiction: Option<String>,
    #[schema(required = true)]
    pub controller_address: Option<String>,
    #[schema(required = true)]
    pub rule_version: Option<String>,
    pub purposes: Vec<Purpose>,
    pub data_sharing: bool,
    pub contact_channels: Vec<Channel>,
    pub disclosed_parties: Vec<String>,
    #[schema(required = true)]
    pub site_policy_url: Option<String>,
    pub consent_days: i32,
    pub personal_data: Vec<String>,
    pub storage_places: Vec<String>,
    #[schema(required = true)]
    pub retention: Option<String>,
}

impl PolicyVersionView {
    fn of(base_url: &str, pixel_id: &PixelId, policy: Policy) -> Self {
        let Policy { version, hash, text, published_at, .. } = policy;
        let PolicyText { controller, .. } = text;
        Self {
            policy_version: version,
            policy_url: format!("{}?hash={hash}", policy_url(base_url, pixel_id)),
            policy_hash: hash,
            published_at: Timestamp(published_at),
            controller_name: controller.name,
            controller_type: controller.kind,
            controller_contact: controller.contact,
            controller_jurisdiction: controller.jurisdiction,
            controller_address: controller.address,
            rule_version: text.rule_version,
            purposes: text.purposes,
            data_sharing: text.data_sharing,
            contact_channels: text.contact_channels,
            disclosed_parties: text.disclosed_parties,
            site_policy_url: text.site_policy_url,
            consent_days: text.consent_days,
            personal_data: text.personal_data,
            storage_places: text.storage_places,
            retention: text.retention,
        }
    }
}

/// A version of a pixel's policy. The caller must have checked the access to the pixel.
pub async fn find_policy(
    pool: &PgPool,
    pixel_id: &PixelId,
    version: i32,
) -> Result<Option<Policy>> {
    let mut connection = pool.acquire().await?;
    let rows = store::list_policies(&mut connection, pixel_id, version - 1, 1, 1).await?;
    let row = rows.into_iter().next().filter(|row| row.version == version);
    row.map(Policy::try_from).transpose()
}

pub async fn find_version(
    pool: &PgPool,
    base_url: &str,
    pixel_id: &PixelId,
    version: i32,
) -> Result<Option<PolicyVersionView>> {
    let policy = find_policy(pool, pixel_id, version).await?;
    Ok(policy.map(|policy| PolicyVersionView::of(base_url, pixel_id, policy)))
}

/// How the caller's pixel asks.
pub struct ReadConsentConfiguration;

impl Capability for ReadConsentConfiguration {
    const NAME: &'static str = "read_consent_configuration";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Read the consent configuration",
        "How a pixel asks: the settings of its consent, and the versions of its notice.",
    ));
    type Service = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = OfPixel;
    type Output = ConsentConfiguration;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OfPixel { pixel_id }: OfPixel,
    ) -> Result<ConsentConfiguration> {
        let pixel = pixels::setup::find_for(&infra.pool, &caller, &pixel_id).await?;
        let pixel_id = &pixel.pixel_id;
        let mut connection = infra.pool.acquire().await?;
        let name = PixelRef::from(pixel_id.to_string());
        let site = store::find_site(&mut connection, &name).await?;
        let appearance = site.and_then(|site| site.appearance);
        let rows =
            store::list_newest_policies(&mut connection, pixel_id, MAX_VERSIONS, MAX_BYTES).await?;
        let view = |row| {
            Policy::try_from(row).map(|it| PolicyVersionView::of(infra.base_url(), pixel_id, it))
        };
        Ok(ConsentConfiguration {
            consent_enabled: pixel.consent_enabled,
            contacts_need_consent: pixel.contacts_need_consent,
            contacts_need_act: pixel.contacts_need_act,
            test_hosts: test_hosts::list(&mut connection, pixel_id).await?,
            share_subdomains: pixel.share_subdomains,
            appearance: appearance
                .map(serde_json::from_value)
                .transpose()
                .map_err(Error::internal)?,
            versions: rows.into_iter().map(view).collect::<Result<_>>()?,
            pixel_id: pixel.pixel_id,
        })
    }
}
