use chrono::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::ToSchema;

use super::account_codes::{CODE_LIFE, CodeHolder, evaluate, issue, use_up};
use super::code_mail::{self, MailedCode};
use super::code_purpose::CodePurpose;
use crate::accounts::access::{Access, Caller, Credentials, KeyHolder, UncheckedCredentials};
use crate::accounts::account::Account;
use crate::accounts::actor::Actor;
use crate::accounts::capability::Capability;
use crate::accounts::credentials::{Accepts, KeyLookup, look_up_key};
use crate::accounts::limits::buckets::{Bucket, BucketKey, take};
use crate::accounts::limits::mailbox;
use crate::accounts::members::member::Member;
use crate::accounts::recheck::recheck;
use crate::accounts::scope::{Governs, Needs, Scope};
use crate::accounts::service::Accounts;
use crate::accounts::sign_in::attempt::start;
use crate::accounts::sign_in::secrets::SIGN_IN_LIFE;
use crate::accounts::store;
use crate::accounts::tool::Tool;
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, Result, missing_field};
use crate::infra::Infra;
use crate::infra::limits::client_net::ClientNet;
use crate::infra::limits::per_client::Limit;
use crate::infra::outbox::Outbox;
use crate::types::email::Email;
use crate::types::ids::AccountId;
use crate::types::text;

const OF_ONE_ACCOUNT: Bucket = Bucket { at_once: 10, then_one_every: Duration::minutes(10) };

/// What a code is to be good for.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct CodeOrder {
    pub purpose: CodePurpose,
    /// For `sign_in` the address of a member. For `change_email` the new one; the account's present address,
    /// or none, for the code of the present mailbox. The others go to the account's own address, or to the
    /// member's who is signed in.
    #[schemars(with = "Option<String>")]
    #[schema(value_type = Option<String>, format = Email, example = "ann@shop.example")]
    pub email: Option<String>,
}

/// What became of it. For `sign_in` the same for every address.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct CodeOrdered {
    /// `false` where the service has no mail server: give a full key as the code then.
    pub sent: bool,
    /// 15 minutes from now; null when nothing is sent.
    #[schema(required = true)]
    pub expires_at: Option<Timestamp>,
    /// Of `sign_in`: the code works only together with it, in the console's browser.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

const NOT_SENT: CodeOrdered = CodeOrdered { sent: false, expires_at: None, token: None };

pub async fn order_sign_in(
    infra: &Infra,
    net: ClientNet,
    email: Option<&str>,
) -> Result<CodeOrdered> {
    let email = Email::required(email)?;
    if !infra.outbox.mailer.is_configured() {
        return Ok(NOT_SENT);
    }
    let expires_at = Some(Timestamp(infra.clock.now() + SIGN_IN_LIFE));
    let token = Some(start(infra, net, email, None, None).await?.expose().to_owned());
    Ok(CodeOrdered { sent: true, expires_at, token })
}

pub struct OrderCode;

