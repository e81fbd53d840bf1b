use schemars::JsonSchema;
use serde::Deserialize;
use sqlx::PgConnection;
use utoipa::ToSchema;

use super::changes::{lock, record, sites_of};
use super::member_view::MemberView;
use super::{invitation, membership_end};
use crate::accounts::access::{Caller, KeyHolder};
use crate::accounts::account::Account;
use crate::accounts::capability::Capability;
use crate::accounts::codes::account_code_order;
use crate::accounts::codes::account_code_order::prove_own;
use crate::accounts::codes::code_purpose::CodePurpose;
use crate::accounts::event::ActivityKind;
use crate::accounts::limits::mailbox;
use crate::accounts::recheck::recheck;
use crate::accounts::scope::{Governs, Scope};
use crate::accounts::site_choice;
use crate::accounts::store::{self, StoredMember};
use crate::accounts::tool::Tool;
use crate::error::{Error, Result, missing_field};
use crate::idempotency;
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::types::email::Email;
use crate::types::ids::{PixelId, uuid_v7};
use crate::types::text::present;

pub const MAX_MEMBERS: i64 = 5;

/// Who is to be a member.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct Invitation {
    #[schemars(with = "String")]
    #[schema(value_type = String, format = Email, example = "bob@shop.example")]
    pub email: Option<String>,
    /// What the member may do.
    pub role: Scope,
    /// The only pixels that the member may use, 1 to 100; all when left out. Not with the role `full`.
    #[schema(value_type = Option<Vec<PixelId>>)]
    pub pixels: Option<Vec<String>>,
    /// The six digits that were mailed for `keys`.
    #[schemars(with = "String")]
    #[schema(value_type = String, pattern = "\\S", example = "042137")]
    pub code: Option<String>,
}

/// Makes an address a member and tells it by mail. When the mail server refuses the mail, nobody has
/// become a member.
pub struct InviteMember;

impl Capability for InviteMember {
    const NAME: &'static str = "invite_member";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.open_world().described(
        "Invite a member",
        "Makes somebody a member, who is told by mail and signs in at the console. Needs a code \
         for `keys` from `order_code`.",
    ));
    const LIMIT: Option<Limit> = Some(Limit::Mails);
    type Service = Infra;
    type Access = KeyHolder<Governs>;
    type Input = Invitation;
    type Output = MemberView;

    fn refusals() -> Vec<Error> {
        let own = [
            Error::InvalidEmail,
            Error::AlreadyMember,
            Error::MemberAllowanceReached,
            Error::InvitationFailed,
            Error::PixelNotFound,
            Error::TooManyRequests { retry_after: 20 },
            missing_field("role"),
            site_choice::wrong_number(),
            site_choice::admin_of_some(),
        ];
        own.into_iter().chain(account_code_order::refusals()).collect()
    }

    async fn run(infra: &Infra, caller: Caller, invitation: Invitation) -> Result<MemberView> {
        let email = Email::required(invitation.email.as_deref())?;
        let (account_id, now) = (caller.account_id(), infra.clock.now());
        let mut transaction = infra.pool.begin().await?;
        let account = lock(&mut transaction, account_id).await?;
        recheck(&mut transaction, now, &caller).await?;
        let pixels = invitation.pixels.as_deref();
        let sites = sites_of(&mut transaction, account_id, invitation.role, pixels).await?;
        admit(&mut transaction, &account, &email).await?;
        let code = present(invitation.code.as_deref());
        let (outbox, clock) = (&infra.outbox, &infra.clock);
        let verdict =
            prove_own(&mut transaction, outbox, clock, &caller, CodePurpose::Keys, code).await?;
        if let Err(error) = verdict {
            // The wrong try is counted even though the request fails.
            transaction.commit().await?;
            return Err(error);
        }
        let stored = StoredMember {
            member_id: uuid_v7(now),
            account_id: account_id.clone(),
            email: email.as_str().to_owned(),
            role: invitation.role,
            sites,
            created_at: now,
        };
        store::insert_member(&mut transaction, &stored).await?;
        record(&mut transaction, &caller, now, ActivityKind::MemberInvited, &stored).await?;
        let too_many = |retry_after| Error::TooManyRequests { retry_after };
        mailbox::admit(&mut transaction, &infra.outbox, now, &email, too_many).await?;
        let mail =
            invitation::put(&mut transaction, &infra.outbox, &caller, stored.member_id).await?;
        let invited = MemberView::from(stored.clone());
        let status = mail.is_none().then_some(201);
        idempotency::keep(&infra.answer_encryptor, &mut transaction, status, &invited).await?;
        transaction.commit().await?;
        if invitation::attempt(infra, mail.as_ref()).await? {
            return Ok(invited);
        }
        let mut transaction = infra.pool.begin().await?;
        let account = lock(&mut transaction, account_id).await?;
        membership_end::end(&mut transaction, &account, &stored.email, None).await?;
        store::delete_member(&mut transaction, account_id, stored.member_id).await?;
        mailbox::give_back(&mut transaction, &email).await?;
        record(&mut transaction, &caller, infra.clock.now(), ActivityKind::MemberRemoved, &stored)
            .await?;
        idempotency::take_back(&mut transaction).await?;
        transaction.commit().await?;
        Err(Error::InvitationFailed)
    }
}

async fn admit(connection: &mut PgConnection, account: &Account, email: &Email) -> Result<()> {
    let account_id = &account.account_id;
    let is_member = account.email == email.as_str()
        || store::find_member(connection, account_id, email.as_str()).await?.is_some();
    if is_member {
        return Err(Error::AlreadyMember);
    }
    let stored = store::list_members(connection, account_id).await?.len();
    match i64::try_from(stored).map_err(Error::internal)? + 1 >= MAX_MEMBERS {
        true => Err(Error::MemberAllowanceReached),
        false => Ok(()),
    }
}
