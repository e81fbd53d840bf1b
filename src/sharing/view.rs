use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::types::ids::PixelId;

/// A link that works, without its secret.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct SharedLinkView {
    /// The first 12 characters of the token.
    #[schema(example = "sh_3vTqYb0wK")]
    pub prefix: String,
    /// A member's address, the prefix of a key, the grant of an app, or `operator`.
    pub made_by: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// A pixel's links that work, oldest first.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct SharedLinkList {
    pub pixel_id: PixelId,
    pub shared_links: Vec<SharedLinkView>,
}

/// A new link as its caller reads it, this once.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct NewSharedLink {
    #[serde(flatten)]
    pub link: SharedLinkView,
    /// The secret, `sh_` and 43 letters and digits.
    pub token: String,
    /// The page that shows the overview to whoever has this address.
    pub url: String,
}
