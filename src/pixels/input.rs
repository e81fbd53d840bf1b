use schemars::JsonSchema;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::error::{Error, Result, missing_field};
use crate::types::host::SiteHost;
use crate::types::ids::PixelParam;
use crate::types::text::present;

/// A pixel by its id.
#[derive(Clone, Deserialize, JsonSchema)]
pub struct OfPixel {
    pub pixel_id: PixelParam,
}

/// What is asked of a pixel.
#[derive(Deserialize, JsonSchema)]
pub struct OnPixel<T> {
    pub pixel_id: PixelParam,
    #[serde(flatten)]
    pub input: T,
}

/// The site that a pixel is for.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct PixelRequest {
    /// The site's host. A leading `https://` or `www.` is dropped; a path, port or address is
    /// refused.
    #[schemars(with = "String")]
    #[schema(value_type = String, pattern = "\\S", example = "shop.example")]
    pub domain: Option<String>,
    /// `cms`, `gtm` and `utm` are refused; every other word is accepted.
    pub method: Option<String>,
}

impl PixelRequest {
    pub fn refusals() -> [Error; 4] {
        [Error::DomainRequired, Error::DomainIsPage, Error::DomainNotHost, missing_field("domain")]
    }

    pub fn host(&self, own_host: &str) -> Result<SiteHost> {
        offered_method(self.method.as_deref())?;
        let domain = present(self.domain.as_deref()).ok_or(Error::DomainRequired)?;
        SiteHost::parse(domain, own_host)
    }
}

/// Refuses the install methods that are offered elsewhere; every other word is accepted.
pub fn offered_method(method: Option<&str>) -> Result<()> {
    match method.map(|method| method.trim().to_ascii_lowercase()).as_deref() {
        Some("cms" | "gtm" | "utm") => Err(Error::InstallMethodUnavailable),
        _ => Ok(()),
    }
}

/// A claim by its token.
#[derive(Deserialize, JsonSchema)]
pub struct OfClaim {
    /// The claim's token, as `claim_host` gave it.
    pub token: String,
}
