//! Claims, with which the owner of a host takes it from an account that created a pixel for it. A
//! claim takes effect once it is proven. It transfers a host only from a pixel that has no stronger
//! evidence (`evidence.rs`).

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::evidence::{self, Evidence, Proof};
use super::host_claim;
use crate::accounts::access::{AllSites, Caller};
use crate::accounts::account::Account;
use crate::accounts::actor::Actor;
use crate::accounts::capability::Capability;
use crate::accounts::demo::DEMO_ACCOUNT;
use crate::accounts::event::ActivityKind;
use crate::accounts::events;
use crate::accounts::lock_account;
use crate::accounts::scope::Operates;
use crate::accounts::tool::Tool;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::changes::Invalidation;
use crate::infra::outbox::ClaimedMail;
use crate::infra::secret_hash::secret_hash;
use crate::pixels::input::OfClaim;
use crate::pixels::install_check::slot_of;
use crate::pixels::pixel::Pixel;
use crate::pixels::store::claims::Claim;
use crate::pixels::store::moves::MovedPixel;
use crate::pixels::view::PixelView;
use crate::pixels::{notices, store};
use crate::types::host::SiteHost;
use crate::types::ids::{AccountId, PixelRef};

/// Maximum number of attempts when another account takes the host at the same moment.
const ATTEMPTS: usize = 5;

/// Looks for the proof of a claim. If it exists, the account gets a pixel for the host. For a claim
/// that has already taken effect, returns the pixel again.
pub async fn verify(infra: &Infra, caller: &Caller, token: &str) -> Result<Pixel> {
    let owner = caller.account_id();
    let claim = {
        let mut connection = infra.pool.acquire().await?;
        let claim = find(&mut connection, owner, token, infra.clock.now()).await?;
        if claim.taken_at.is_some() {
            return find_taken(&mut connection, owner, &claim).await;
        }
        let holder = store::find_pixel_by_host(&mut connection, &claim.domain).await?;
        if let Some(own) = holder.as_ref().filter(|pixel| pixel.account_id == *owner) {
            return Ok(own.clone());
        }
        refuse_if_reserved(&infra.base_host(), &claim.domain)?;
        claim
    };
    if !infra.config.install_check.enabled {
        return Err(Error::InstallCheckerOff);
    }
    let _slot = slot_of(&infra.fetch_slots, caller)?;
    let evidence = Evidence::collect(infra, &claim.domain).await?;
    let proof = evidence.proof(token, &claim.pixel_id).ok_or(Error::ClaimNotProven)?;
    take_effect(infra, caller, token, proof, &evidence).await
}

pub(super) async fn find(
    connection: &mut PgConnection,
    owner: &AccountId,
    token: &str,
    now: DateTime<Utc>,
) -> Result<Claim> {
    let claim = store::claims::find_claim(connection, owner, &secret_hash(token), now).await?;
    claim.ok_or(Error::ClaimNotFound)
}

async fn find_taken(
    connection: &mut PgConnection,
    owner: &AccountId,
    claim: &Claim,
) -> Result<Pixel> {
    let pixel = store::find_pixel(connection, owner, &claim.pixel_id).await?;
    pixel.ok_or(Error::ClaimNotFound)
}

fn refuse_if_reserved(base_host: &str, host: &SiteHost) -> Result<()> {
    match host_claim::is_reserved(host, base_host) {
        true => Err(Error::DomainRegistered),
        false => Ok(()),
    }
}

/// The pixel whose evidence a claim must exceed. A demo pixel never keeps its host.
fn rival(holder: Option<&Pixel>) -> Option<&Pixel> {
    holder.filter(|pixel| pixel.account_id.as_str() != DEMO_ACCOUNT)
}

/// Refuses a claim early if the host's pixel is known to work and its tag runs on the page now.
/// Everything else is decided when the claim is proven.
pub(super) async fn refuse_if_at_work(
    infra: &Infra,
    caller: &Caller,
    host: &SiteHost,
) -> Result<()> {
    refuse_if_reserved(&infra.base_host(), host)?;
    let pixel_id = {
        let mut connection = infra.pool.acquire().await?;
        let holder = store::find_pixel_by_host(&mut connection, host).await?;
        let others =
            rival(holder.as_ref()).filter(|pixel| pixel.account_id != *caller.account_id());
        let Some(pixel) = others else { return Ok(()) };
        let now = infra.clock.now();
        if !evidence::is_known_to_work(&mut connection, &pixel.pixel_id, now).await? {
            return Ok(());
        }
        pixel.pixel_id.clone()
    };
    let Ok(_slot) = slot_of(&infra.fetch_slots, caller) else { return Ok(()) };
    if !infra.config.install_check.enabled {
        return Ok(());
    }
    let Ok(evidence) = Evidence::collect(infra, host).await else { return Ok(()) };
    let mut connection = infra.pool.acquire().await?;
    match evidence.keeps(&mut connection, &pixel_id, Proof::Dns, infra.clock.now()).await? {
        true => Err(Error::PixelWorking),
        false => Ok(()),
    }
}

