use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entry::SuppressionSource;
use super::store;
use crate::accounts::access::{AllSites, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::event::ActivityKind;
use crate::accounts::lock_account;
use crate::accounts::scope::Governs;
use crate::accounts::tool::Tool;
use crate::contacts::erasure::erase_from_account;
use crate::contacts::service::Contacts;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::types::hem::Hem;
use crate::types::ids::id_param::IdParam;

/// A person.
#[derive(Deserialize, JsonSchema)]
pub struct OfPerson {
    /// The person's hashed email address, 64 hex digits.
    #[schemars(regex(pattern = "^[0-9A-Fa-f]{64}$"))]
    pub hem: IdParam<Hem>,
}

/// Whether a person is refused.
#[derive(Serialize, JsonSchema)]
pub struct SuppressionState {
    hem: Hem,
    suppressed: bool,
}

/// Erases a person on all pixels of the account, and sees to it that none stores them again.
pub struct SuppressPerson;

impl Capability for SuppressPerson {
    const NAME: &'static str = "suppress_person";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.idempotent().described(
        "Suppress a person",
        "Erases a person on all pixels of the account, and never stores them again. Cannot be \
         undone.",
    ));
    type Service = Contacts;
    type Access = AllSites<Governs>;
    type Input = OfPerson;
    type Output = SuppressionState;

    fn refusals() -> Vec<Error> {
        vec![Error::HemMalformed, Error::Busy { retry_after: 1 }]
    }

    async fn run(part: &Contacts, caller: Caller, request: OfPerson) -> Result<SuppressionState> {
        let hem = request.hem.into_id().ok_or(Error::HemMalformed)?;
        let Contacts { infra, locks, .. } = part;
        let account_id = caller.account_id();
        let _lock = locks.take(account_id).await?;
        let mut transaction = infra.pool.begin().await?;
        lock_account(&mut transaction, account_id).await?.ok_or(Error::NotInGoodStanding)?;
        let now = infra.clock.now();
        let source = SuppressionSource::Owner;
        let added =
            store::insert_suppressions(&mut transaction, account_id, &[hem], source, now).await?;
        if added > 0 {
            let kind = ActivityKind::PersonSuppressed;
            caller.record(&mut transaction, now, account_id, kind, None).await?;
        }
        let erased = erase_from_account(&mut transaction, account_id, &[hem]).await?;
        transaction.commit().await?;
        tracing::info!(%account_id, erased, "a person is suppressed");
        Ok(SuppressionState { hem, suppressed: true })
    }
}

/// Lets a person be stored again; what was erased does not come back by it.
pub struct UnsuppressPerson;

impl Capability for UnsuppressPerson {
    const NAME: &'static str = "unsuppress_person";
    const TOOL: Option<Tool> = Some(
        Tool::DESTRUCTIVE
            .idempotent()
            .described("Lift a suppression", "Lets a suppressed person be stored again."),
    );
    type Service = Infra;
    type Access = AllSites<Governs>;
    type Input = OfPerson;
    type Output = SuppressionState;

    fn refusals() -> Vec<Error> {
        vec![Error::HemMalformed]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfPerson) -> Result<SuppressionState> {
        let hem = request.hem.into_id().ok_or(Error::HemMalformed)?;
        let (account_id, now) = (caller.account_id(), infra.clock.now());
        let mut transaction = infra.pool.begin().await?;
        if store::delete_suppression(&mut transaction, account_id, hem).await? {
            let kind = ActivityKind::PersonUnsuppressed;
            caller.record(&mut transaction, now, account_id, kind, None).await?;
        }
        transaction.commit().await?;
        Ok(SuppressionState { hem, suppressed: false })
    }
}