impl Capability for OrderCode {
    const NAME: &'static str = "order_code";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.open_world().described(
        "Order a code",
        "Mails the person a six-digit code, valid for 15 minutes, which `change_account` and \
         `delete_account` ask for. Ask the person for it; never guess.",
    ));
    const ACCEPTS: Accepts = Accepts::OptionalKey;
    const SCOPES: &'static [Scope] = Governs::SCOPES;
    const LIMIT: Option<Limit> = Some(Limit::Mails);
    type Service = Accounts;
    type Access = UncheckedCredentials;
    type Input = CodeOrder;
    type Output = CodeOrdered;

    fn refusals() -> Vec<Error> {
        let own = [
            Error::InvalidEmail,
            Error::EmailRegistered,
            Error::ConfirmationMailFailed,
            Error::TooManyRequests { retry_after: 300 },
            missing_field("purpose"),
        ];
        own.into_iter().chain(KeyHolder::<Governs>::refusals()).collect()
    }

    async fn run(
        accounts: &Accounts,
        credentials: Credentials,
        order: CodeOrder,
    ) -> Result<CodeOrdered> {
        let infra = &accounts.infra;
        if order.purpose == CodePurpose::SignIn {
            let email = order.email.as_deref();
            return order_sign_in(infra, credentials.net, email).await;
        }
        let caller = KeyHolder::<Governs>::admit(accounts, credentials).await?;
        let (account_id, purpose) = (caller.account_id(), order.purpose);
        let mut transaction = infra.pool.begin().await?;
        let account = store::lock_account(&mut transaction, account_id).await?;
        let account = account.ok_or(Error::AccountNotFound)?;
        recheck(&mut transaction, infra.clock.now(), &caller).await?;
        let recipient = recipient(&mut transaction, &caller, &account, &order).await?;
        let address = &recipient.address;
        if !infra.outbox.mailer.is_configured() {
            return Ok(NOT_SENT);
        }
        let now = infra.clock.now();
        let too_many = |retry_after| Error::TooManyRequests { retry_after };
        let bucket = BucketKey::account_codes(account_id);
        take(&mut transaction, &bucket, now, OF_ONE_ACCOUNT, too_many).await?;
        if recipient.is_foreign {
            mailbox::admit(&mut transaction, &infra.outbox, now, address, too_many).await?;
        }
        let code = issue(&mut transaction, now, &recipient.holder, purpose, address).await?;
        let for_present = purpose == CodePurpose::ChangeEmail && !recipient.is_foreign;
        let code = MailedCode::new(address, purpose, code, now + CODE_LIFE, for_present);
        let mail = code_mail::put(&mut transaction, &infra.outbox, Some(account_id), &code).await?;
        transaction.commit().await?;
        if code_mail::attempt_once(infra, mail).await? {
            return Ok(CodeOrdered {
                sent: true,
                expires_at: Some(Timestamp(now + CODE_LIFE)),
                token: None,
            });
        }
        if recipient.is_foreign {
            mailbox::give_back(&mut *infra.pool.acquire().await?, address).await?;
        }
        Err(Error::ConfirmationMailFailed)
    }
}

struct Recipient {
    address: Email,
    holder: CodeHolder,
    /// Whether the address may belong to a person outside the account.
    is_foreign: bool,
}

async fn recipient(
    connection: &mut PgConnection,
    caller: &Caller,
    account: &Account,
    order: &CodeOrder,
) -> Result<Recipient> {
    let holder = holder_of(caller);
    if order.purpose != CodePurpose::ChangeEmail {
        return Ok(Recipient { address: own_mailbox(caller)?, holder, is_foreign: false });
    }
    let present = Email::parse(&account.email)?;
    let address = match text::present(order.email.as_deref()) {
        Some(email) => Email::parse(email)?,
        None => present.clone(),
    };
    if address == present {
        return Ok(Recipient { address, holder: holder.at_present_mailbox(), is_foreign: false });
    }
    match store::find_account_by_email(connection, address.as_str()).await? {
        Some(_) => Err(Error::EmailRegistered),
        None => Ok(Recipient { address, holder, is_foreign: true }),
    }
}

fn holder_of(caller: &Caller) -> CodeHolder {
    match &caller.actor {
        Actor::Member(address) => CodeHolder::of_member(caller.account_id(), address),
        _ => CodeHolder::of_account(caller.account_id()),
    }
}

/// Returns the mailbox that the caller reads: a member's own, or the account's for a key.
fn own_mailbox(caller: &Caller) -> Result<Email> {
    match &caller.actor {
        Actor::Member(address) => Email::parse(address),
        _ => Email::parse(&caller.account.email),
    }
}

/// Like [`prove`], for the caller's own mailbox. For [`CodePurpose::Keys`], a recent sign-in is enough.
pub async fn prove_own(
    connection: &mut PgConnection,
    outbox: &Outbox,
    clock: &Clock,
    caller: &Caller,
    purpose: CodePurpose,
    code: Option<&str>,
) -> Result<Result<()>> {
    if purpose == CodePurpose::Keys && caller.is_fresh {
        return Ok(Ok(()));
    }
    let own = own_mailbox(caller)?;
    prove(connection, outbox, clock, caller, purpose, &own, code).await
}

