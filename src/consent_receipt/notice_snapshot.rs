//! The data shown to a visitor who made a choice. They are stored with the receipt but not signed.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use super::user_action::{Act, Seen, UserAction};

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
    #[serde(flatten)]
    pub action: UserAction,
}

/// The same in the form of the leaf of the log, with sorted names. Parts of the user action that
/// were not reported are left out, so earlier statements keep their form.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct StatedShown<'a> {
    /// As in `Shown`; left out if it was not reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    act: Option<Act>,
    /// As in `Shown`; left out if it was not reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    automated: Option<bool>,
    /// Of the popup.
    language: &'a str,
    /// As in `Shown`.
    #[serde(serialize_with = "as_hex")]
    #[schema(value_type = Option<String>, required = true, pattern = "^[0-9a-f]{64}$")]
    #[schemars(with = "Option<String>")]
    notice: Option<Digest>,
    /// As in `Shown`.
    #[serde(serialize_with = "as_hex")]
    #[schema(value_type = Option<String>, required = true, pattern = "^[0-9a-f]{64}$")]
    #[schemars(with = "Option<String>")]
    script: Option<Digest>,
    /// As in `Shown`; left out if it was not reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<Seen>,
}

impl<'a> From<&'a Shown> for StatedShown<'a> {
    fn from(shown: &'a Shown) -> Self {
        let UserAction { act, seen, automated } = shown.action;
        let Shown { language, notice, script, .. } = shown;
        Self { act, automated, language, notice: *notice, script: *script, seen }
    }
}

pub fn as_stated<S: Serializer>(shown: &Option<Shown>, serializer: S) -> Result<S::Ok, S::Error> {
    shown.as_ref().map(StatedShown::from).serialize(serializer)
}

#[derive(Clone, Copy, Debug)]
pub struct Build {
    /// The name by which the script reports its build.
    pub name: &'static str,
    pub sha256: Digest,
}

fn as_hex<S: Serializer>(digest: &Option<Digest>, serializer: S) -> Result<S::Ok, S::Error> {
    digest.map(hex::encode).serialize(serializer)
}
