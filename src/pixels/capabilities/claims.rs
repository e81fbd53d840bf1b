//! What can be asked for about hosts that another account has.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Operates;
use crate::accounts::tool::Tool;
use crate::error::Error::*;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::claims::claim::{self, ClaimView, OpenedClaim};
use crate::pixels::input::PixelRequest;
use crate::pixels::view::PixelView;

/// A host that another account has is claimed for the site's owner.
pub struct ClaimHost;

impl Capability for ClaimHost {
    const NAME: &'static str = "claim_host";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.described(
        "Claims a host that another account has, for the site's owner. Prove it with the TXT \
         record `_assent.{domain}` whose value is `token`, or with `snippet` on the home page; \
         then `verify_claim`.",
    ));
    type Part = Infra;
    type Access = GoodStanding<Operates>;
    type Input = PixelRequest;
    type Output = OpenedClaim;

    fn refusals() -> Vec<Error> {
        let own = [DomainRegistered, HostIsYours, PixelWorking, ClaimAllowanceReached];
        PixelRequest::refusals().into_iter().chain(own).collect()
    }

    async fn run(infra: &Infra, caller: Caller, request: PixelRequest) -> Result<OpenedClaim> {
        let host = request.host(infra)?;
        claim::open(infra, &caller, host).await
    }
}

/// A claim by its token.
#[derive(Deserialize, JsonSchema)]
pub struct OfClaim {
    /// The claim's token, as `claim_host` gave it.
    pub token: String,
}

/// A claim is looked at again. Only the console asks: over HTTP and through tools the answer to
/// `claim_host` has all of it.
pub struct ShowClaim;

impl Capability for ShowClaim {
    const NAME: &'static str = "show_claim";
    type Part = Infra;
    type Access = GoodStanding<Operates>;
    type Input = OfClaim;
    type Output = ClaimView;

    fn refusals() -> Vec<Error> {
        vec![ClaimNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, OfClaim { token }: OfClaim) -> Result<ClaimView> {
        claim::show(infra, caller.account_id(), &token).await
    }
}

/// A claim is proven, and its host's pixel changes hands.
pub struct VerifyClaim;

impl Capability for VerifyClaim {
    const NAME: &'static str = "verify_claim";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.idempotent().open_world().described(
        "Looks for the proof of a claim and, if it is there, gives the account the host's \
         pixel. The other account's pixel is deleted, unless it is working. `claim not proven`: \
         wait for the DNS, or publish the page, and call again.",
    ));
    type Part = Infra;
    type Access = GoodStanding<Operates>;
    type Input = OfClaim;
    type Output = PixelView;

    fn refusals() -> Vec<Error> {
        vec![
            ClaimNotFound,
            ClaimNotProven,
            PixelWorking,
            DomainRegistered,
            PixelAllowanceReached { remaining: 0 },
            InstallCheckerOff,
            TooManyRequests { retry_after: 6 },
            Busy { retry_after: 5 },
        ]
    }

    async fn run(infra: &Infra, caller: Caller, OfClaim { token }: OfClaim) -> Result<PixelView> {
        let pixel = claim::verify(infra, &caller, &token).await?;
        Ok(PixelView::of(pixel, infra.base_url()))
    }
}
