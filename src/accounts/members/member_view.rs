use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::accounts::account::Account;
use crate::accounts::scope::Scope;
use crate::accounts::store::StoredMember;
use crate::clock::Timestamp;
use crate::types::ids::PixelId;

/// A member.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct MemberView {
    /// Null for the account's own address, which `PATCH /v1/account` changes.
    #[schema(required = true)]
    pub member_id: Option<Uuid>,
    pub email: String,
    pub role: Scope,
    /// The only pixels that the member may use; null for all of the account.
    #[schema(required = true, value_type = Option<Vec<PixelId>>)]
    pub pixels: Option<Vec<String>>,
    pub created_at: Timestamp,
}

impl From<StoredMember> for MemberView {
    fn from(stored: StoredMember) -> Self {
        let (member_id, created_at) = (Some(stored.member_id), Timestamp(stored.created_at));
        let pixels = stored.sites.listed().map(<[String]>::to_vec);
        Self { member_id, email: stored.email, role: stored.role, pixels, created_at }
    }
}

impl MemberView {
    pub fn of_own_address(account: Account) -> Self {
        let created_at = Timestamp(account.created_at);
        let (email, role) = (account.email, Scope::Full);
        Self { member_id: None, email, role, pixels: None, created_at }
    }
}
