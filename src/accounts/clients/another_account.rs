use super::person::{lock_first_account, proven_recently};
use crate::accounts::access::{Credentials, UncheckedCredentials};
use crate::accounts::account::Plan;
use crate::accounts::capability::Capability;
use crate::accounts::sessions::{self, NewSession};
use crate::accounts::signup::opening::open_confirmed;
use crate::accounts::signup::signup_request::{Signup, SignupRequest};
use crate::accounts::store;
use crate::error::{Error, Result, wrong_field};
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::types::ids::AccountId;

/// The maximum number of accounts without a subscription per address.
const MAX_UNPAID: usize = 20;

pub struct AnotherAccount {
    pub display_name: String,
    /// The name of the browser, for the activity log.
    pub browser: String,
}

/// Opens a further account for the signed-in person, whose address it shares, and moves the session into it.
pub struct OpenAnotherAccount;

impl Capability for OpenAnotherAccount {
    const NAME: &'static str = "open_another_account";
    const LIMIT: Option<Limit> = Some(Limit::Signups);
    type Service = Infra;
    type Access = UncheckedCredentials;
    type Input = AnotherAccount;
    type Output = NewSession;

    fn refusals() -> Vec<Error> {
        vec![Error::SignInRequired, Error::DisplayNameRequired, Error::AccountNotActive]
    }

    async fn run(
        infra: &Infra,
        credentials: Credentials,
        AnotherAccount { display_name, browser }: AnotherAccount,
    ) -> Result<NewSession> {
        let person = proven_recently(&infra.outbox, &infra.clock, credentials)?;
        let request = SignupRequest {
            email: Some(person.address.clone()),
            display_name: Some(display_name),
            external_user_id: None,
            code: None,
        };
        let Signup { display_name, .. } = request.check()?;
        let now = infra.clock.now();
        let mut transaction = infra.pool.begin().await?;
        lock_first_account(&mut transaction, now, &person).await?;
        let own = store::list_accounts_by_email(&mut transaction, &person.address).await?;
        if own.iter().filter(|account| account.plan == Plan::Free).count() >= MAX_UNPAID {
            let message = format!("you have {MAX_UNPAID} accounts without a subscription already");
            return Err(wrong_field("display_name", message));
        }
        let account_id = AccountId::random();
        let email = &person.address;
        open_confirmed(&mut transaction, now, &account_id, email, &display_name).await?;
        transaction.commit().await?;
        tracing::info!(%account_id, "another account opened");
        let session = sessions::switch_to(infra, &person, &account_id, &browser).await?;
        session.ok_or(Error::SignInRequired)
    }
}