/// Replaces the host's pixel by the claimed one, and notifies the former owner. The state is evaluated
/// again under locks, because it may have changed during the search: first the account's lock, as
/// everywhere, then the other pixel's, which install checks and the storing of contacts take too.
async fn take_effect(
    infra: &Infra,
    caller: &Caller,
    token: &str,
    proof: Proof,
    evidence: &Evidence,
) -> Result<Pixel> {
    let owner = caller.account_id();
    let mut transaction = infra.pool.begin().await?;
    let account = lock_owner(&mut transaction, owner).await?;
    let now = infra.clock.now();
    let claim = find(&mut transaction, owner, token, now).await?;
    if claim.taken_at.is_some() {
        return find_taken(&mut transaction, owner, &claim).await;
    }
    let mut invalidation = Invalidation::none();
    let mut made = None;
    let mut loser = None;
    // Between check and insert another account may take the host again.
    for _ in 0..ATTEMPTS {
        loser = store::lock_pixel_by_host(&mut transaction, &claim.domain).await?;
        if let Some(own) = loser.as_ref().filter(|pixel| pixel.account_id == *owner) {
            return Ok(own.clone());
        }
        if let Some(pixel) = rival(loser.as_ref())
            && evidence.keeps(&mut transaction, &pixel.pixel_id, proof, now).await?
        {
            return Err(Error::PixelWorking);
        }
        if let Some(pixel) = &loser {
            store::delete_pixel(&mut transaction, &pixel.pixel_id).await?;
            invalidation.add_pixel(&pixel.pixel_id);
        } else {
            end_move(&mut transaction, &mut invalidation, owner, &claim.domain, evidence, now)
                .await?;
        }
        host_claim::check_allowance(&mut transaction, &account).await?;
        made = insert(&mut transaction, &mut invalidation, caller, &claim, now).await?;
        if made.is_some() {
            break;
        }
    }
    let pixel = made.ok_or(Error::PixelWorking)?;
    host_claim::record_created(&mut transaction, now, &caller.actor, &pixel).await?;
    let token_hash = secret_hash(token);
    store::usage::update_confirmed(&mut transaction, &pixel.pixel_id, now).await?;
    store::usage::update_claim_token(&mut transaction, &pixel.pixel_id, &token_hash).await?;
    store::claims::update_claim_taken(&mut transaction, &token_hash, now).await?;
    let mail = match rival(loser.as_ref()) {
        Some(loser) => notices::put_lost(&mut transaction, &infra.outbox, loser).await?,
        None => None,
    };
    infra.changes.commit(transaction, &invalidation).await?;
    tracing::info!(pixel_id = %pixel.pixel_id, "a proven claim has taken effect");
    if let Some(mail) = mail
        && let Err(error) = deliver_notice(infra, &mail).await
    {
        tracing::warn!(?error, "a refused notice stays in the outbox");
    }
    Ok(pixel)
}

/// Ends the move of another account's site away from a claimed host, unless its tag still runs there.
async fn end_move(
    connection: &mut PgConnection,
    invalidation: &mut Invalidation,
    owner: &AccountId,
    host: &SiteHost,
    evidence: &Evidence,
    now: DateTime<Utc>,
) -> Result<()> {
    let moved = store::moves::lock_pixel_of_former_host(connection, host, now).await?;
    let Some(MovedPixel { pixel_id, account_id }) = moved else { return Ok(()) };
    if account_id == *owner {
        return Err(Error::MoveUnderWay);
    }
    if evidence.has_tag(connection, &pixel_id).await? {
        return Err(Error::PixelWorking);
    }
    store::moves::delete_move(connection, &pixel_id).await?;
    store::moves::update_unused_since(connection, &pixel_id, now).await?;
    let (kind, subject) = (ActivityKind::MoveEnded, Some(pixel_id.as_str()));
    events::record(connection, now, &account_id, &Actor::Service, kind, subject).await?;
    invalidation.add_pixel(&pixel_id);
    Ok(())
}

async fn insert(
    connection: &mut PgConnection,
    invalidation: &mut Invalidation,
    caller: &Caller,
    claim: &Claim,
    now: DateTime<Utc>,
) -> Result<Option<Pixel>> {
    let alias = PixelRef::random_alias();
    let (pixel_id, host) = (&claim.pixel_id, &claim.domain);
    invalidation.add_pixel(pixel_id);
    invalidation.add_alias(&alias);
    let need = host_claim::contacts_need_consent(caller);
    store::insert_pixel(connection, pixel_id, caller.account_id(), host, &alias, need, now).await
}

pub(super) async fn lock_owner(
    connection: &mut PgConnection,
    owner: &AccountId,
) -> Result<Account> {
    lock_account(connection, owner).await?.ok_or(Error::NotInGoodStanding)
}

/// The result does not matter here; the outbox retries.
async fn deliver_notice(infra: &Infra, mail: &ClaimedMail) -> Result<()> {
    let rendered = notices::lost(infra, mail).await;
    infra.outbox.deliver(mail, rendered).await?;
    Ok(())
}

/// A claim is proven, and its host's pixel changes hands.
pub struct VerifyClaim;

impl Capability for VerifyClaim {
    const NAME: &'static str = "verify_claim";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.idempotent().open_world().described(
        "Verify a claim",
        "Looks for the proof of a claim and, if it is there, gives the account the host's \
         pixel. The other account's pixel is deleted, unless it is working. `claim not proven`: \
         wait for the DNS, or publish the page, and call again.",
    ));
    type Service = Infra;
    type Access = AllSites<Operates>;
    type Input = OfClaim;
    type Output = PixelView;

    fn refusals() -> Vec<Error> {
        vec![
            Error::ClaimNotFound,
            Error::ClaimNotProven,
            Error::PixelWorking,
            Error::DomainRegistered,
            Error::MoveUnderWay,
            Error::PixelAllowanceReached { remaining: 0 },
            Error::InstallCheckerOff,
            Error::TooManyRequests { retry_after: 6 },
            Error::Busy { retry_after: 5 },
        ]
    }

    async fn run(infra: &Infra, caller: Caller, OfClaim { token }: OfClaim) -> Result<PixelView> {
        let pixel = verify(infra, &caller, &token).await?;
        Ok(PixelView::of(pixel, infra.base_url()))
    }
}
