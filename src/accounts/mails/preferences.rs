use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::ToSchema;

use super::store;
use super::switch::MailSwitch;
use super::switching::turn;
use crate::accounts::access::{Caller, KeyHolder};
use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::scope::{Governs, Oversees};
use crate::accounts::store::lock_account;
use crate::accounts::tool::Tool;
use crate::error::{BODY, Error, FieldError, Result};
use crate::infra::Infra;
use crate::types::ids::AccountId;

/// What the account's own address is mailed.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct MailPreferences {
    /// 7 days and 1 day before the trial ends.
    pub trial_ending: bool,
    /// 80 % and 100 % of the month's contacts are used.
    pub allowance: bool,
    pub payment_failed: bool,
    /// A key expires in 7 days.
    pub key_expiring: bool,
    /// The tag of an installed site is no longer found.
    pub tag_vanished: bool,
    /// A pixel that was never used ends in 7 days.
    pub pixel_ending: bool,
    /// Visitors ask for erasure, and such requests fall due.
    pub erasure_requests: bool,
    /// A site loads or stores something without consent, or is silent again.
    pub silence: bool,
    /// Every Monday, about the week before. Off unless it is turned on.
    pub weekly_digest: bool,
    /// Always true.
    pub new_key: bool,
    /// Always true.
    pub new_sign_in: bool,
}

/// What is to change; what is left out stays.
#[derive(Default, Deserialize, JsonSchema, ToSchema)]
pub struct MailChange {
    pub trial_ending: Option<bool>,
    pub allowance: Option<bool>,
    pub payment_failed: Option<bool>,
    pub key_expiring: Option<bool>,
    pub tag_vanished: Option<bool>,
    pub pixel_ending: Option<bool>,
    pub erasure_requests: Option<bool>,
    pub silence: Option<bool>,
    pub weekly_digest: Option<bool>,
    // `true` is accepted, so that a client can send back a response. Not described, as it cannot be changed.
    #[schema(ignore)]
    #[schemars(skip)]
    pub new_key: Option<bool>,
    #[schema(ignore)]
    #[schemars(skip)]
    pub new_sign_in: Option<bool>,
}

impl MailChange {
    fn check(&self) -> Result<()> {
        for (name, wanted) in [("new_key", self.new_key), ("new_sign_in", self.new_sign_in)] {
            if wanted == Some(false) {
                return Err(cannot_be_turned_off(name));
            }
        }
        Ok(())
    }
}

macro_rules! switches {
    ($($field:ident: $switch:ident),+ $(,)?) => {
        impl MailPreferences {
            fn without(off: &[MailSwitch]) -> Self {
                Self {
                    $($field: !off.contains(&MailSwitch::$switch),)+
                    new_key: true,
                    new_sign_in: true,
                }
            }

            pub fn has(&self, switch: MailSwitch) -> bool {
                match switch { $(MailSwitch::$switch => self.$field,)+ }
            }
        }

        impl MailChange {
            pub fn of(wanted: impl Fn(MailSwitch) -> bool) -> Self {
                Self { $($field: Some(wanted(MailSwitch::$switch)),)+ ..Self::default() }
            }

            fn wanted(&self, switch: MailSwitch) -> Option<bool> {
                match switch { $(MailSwitch::$switch => self.$field,)+ }
            }
        }
    };
}

switches! {
    trial_ending: TrialEnding,
    allowance: Allowance,
    payment_failed: PaymentFailed,
    key_expiring: KeyExpiring,
    tag_vanished: TagVanished,
    pixel_ending: PixelEnding,
    erasure_requests: ErasureRequests,
    silence: Silence,
    weekly_digest: WeeklyDigest,
}

pub fn cannot_be_turned_off(name: &str) -> Error {
    let problem = FieldError::new(&[BODY, name], "cannot be turned off", "value_error");
    Error::Validation(vec![problem])
}

pub async fn read(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<MailPreferences> {
    let off = store::list_off(connection, account_id).await?;
    let weekly_digest = store::has_digest(connection, account_id).await?;
    Ok(MailPreferences { weekly_digest, ..MailPreferences::without(&off) })
}

pub struct ChangeMailPreferences;

impl Capability for ChangeMailPreferences {
    const NAME: &'static str = "change_mail_preferences";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.idempotent().described(
        "Change mail preferences",
        "Turns mails to the account's address on or off; what is left out stays.",
    ));
    type Service = Infra;
    type Access = KeyHolder<Governs>;
    type Input = MailChange;
    type Output = MailPreferences;

    fn refusals() -> Vec<Error> {
        vec![cannot_be_turned_off("new_key")]
    }

    async fn run(infra: &Infra, caller: Caller, change: MailChange) -> Result<MailPreferences> {
        change.check()?;
        let (account_id, now) = (caller.account_id(), infra.clock.now());
        let mut transaction = infra.pool.begin().await?;
        lock_account(&mut transaction, account_id).await?.ok_or(Error::AccountNotFound)?;
        for &switch in MailSwitch::ALL {
            if let Some(wanted) = change.wanted(switch) {
                turn(&mut transaction, now, account_id, &caller.actor, switch, wanted).await?;
            }
        }
        let preferences = read(&mut transaction, account_id).await?;
        transaction.commit().await?;
        Ok(preferences)
    }
}

pub struct ReadMailPreferences;

impl Capability for ReadMailPreferences {
    const NAME: &'static str = "read_mail_preferences";
    const TOOL: Option<Tool> = Some(
        Tool::READ_ONLY
            .described("Read mail preferences", "Tells which mails the account's address gets."),
    );
    type Service = Infra;
    type Access = KeyHolder<Oversees>;
    type Input = NoInput;
    type Output = MailPreferences;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<MailPreferences> {
        read(&mut *infra.pool.acquire().await?, caller.account_id()).await
    }
}
