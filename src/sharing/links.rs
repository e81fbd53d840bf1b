use chrono::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::store::{self, NewLink};
use super::token::{PREFIX_LEN, Token};
use super::view::{NewSharedLink, SharedLinkList, SharedLinkView};
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::actor::Actor;
use crate::accounts::capability::Capability;
use crate::accounts::event::ActivityKind;
use crate::accounts::scope::{Governs, Oversees};
use crate::accounts::tool::Tool;
use crate::clock::Timestamp;
use crate::error::{BODY, Error, FieldError, Result};
use crate::idempotency;
use crate::infra::Infra;
use crate::infra::limits::per_account::AccountLimit;
use crate::pixels::input::{OfPixel, OnPixel};
use crate::pixels::lock_pixel;
use crate::pixels::setup::find_for;
use crate::types::ids::PixelParam;

const MAX_LINKS: i64 = 20;
pub const USUAL_DAYS: i64 = 30;
const MAX_DAYS: i64 = 365;

/// How long a new link works.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct SharedLinkRequest {
    /// Days until it expires; 30 when left out.
    #[schemars(range(min = 1, max = 365))]
    #[schema(minimum = 1, maximum = 365)]
    pub days: Option<i64>,
}

impl SharedLinkRequest {
    fn life(&self) -> Result<Duration> {
        match self.days.unwrap_or(USUAL_DAYS) {
            days @ 1..=MAX_DAYS => Ok(Duration::days(days)),
            _ => Err(wrong_days()),
        }
    }
}

fn wrong_days() -> Error {
    let problem = FieldError::new(&[BODY, "days"], "must be from 1 to 365", "value_error");
    Error::Validation(vec![problem])
}

/// Makes a link that shows a site's overview to whoever has it.
pub struct CreateSharedLink;

impl Capability for CreateSharedLink {
    const NAME: &'static str = "create_shared_link";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.described(
        "Create a shared link",
        "Makes a link that shows the site's numbers, read-only, to whoever has it. Shown once.",
    ));
    type Service = Infra;
    type Access = ActiveAccount<Governs>;
    type Input = OnPixel<SharedLinkRequest>;
    type Output = NewSharedLink;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, Error::SharedLinkAllowanceReached, wrong_days()]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OnPixel { pixel_id, input }: OnPixel<SharedLinkRequest>,
    ) -> Result<NewSharedLink> {
        let life = input.life()?;
        let pixel_id = find_for(&infra.pool, &caller, &pixel_id).await?.pixel_id;
        let mut transaction = infra.pool.begin().await?;
        let pixel = lock_pixel(&mut transaction, &pixel_id).await?.ok_or(Error::PixelNotFound)?;
        let now = infra.clock.now();
        if store::count_links(&mut transaction, &pixel_id, now).await? >= MAX_LINKS {
            return Err(Error::SharedLinkAllowanceReached);
        }
        let (token, expires_at) = (Token::random(), now + life);
        let is_own = pixel.account_id == *caller.account_id();
        let maker = if is_own { &caller.actor } else { &Actor::Operator };
        let link = SharedLinkView {
            prefix: token.prefix().to_owned(),
            made_by: maker.to_string(),
            created_at: Timestamp(now),
            expires_at: Timestamp(expires_at),
        };
        let new = NewLink {
            token_hash: &token.hash(),
            pixel_id: &pixel_id,
            prefix: &link.prefix,
            made_by: &link.made_by,
            created_at: now,
            expires_at,
        };
        store::insert_link(&mut transaction, &new).await?;
        let (kind, subject) = (ActivityKind::SharedLinkCreated, Some(pixel_id.as_str()));
        caller.record(&mut transaction, now, &pixel.account_id, kind, subject).await?;
        let url = format!("{}/shared/{}", infra.base_url(), token.expose());
        let made = NewSharedLink { link, token: token.expose().to_owned(), url };
        idempotency::keep(&infra.answer_encryptor, &mut transaction, Some(201), &made).await?;
        transaction.commit().await?;
        Ok(made)
    }
}

/// Lists the links of a site that work.
pub struct ListSharedLinks;

impl Capability for ListSharedLinks {
    const NAME: &'static str = "list_shared_links";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "List shared links",
        "Lists the site's links that work: prefix, maker, creation and expiry.",
    ));
    type Service = Infra;
    type Access = ActiveAccount<Oversees>;
    type Input = OfPixel;
    type Output = SharedLinkList;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OfPixel { pixel_id }: OfPixel,
    ) -> Result<SharedLinkList> {
        let pixel_id = find_for(&infra.pool, &caller, &pixel_id).await?.pixel_id;
        let mut connection = infra.pool.acquire().await?;
        let mut shared_links = store::list_links(&mut connection, &pixel_id).await?;
        let now = infra.clock.now();
        shared_links.retain(|link| link.expires_at.0 > now);
        Ok(SharedLinkList { pixel_id, shared_links })
    }
}

/// A link of a pixel.
#[derive(Deserialize, JsonSchema)]
pub struct OfSharedLink {
    pub pixel_id: PixelParam,
    /// The link's first 12 characters, as `list_shared_links` gives them.
    pub prefix: String,
}

/// A link that has ended.
#[derive(Serialize, JsonSchema)]
pub struct RevokedSharedLink {
    prefix: String,
    /// Always true.
    revoked: bool,
}

/// Ends a link at once.
pub struct RevokeSharedLink;

impl Capability for RevokeSharedLink {
    const NAME: &'static str = "revoke_shared_link";
    const TOOL: Option<Tool> = Some(
        Tool::DESTRUCTIVE
            .described("Revoke a shared link", "Ends a shared link at once, for good."),
    );
    const ACCOUNT_LIMIT: AccountLimit = AccountLimit::Control;
    type Service = Infra;
    type Access = ActiveAccount<Governs>;
    type Input = OfSharedLink;
    type Output = RevokedSharedLink;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, Error::SharedLinkNotFound]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OfSharedLink { pixel_id, prefix }: OfSharedLink,
    ) -> Result<RevokedSharedLink> {
        let pixel = find_for(&infra.pool, &caller, &pixel_id).await?;
        if !is_prefix(&prefix) {
            return Err(Error::SharedLinkNotFound);
        }
        let mut transaction = infra.pool.begin().await?;
        let now = infra.clock.now();
        if !store::delete_link(&mut transaction, &pixel.pixel_id, &prefix, now).await? {
            return Err(Error::SharedLinkNotFound);
        }
        let (kind, subject) = (ActivityKind::SharedLinkRevoked, Some(pixel.pixel_id.as_str()));
        caller.record(&mut transaction, now, &pixel.account_id, kind, subject).await?;
        transaction.commit().await?;
        Ok(RevokedSharedLink { prefix, revoked: true })
    }
}

fn is_prefix(text: &str) -> bool {
    text.len() == PREFIX_LEN
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
