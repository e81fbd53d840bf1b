//! The data shown to a visitor when making a choice. They are stored with the receipt but not signed.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

/// A SHA-256.
pub type Digest = [u8; 32];

/// What the browser says it showed, in hashes of what the service has published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema, ToSchema)]
pub struct Shown {
    /// Of the popup.
    #[schema(example = "en")]
    pub language: String,
    /// SHA-256 of the notice as plain text in that language, 64 lowercase hex digits; null when
    /// another version of it was shown than the receipt names.
    #[serde(serialize_with = "as_hex")]
    #[schema(value_type = Option<String>, required = true, pattern = "^[0-9a-f]{64}$")]
    #[schemars(with = "Option<String>")]
    pub notice: Option<Digest>,
    /// SHA-256 of the consent tag with `__ASSENT_CONFIG__` in place of its configuration, 64
    /// lowercase hex digits; null for a script that no node has served.
    #[serde(serialize_with = "as_hex")]
    #[schema(value_type = Option<String>, required = true, pattern = "^[0-9a-f]{64}$")]
    #[schemars(with = "Option<String>")]
    pub script: Option<Digest>,
}

/// A build of the consent tag.
#[derive(Clone, Copy, Debug)]
pub struct Build {
    /// The script's own name for it.
    pub name: &'static str,
    pub sha256: Digest,
}

fn as_hex<S: Serializer>(digest: &Option<Digest>, serializer: S) -> Result<S::Ok, S::Error> {
    digest.map(hex::encode).serialize(serializer)
}
