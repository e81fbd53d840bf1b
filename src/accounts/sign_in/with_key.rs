use super::proof::Proof;
use crate::accounts::access::{Caller, KeyHolder};
use crate::accounts::capability::Capability;
use crate::accounts::members::member::Membership;
use crate::accounts::recheck::recheck;
use crate::accounts::scope::Governs;
use crate::accounts::sessions::{self, Browser, NewSession};
use crate::accounts::store;
use crate::error::{Error, Result};
use crate::infra::Infra;

/// A session for the holder of an API key, where no mail can be sent.
pub struct SignInWithKey;

pub struct OfBrowser {
    pub browser: String,
    /// The secret of the browser's current session, if it has one.
    pub former: Option<String>,
}

impl Capability for SignInWithKey {
    const NAME: &'static str = "sign_in_with_key";
    type Service = Infra;
    type Access = KeyHolder<Governs>;
    type Input = OfBrowser;
    type Output = NewSession;

    fn refusals() -> Vec<Error> {
        vec![Error::NotFound, Error::ScopeNotAllowed]
    }

    async fn run(infra: &Infra, caller: Caller, of: OfBrowser) -> Result<NewSession> {
        if Proof::of(&infra.outbox) != Proof::Key {
            return Err(Error::NotFound);
        }
        let now = infra.clock.now();
        let browser = Browser { name: &of.browser, former: of.former.as_deref() };
        let mut transaction = infra.pool.begin().await?;
        let account = store::lock_account(&mut transaction, caller.account_id()).await?;
        let membership = Membership::of_own(account.ok_or(Error::AccountNotFound)?);
        recheck(&mut transaction, now, &caller).await?;
        // A key that expires is refused, because the session could outlast it.
        if let Some(prefix) = caller.actor.key_prefix()
            && store::find_end_of_key(&mut transaction, caller.account_id(), prefix, now)
                .await?
                .is_some()
        {
            return Err(Error::ScopeNotAllowed);
        }
        let address = &membership.account.email;
        let session = sessions::open(&mut transaction, now, &membership, address, browser).await?;
        transaction.commit().await?;
        Ok(session)
    }
}
