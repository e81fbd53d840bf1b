use chrono::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::claim::{find, lock_owner, refuse_if_at_work};
use super::evidence;
use crate::accounts::access::{AllSites, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Operates;
use crate::accounts::tool::Tool;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::idempotency;
use crate::infra::Infra;
use crate::infra::secret_hash::secret_hash;
use crate::pixels::input::{OfClaim, PixelRequest};
use crate::pixels::snippets::snippet;
use crate::pixels::store;
use crate::types::host::SiteHost;
use crate::types::ids::{PixelId, random_text};

/// Period in which a claim can be proven.
const LIFE: Duration = Duration::days(7);
const MOST_OPEN: i64 = 10;

/// What has to be done to prove a claim.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct OpenedClaim {
    /// The claim, shown once. As the TXT record `_assent.{domain}` it proves it.
    pub token: String,
    #[schema(example = "shop.example")]
    pub domain: SiteHost,
    /// The id that the pixel gets once the claim is proven.
    pub pixel_id: PixelId,
    /// HTML that proves the claim on the site's home page: the consent tag of that pixel, which loads
    /// nothing before consent is on.
    pub snippet: String,
    /// In seven days.
    pub expires_at: Timestamp,
}

/// Opens a claim. Claiming the same host again gives the claim a new token and another seven days.
pub struct ClaimHost;

impl Capability for ClaimHost {
    const NAME: &'static str = "claim_host";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.described(
        "Claim a host",
        "Claims a host that another account has, for the site's owner. Prove it with the TXT \
         record `_assent.{domain}` whose value is `token`, or with `snippet` on the home page; \
         then `verify_claim`.",
    ));
    type Service = Infra;
    type Access = AllSites<Operates>;
    type Input = PixelRequest;
    type Output = OpenedClaim;

    fn refusals() -> Vec<Error> {
        let own = [
            Error::DomainRegistered,
            Error::HostIsYours,
            Error::PixelWorking,
            Error::ClaimAllowanceReached,
        ];
        PixelRequest::refusals().into_iter().chain(own).collect()
    }

    async fn run(infra: &Infra, caller: Caller, request: PixelRequest) -> Result<OpenedClaim> {
        let host = request.host(&infra.base_host())?;
        let now = infra.clock.now();
        let token = format!("cl_{}", random_text(43));
        let expires_at = now + LIFE;
        refuse_if_at_work(infra, &caller, &host).await?;
        let mut transaction = infra.pool.begin().await?;
        let owner = lock_owner(&mut transaction, caller.account_id()).await?;
        let holder = store::find_pixel_by_host(&mut transaction, &host).await?;
        if holder.as_ref().is_some_and(|pixel| pixel.account_id == owner.account_id) {
            return Err(Error::HostIsYours);
        }
        let keeper = store::moves::find_owner_of_former_host(&mut transaction, &host, now).await?;
        if keeper.is_some_and(|keeper| keeper == owner.account_id) {
            return Err(Error::HostIsYours);
        }
        let open =
            store::claims::count_open_claims(&mut transaction, &owner.account_id, &host, now)
                .await?;
        if open >= MOST_OPEN {
            return Err(Error::ClaimAllowanceReached);
        }
        let pixel_id = store::claims::upsert_claim(
            &mut transaction,
            &owner.account_id,
            &host,
            &secret_hash(&token),
            &PixelId::random(),
            expires_at,
            now,
        )
        .await?;
        let opened = OpenedClaim {
            token,
            domain: host,
            snippet: snippet::consent_tag(&pixel_id, infra.base_url()),
            pixel_id,
            expires_at: Timestamp(expires_at),
        };
        idempotency::keep(&infra.answer_encryptor, &mut transaction, Some(201), &opened).await?;
        transaction.commit().await?;
        let (account_id, pixel_id) = (&owner.account_id, &opened.pixel_id);
        tracing::info!(%account_id, %pixel_id, "host claimed");
        Ok(opened)
    }
}

/// A claim as its owner sees it while it is being proven.
pub struct ClaimView {
    pub domain: SiteHost,
    pub pixel_id: PixelId,
    /// The name of the TXT record whose value is the token.
    pub record_name: String,
    pub snippet: String,
    pub expires_at: Timestamp,
    /// It was proven, and the pixel made.
    pub is_taken: bool,
}

pub struct ShowClaim;

impl Capability for ShowClaim {
    const NAME: &'static str = "show_claim";
    type Service = Infra;
    type Access = AllSites<Operates>;
    type Input = OfClaim;
    type Output = ClaimView;

    fn refusals() -> Vec<Error> {
        vec![Error::ClaimNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, OfClaim { token }: OfClaim) -> Result<ClaimView> {
        let owner = caller.account_id();
        let mut connection = infra.pool.acquire().await?;
        let claim = find(&mut connection, owner, &token, infra.clock.now()).await?;
        Ok(ClaimView {
            record_name: evidence::record_name(claim.domain.as_str()),
            snippet: snippet::consent_tag(&claim.pixel_id, infra.base_url()),
            domain: claim.domain,
            pixel_id: claim.pixel_id,
            expires_at: Timestamp(claim.expires_at),
            is_taken: claim.taken_at.is_some(),
        })
    }
}
