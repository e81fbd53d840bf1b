//! The hosts, besides local ones, on which a pixel can be tried.

use schemars::JsonSchema;
use serde::Deserialize;
use sqlx::PgConnection;

use super::setup::find_for;
use super::store;
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::demo::DEMO_ACCOUNT;
use crate::accounts::scope::Operates;
use crate::error::{Error, Result, wrong_at, wrong_field};
use crate::infra::Infra;
use crate::infra::changes::Invalidation;
use crate::types::host::{SiteHost, parents_of};
use crate::types::ids::{PixelId, PixelParam};

const FIELD: &str = "test_hosts";
const MAX_HOSTS: usize = 20;

/// Reads the hosts that an integrator names; sorted, each once.
pub fn parse(names: &[String]) -> Result<Vec<SiteHost>> {
    if names.len() > MAX_HOSTS {
        return Err(wrong_field(FIELD, format!("must have at most {MAX_HOSTS} hosts")));
    }
    let host = |(index, name): (usize, &String)| {
        SiteHost::parse(name, "").map_err(|_| {
            wrong_at(&[FIELD, &index.to_string()], "must be a host, such as staging.shop.example")
        })
    };
    let mut hosts = names.iter().enumerate().map(host).collect::<Result<Vec<_>>>()?;
    hosts.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
    hosts.dedup();
    Ok(hosts)
}

/// Replaces the test hosts of a locked pixel; `false` if nothing changed.
pub async fn replace(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    hosts: &[SiteHost],
) -> Result<bool> {
    if store::test_hosts::list_test_hosts(connection, pixel_id).await? == hosts {
        return Ok(false);
    }
    require_own(connection, pixel_id, hosts).await?;
    store::test_hosts::update_test_hosts(connection, pixel_id, hosts).await?;
    Ok(true)
}

/// Refuses hosts on which another account has a pixel.
pub async fn require_own(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    hosts: &[SiteHost],
) -> Result<()> {
    let others = list_others(connection, pixel_id, hosts).await?;
    match hosts.iter().find(|host| is_on_any(host, &others)) {
        None => Ok(()),
        Some(host) => Err(wrong_field(
            FIELD,
            format!("must not be a host of another account's pixel: {host}"),
        )),
    }
}

pub async fn list(connection: &mut PgConnection, pixel_id: &PixelId) -> Result<Vec<SiteHost>> {
    store::test_hosts::list_test_hosts(connection, pixel_id).await
}

pub async fn list_usable(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<Vec<SiteHost>> {
    let mut hosts = list(connection, pixel_id).await?;
    if !hosts.is_empty() {
        let others = list_others(connection, pixel_id, &hosts).await?;
        hosts.retain(|host| !is_on_any(host, &others));
    }
    Ok(hosts)
}

/// Pixels of the demo are ignored, because they do not reserve hosts.
async fn list_others(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    hosts: &[SiteHost],
) -> Result<Vec<SiteHost>> {
    let domains = hosts.iter().flat_map(parents_of).map(str::to_owned).collect::<Vec<_>>();
    store::test_hosts::list_domains_of_others(connection, pixel_id, &domains, DEMO_ACCOUNT).await
}

fn is_on_any(host: &SiteHost, sites: &[SiteHost]) -> bool {
    sites.iter().any(|site| site.covers(host.as_str()))
}

/// The test hosts that a pixel shall have.
#[derive(Deserialize, JsonSchema)]
pub struct TestHostsRequest {
    pub pixel_id: PixelParam,
    pub test_hosts: Vec<String>,
}

/// Replaces the test hosts of the caller's pixel, without its consent configuration.
pub struct ChangeTestHosts;

impl Capability for ChangeTestHosts {
    const NAME: &'static str = "change_test_hosts";
    type Service = Infra;
    type Access = ActiveAccount<Operates>;
    type Input = TestHostsRequest;
    type Output = Vec<SiteHost>;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, Error::InvalidRequest]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        request: TestHostsRequest,
    ) -> Result<Vec<SiteHost>> {
        let pixel_id = find_for(&infra.pool, &caller, &request.pixel_id).await?.pixel_id;
        let hosts = parse(&request.test_hosts)?;
        let mut transaction = infra.pool.begin().await?;
        store::lock_pixel(&mut transaction, &pixel_id).await?.ok_or(Error::PixelNotFound)?;
        replace(&mut transaction, &pixel_id, &hosts).await?;
        infra.changes.commit(transaction, &Invalidation::of_pixel(&pixel_id)).await?;
        Ok(hosts)
    }
}