/// Checks that the code proves that the caller reads the mailbox, and uses it up. Without a mail server, a full
/// key for all sites of the account replaces the code. The caller must commit even if the inner result is an error.
pub async fn prove(
    connection: &mut PgConnection,
    outbox: &Outbox,
    clock: &Clock,
    caller: &Caller,
    purpose: CodePurpose,
    address: &Email,
    code: Option<&str>,
) -> Result<Result<()>> {
    if !outbox.mailer.is_configured() {
        return prove_by_key(connection, clock, caller.account_id(), code).await;
    }
    prove_by_code(connection, clock, &holder_of(caller), purpose, address, code).await
}

async fn prove_by_code(
    connection: &mut PgConnection,
    clock: &Clock,
    holder: &CodeHolder,
    purpose: CodePurpose,
    address: &Email,
    code: Option<&str>,
) -> Result<Result<()>> {
    let now = clock.now();
    if let Err(refusal) = evaluate(connection, now, holder, purpose, address, code).await? {
        return Ok(Err(refusal));
    }
    use_up(connection, holder, purpose).await?;
    Ok(Ok(()))
}

/// Like [`prove`], for a member who renews a sign-in.
pub async fn prove_member(
    connection: &mut PgConnection,
    outbox: &Outbox,
    clock: &Clock,
    member: &Member,
    code: &str,
) -> Result<Result<()>> {
    let (account_id, purpose) = (&member.account.account_id, CodePurpose::Keys);
    if !outbox.mailer.is_configured() {
        return prove_by_key(connection, clock, account_id, Some(code)).await;
    }
    let holder = CodeHolder::of_member(account_id, &member.address);
    let address = Email::parse(&member.address)?;
    prove_by_code(connection, clock, &holder, purpose, &address, Some(code)).await
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Access to the new and the current mailbox, or a key where no mail server is configured.
    BothMailboxes,
    NewMailbox,
}

pub struct ChangeCodes<'a> {
    pub new: Option<&'a str>,
    /// `None` when the caller cannot read the current mailbox.
    pub present: Option<&'a str>,
}

/// Like [`prove`], for a change of address. Both codes are checked before either is used up.
pub async fn prove_change(
    connection: &mut PgConnection,
    outbox: &Outbox,
    clock: &Clock,
    caller: &Caller,
    account: &Account,
    new: &Email,
    codes: &ChangeCodes<'_>,
) -> Result<Result<Shown>> {
    if !outbox.mailer.is_configured() {
        let shown = prove_by_key(connection, clock, caller.account_id(), codes.new).await?;
        return Ok(shown.map(|()| Shown::BothMailboxes));
    }
    let (now, purpose) = (clock.now(), CodePurpose::ChangeEmail);
    let holder = holder_of(caller);
    if let Err(refusal) = evaluate(connection, now, &holder, purpose, new, codes.new).await? {
        return Ok(Err(refusal));
    }
    let mut shown = Shown::NewMailbox;
    if let Some(code) = codes.present {
        let (address, holder) = (Email::parse(&account.email)?, holder.at_present_mailbox());
        let evaluated = evaluate(connection, now, &holder, purpose, &address, Some(code)).await?;
        if let Err(refusal) = evaluated {
            return Ok(Err(refusal));
        }
        use_up(connection, &holder, purpose).await?;
        shown = Shown::BothMailboxes;
    }
    use_up(connection, &holder, purpose).await?;
    Ok(Ok(shown))
}

async fn prove_by_key(
    connection: &mut PgConnection,
    clock: &Clock,
    account_id: &AccountId,
    key: Option<&str>,
) -> Result<Result<()>> {
    let key = key.unwrap_or_default().trim();
    Ok(match look_up_key(connection, key, clock.now()).await? {
        KeyLookup::Valid { account, scope: Scope::Full, sites, .. }
            if account.account_id == *account_id && sites.are_all() =>
        {
            Ok(())
        }
        _ => Err(Error::InvalidCode),
    })
}

pub fn refusals() -> Vec<Error> {
    vec![Error::InvalidCode, Error::TooManyAttempts { retry_after: 1 }]
}
