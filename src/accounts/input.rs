use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use super::scope::Scope;
use super::signup::link_token;
use crate::error::{Error, Result};
use crate::types::ids::AccountId;
use crate::types::ids::id_param::IdParam;
use crate::types::parameter::wrong_kind;

/// An account by its id.
#[derive(Deserialize, JsonSchema)]
pub struct OfAccount {
    pub account_id: IdParam<AccountId>,
}

impl OfAccount {
    pub fn id(self) -> Result<AccountId> {
        self.account_id.into_id().ok_or(Error::AccountNotFound)
    }
}

/// What is asked of an account.
#[derive(Deserialize, JsonSchema)]
pub struct OnAccount<T> {
    pub account_id: IdParam<AccountId>,
    #[serde(flatten)]
    pub input: T,
}

/// Either link of a confirmation mail.
#[derive(Deserialize, JsonSchema)]
pub struct OfLink {
    /// The `verification_url` of an answer, or the link of the confirmation mail.
    pub verification_url: String,
}

impl OfLink {
    pub fn token(&self) -> Result<String> {
        link_token::of_link(&self.verification_url)
    }
}

/// An API key by its prefix.
#[derive(Deserialize, JsonSchema)]
pub struct OfKey {
    /// The key's first 12 characters, as `list_api_keys` gives them.
    pub prefix: String,
}

/// What a member may do from now on.
#[derive(Deserialize, JsonSchema)]
pub struct OnMember {
    pub member_id: IdParam<Uuid>,
    pub role: Scope,
    /// The only pixels that the member may use, 1 to 100. They stay when left out; the role `full` has all.
    pub pixels: Option<Vec<String>>,
    /// True for all pixels of the account.
    pub all_pixels: Option<bool>,
    /// The six digits that were mailed for `keys`.
    #[schemars(with = "String")]
    pub code: Option<String>,
}

/// Who is to be a member no longer.
#[derive(Deserialize, JsonSchema)]
pub struct Removal {
    pub member_id: IdParam<Uuid>,
    /// Whether the keys end that the member made, and those that were made with them; they stay when left
    /// out.
    pub revoke_keys: Option<bool>,
}

pub fn wrong_revoke_keys() -> Error {
    wrong_kind("revoke_keys", "must be true or false", "bool_parsing")
}
