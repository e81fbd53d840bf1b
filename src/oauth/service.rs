use std::time::Duration;

use super::client::Client;
use super::refusal::{Failure, Refusal};
use super::{documents, store};
use crate::accounts::service::Accounts;
use crate::infra::Infra;
use crate::infra::cache::{Bounds, Cache};
use crate::infra::limits::client_net::ClientNet;
use crate::infra::limits::per_client::{self, Limit};

const MOST_DOCUMENTS: u64 = 1_000;
const DOCUMENT_LIFE: Duration = Duration::from_secs(3600);

/// The shared state of the protocol. Clones share the cache of documents.
#[derive(Clone)]
pub struct OAuth {
    pub infra: Infra,
    pub accounts: Accounts,
    documents: Cache<String, Client>,
}

impl OAuth {
    pub fn new(accounts: Accounts) -> Self {
        let documents = Cache::new(Bounds::entries(MOST_DOCUMENTS, Some(DOCUMENT_LIFE)));
        Self { infra: accounts.infra.clone(), accounts, documents }
    }

    /// The identifier of the authorization server (RFC 8414).
    pub fn issuer(&self) -> &str {
        self.infra.base_url()
    }

    /// The resource that tokens are valid for (RFC 8707).
    pub fn resource(&self) -> String {
        format!("{}/mcp", self.infra.base_url())
    }

    /// Refuses a `resource` other than the tool server. It may be left out, since there is only one.
    pub fn check_resource(&self, asked: Option<&str>) -> Result<(), Refusal> {
        let is_ours = asked.is_none_or(|asked| asked == self.resource());
        let wrong =
            Refusal::new("invalid_target", "resource must be the address of the tool server");
        is_ours.then_some(()).ok_or(wrong)
    }

    pub fn admit(&self, net: ClientNet) -> crate::error::Result<()> {
        Ok(per_client::Client::new(&self.accounts.limits, net).admit(Limit::AppRequests)?)
    }

    /// Finds the app with this id: a registered one, or the one whose document has the id as its address.
    pub async fn client(&self, client_id: &str, net: ClientNet) -> Result<Client, Failure> {
        if let Some(client) = self.documents.get(&client_id.to_owned()).await {
            return Ok(client);
        }
        if let Some(url) = documents::address_of(client_id) {
            self.admit(net)?;
            let client = documents::fetch(&self.infra.fetch, &url).await?;
            self.documents.insert(client_id.to_owned(), client.clone()).await;
            return Ok(client);
        }
        let mut connection = self.infra.pool.acquire().await?;
        let found = store::find_client(&mut connection, client_id).await?;
        Ok(found.ok_or(Refusal::new("invalid_client", "no such client_id; register again"))?)
    }
}
