//! The components of the service, the only state that routes receive.

use std::ops::Deref;
use std::sync::Arc;

use crate::accounts::service::Accounts;
use crate::billing::service::Billing;
use crate::contacts::service::Contacts;
use crate::delivery::bundles::Script;
use crate::delivery::script_cache::ScriptCache;
use crate::infra::Infra;
use crate::infra::supervise::supervise;
use crate::oauth::service::OAuth;
use crate::policies::sites::SiteCache;
use crate::proof::log::Log;
use crate::receipts::service::Receipts;

#[derive(Clone)]
pub struct App(Arc<Components>);

pub struct Components {
    pub infra: Infra,
    pub accounts: Accounts,
    pub oauth: OAuth,
    pub sites: SiteCache,
    pub receipts: Receipts,
    pub contacts: Contacts,
    pub billing: Billing,
    pub scripts: ScriptCache,
    pub log: Log,
}

impl App {
    /// Creates the components and starts the background work. Must be called inside a Tokio runtime.
    pub fn start(infra: Infra) -> Self {
        for database in [Some(&infra.database), infra.replica.as_ref()].into_iter().flatten() {
            let database = database.clone();
            supervise(move || database.clone().watch());
        }
        let (changes, database) = (infra.changes.clone(), infra.database.clone());
        supervise(move || changes.clone().listen(database.clone()));
        let sites = SiteCache::new(&infra);
        let accounts = Accounts::start(infra.clone());
        let (log, tag) = (Log::new(infra.clone()), Script::ConsentTag.served());
        Self(Arc::new(Components {
            receipts: Receipts::start(infra.clone(), sites.clone(), tag, log.clone()),
            contacts: Contacts::new(infra.clone()),
            billing: Billing::new(infra.clone(), accounts.clone()),
            scripts: ScriptCache::new(infra.config.script_cache_mib, infra.metrics.scripts.clone()),
            oauth: OAuth::new(accounts.clone()),
            log,
            accounts,
            sites,
            infra,
        }))
    }
}

impl Deref for App {
    type Target = Components;

    fn deref(&self) -> &Components {
        &self.0
    }
}

/// Gives capabilities access to the component that they name as their service.
macro_rules! parts {
    ($($part:ident: $kind:ty),+ $(,)?) => {
        $(
            impl AsRef<$kind> for App {
                fn as_ref(&self) -> &$kind {
                    &self.$part
                }
            }
        )+
    };
}

parts!(infra: Infra, accounts: Accounts, receipts: Receipts, contacts: Contacts, billing: Billing);
