use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::types::device::Device;
use crate::types::ids::PixelId;

/// A picture of the popup of a policy version.
#[derive(Clone, Debug, Serialize, JsonSchema, ToSchema)]
pub struct ScreenshotView {
    pub screenshot_id: Uuid,
    pub policy_version: i32,
    pub policy_hash: String,
    /// SHA-256 of the consent tag in the picture, lowercase hex: `shown.script` of a choice.
    pub script: String,
    /// SHA-256 of the notice in this language, lowercase hex: `shown.notice` of a choice.
    pub notice: String,
    #[schema(example = "en")]
    pub language: String,
    pub device: Device,
    /// When the popup was configured as the picture shows it.
    pub configured_at: Timestamp,
    pub taken_at: Timestamp,
    /// SHA-256 of the picture, lowercase hex.
    pub sha256: String,
    /// SHA-256 of the list of all pictures of this form of the popup, lowercase hex.
    pub list_sha256: String,
    /// The entry of the public log that has `list_sha256`; null until it is added.
    #[schema(required = true)]
    pub log_entry: Option<i64>,
}

/// A page of a pixel's screenshots, newest first.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct ScreenshotPage {
    pub pixel_id: PixelId,
    pub screenshots: Vec<ScreenshotView>,
    /// The next `before`; null after the last page.
    #[schema(required = true)]
    pub next_before: Option<Uuid>,
}
