//! What the service is made of, put together once: the one state that everybody is handed.

use std::ops::Deref;
use std::sync::Arc;

use crate::accounts::service::Accounts;
use crate::billing::service::Billing;
use crate::contacts::service::Contacts;
use crate::delivery::bundles::Script;
use crate::delivery::table::ScriptTable;
use crate::infra::Infra;
use crate::infra::supervise::supervise;
use crate::policies::sites::SiteCache;
use crate::proof::log::Log;
use crate::receipts::service::Receipts;

/// All parts of the service; clones are the same ones.
#[derive(Clone)]
pub struct App(Arc<Parts>);

/// The features, what they stand on, and what visitors' browsers load.
pub struct Parts {
    pub infra: Infra,
    pub accounts: Accounts,
    pub sites: SiteCache,
    pub receipts: Receipts,
    pub contacts: Contacts,
    pub billing: Billing,
    pub scripts: ScriptTable,
    pub log: Log,
}

impl App {
    /// Puts the parts together and starts what works in the background. Must be called inside a
    /// Tokio runtime.
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
        Self(Arc::new(Parts {
            receipts: Receipts::start(infra.clone(), sites.clone(), tag, log.clone()),
            contacts: Contacts::new(infra.clone()),
            billing: Billing::new(infra.clone(), accounts.clone()),
            scripts: ScriptTable::new(infra.config.script_cache_mib, infra.metrics.scripts.clone()),
            log,
            accounts,
            sites,
            infra,
        }))
    }
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

/// A capability names what it works with, and a door hands it over.
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
