use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::ToSchema;

use super::claims::host_claim::{Allowance, Terms, claim_host};
use super::pixel::{InstallStatus, Pipeline, Pixel};
use super::snippets::snippet;
use super::store;
use crate::accounts::access::{Caller, PipelineKey};
use crate::accounts::account::{Account, Plan, Status};
use crate::accounts::actor::Actor;
use crate::accounts::capability::Capability;
use crate::accounts::scope::Operates;
use crate::accounts::{find_account_id_by_external_user_id, lock_account};
use crate::config::Config;
use crate::error::{Error, Result, missing_field};
use crate::infra::Infra;
use crate::infra::changes::Invalidation;
use crate::types::host::SiteHost;
use crate::types::ids::id_param::IdParam;
use crate::types::ids::{AccountId, PixelId, PixelRef};
use crate::types::text::present;

/// A site of a customer, who is named by one of the two ids, or by both if they mean the same
/// account.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
pub struct PipelineRequest {
    /// The site's host, without scheme, port or path.
    #[schemars(with = "String")]
    #[schema(value_type = String, pattern = "\\S", example = "shop.example")]
    pub domain: Option<String>,
    /// The pipeline that the site came through.
    #[schemars(with = "Pipeline")]
    #[schema(value_type = Pipeline)]
    pub pipeline: Option<String>,
    pub account_id: Option<String>,
    /// As sent at the customer's signup.
    pub external_user_id: Option<String>,
}

pub struct PipelineOrder {
    host: SiteHost,
    pipeline: Pipeline,
    customer: Customer,
}

/// The customer, named by one of the two, or by both if they mean the same account.
struct Customer {
    account_id: Option<IdParam<AccountId>>,
    external_user_id: Option<String>,
}

impl PipelineRequest {
    pub fn check(self, own_host: &str) -> Result<PipelineOrder> {
        let pipeline = present(self.pipeline.as_deref())
            .and_then(Pipeline::parse)
            .ok_or(Error::PipelineUnknown)?;
        let customer = Customer {
            account_id: present(self.account_id.as_deref()).map(IdParam::from),
            external_user_id: present(self.external_user_id.as_deref()).map(str::to_owned),
        };
        if customer.account_id.is_none() && customer.external_user_id.is_none() {
            return Err(Error::CustomerRequired);
        }
        let domain = present(self.domain.as_deref()).ok_or(Error::DomainRequired)?;
        Ok(PipelineOrder { host: SiteHost::parse(domain, own_host)?, pipeline, customer })
    }
}

/// A pipeline pixel, with the addresses of its script.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct PipelinePixel {
    pub pixel_id: PixelId,
    pub account_id: AccountId,
    pub domain: SiteHost,
    pub install_status: InstallStatus,
    /// The one that the pixel first came through.
    pub pipeline: Pipeline,
    /// HTML to paste into the site.
    pub snippet: String,
    /// The identification script's address at this service, by the canonical id.
    pub pixel_js_url: String,
    /// The same script on the tag delivery network, by a short alias.
    pub cdn_script_url: String,
}

impl PipelinePixel {
    fn new(
        config: &Config,
        base_url: &str,
        pixel: Pixel,
        pipeline: Pipeline,
        alias: &PixelRef,
    ) -> Self {
        Self {
            snippet: snippet::current(&pixel, base_url),
            pixel_js_url: format!("{base_url}/pixels/{}/p.js", pixel.pixel_id),
            cdn_script_url: format!("{}/pixels/{alias}/p.js", config.tag_cdn_base),
            pixel_id: pixel.pixel_id,
            account_id: pixel.account_id,
            domain: pixel.domain,
            install_status: pixel.install_status,
            pipeline,
        }
    }
}

/// Creates a customer's pixel for a host, or gives the one that the customer has there. It counts
/// in the customer's allowance but is never refused for it. A pixel keeps the pipeline that it
/// first came from.
pub struct CreatePipelinePixel;

impl Capability for CreatePipelinePixel {
    const NAME: &'static str = "create_pipeline_pixel";
    type Service = Infra;
    type Access = PipelineKey<Operates>;
    type Input = PipelineRequest;
    type Output = PipelinePixel;

    fn refusals() -> Vec<Error> {
        vec![
            Error::PipelineUnknown,
            Error::CustomerRequired,
            Error::DomainRequired,
            Error::DomainIsPage,
            Error::DomainNotHost,
            Error::CustomerNotInGoodStanding,
            Error::AccountNotFound,
            Error::DomainRegistered,
            Error::MoveUnderWay,
            Error::PixelNotCreated,
            missing_field("domain"),
        ]
    }

    async fn run(infra: &Infra, _: Caller, request: PipelineRequest) -> Result<PipelinePixel> {
        let own_host = infra.base_host();
        let PipelineOrder { host, pipeline, customer } = request.check(&own_host)?;
        let mut transaction = infra.pool.begin().await?;
        let customer = lock_customer(&mut transaction, customer).await?;
        let mut invalidation = Invalidation::none();
        let actor = Some(&Actor::Operator);
        let terms = Terms { allowance: Allowance::Waived, contacts_need_consent: false, actor };
        let pixel = claim_host(
            &mut transaction,
            &infra.clock,
            &own_host,
            &mut invalidation,
            &customer,
            &host,
            terms,
        )
        .await?;
        let pipeline = store::update_pipeline(&mut transaction, &pixel.pixel_id, pipeline).await?;
        let alias = store::find_first_alias(&mut transaction, &pixel.pixel_id).await?;
        infra.changes.commit(transaction, &invalidation).await?;
        Ok(PipelinePixel::new(&infra.config, infra.base_url(), pixel, pipeline, &alias))
    }
}

async fn lock_customer(connection: &mut PgConnection, named: Customer) -> Result<Account> {
    let account_id = match (named.account_id, named.external_user_id) {
        (account_id, Some(external)) => find_account_id_by_external_user_id(connection, &external)
            .await?
            .filter(|found| account_id.is_none_or(|id| id.into_id().as_ref() == Some(found))),
        (Some(account_id), None) => account_id.into_id(),
        (None, None) => None,
    };
    let account_id = account_id.ok_or(Error::AccountNotFound)?;
    let account = lock_account(connection, &account_id).await?.ok_or(Error::AccountNotFound)?;
    match account.status == Status::Active && account.plan == Plan::Paid {
        true => Ok(account),
        false => Err(Error::CustomerNotInGoodStanding),
    }
}
