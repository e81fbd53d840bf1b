use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::pixel::{InstallStatus, Pixel};
use super::snippets::snippet;
use crate::clock::Timestamp;
use crate::types::host::SiteHost;
use crate::types::ids::PixelId;

/// A pixel as its owner sees it.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct PixelView {
    pub pixel_id: PixelId,
    /// `test_` and the id, for localhost.
    pub test_pixel_id: PixelId,
    pub domain: SiteHost,
    pub install_status: InstallStatus,
    /// When the install was last checked; null before the first check.
    #[schema(required = true)]
    pub checked_at: Option<Timestamp>,
    /// HTML to paste into the site: the consent tag where consent is on, else the immediate pixel.
    pub snippet: String,
    /// The consent tag for localhost.
    pub test_snippet: String,
    pub consent_enabled: bool,
    /// What failed when the last check could not read the page.
    #[schema(required = true)]
    pub check_error: Option<String>,
}

impl PixelView {
    /// Describes a pixel. The snippet to paste is the consent tag where consent is on, else the immediate one.
    pub fn of(pixel: Pixel, base_url: &str) -> Self {
        Self {
            snippet: snippet::current(&pixel, base_url),
            test_snippet: snippet::test_tag(&pixel.pixel_id, base_url),
            test_pixel_id: pixel.pixel_id.test_id(),
            pixel_id: pixel.pixel_id,
            domain: pixel.domain,
            install_status: pixel.install_status,
            checked_at: pixel.checked_at.map(Timestamp),
            consent_enabled: pixel.consent_enabled,
            check_error: pixel.check_error,
        }
    }
}

/// A pixel in a list.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct PixelSummary {
    pub pixel_id: PixelId,
    /// `test_` and the id.
    pub test_pixel_id: PixelId,
    pub domain: SiteHost,
    pub install_status: InstallStatus,
    /// When the install was last checked; null before the first check.
    #[schema(required = true)]
    pub checked_at: Option<Timestamp>,
}

/// The account's pixels, oldest first.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct PixelList {
    pub pixels: Vec<PixelSummary>,
}

impl From<Vec<Pixel>> for PixelList {
    fn from(pixels: Vec<Pixel>) -> Self {
        Self { pixels: pixels.into_iter().map(PixelSummary::from).collect() }
    }
}

impl From<Pixel> for PixelSummary {
    fn from(pixel: Pixel) -> Self {
        Self {
            test_pixel_id: pixel.pixel_id.test_id(),
            pixel_id: pixel.pixel_id,
            domain: pixel.domain,
            install_status: pixel.install_status,
            checked_at: pixel.checked_at.map(Timestamp),
        }
    }
}
