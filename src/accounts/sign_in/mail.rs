use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;

use super::secrets::{SIGN_IN_LIFE, Secrets};
use super::store::{self, Destination};
use crate::accounts::event::ActivityKind;
use crate::accounts::limits::buckets::{Bucket, BucketKey, take};
use crate::accounts::mails::recipient;
use crate::accounts::members::member::{Membership, member_of, membership_in};
use crate::accounts::store as accounts;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::limits::client_net::ClientNet;
use crate::infra::outbox::{ClaimedMail, Kind, NewMail};
use crate::infra::requested_language::Requested;
use crate::infra::smtp::RenderedMail;
use crate::infra::templates::tr;
use crate::types::email::Email;
use crate::types::mailbox::Mailbox;

#[derive(Deserialize, Serialize)]
struct Sealed {
    address: String,
    code: String,
    token_hash: Vec<u8>,
    #[serde(default)]
    requested: Requested,
}

/// Sign-in mails to an unconfirmed owner. Few are allowed, because somebody else may have opened
/// the account, and the confirmation mail contains digits as well.
const UNCONFIRMED: Bucket = Bucket { at_once: 1, then_one_every: Duration::days(1) };
/// Sign-in mails to an invited member who has never signed in. A stranger must not use up the member's mails.
const INVITED_PER_CLIENT: Bucket = Bucket { at_once: 3, then_one_every: Duration::hours(6) };
/// The same, requested from all networks together.
const INVITED: Bucket = Bucket { at_once: 15, then_one_every: Duration::hours(3) };

#[derive(Clone, Copy)]
pub enum Counting {
    /// A sign-in requested from this network. More of these are allowed than of other mails.
    SignIn(ClientNet),
    AnyMail,
}

/// Mails the digits if the address is a member's. They are valid only for the account in which the
/// sign-in began, or else for the first account of the address. People who have never proven that
/// they read the mailbox get fewer mails.
pub async fn send(
    infra: &Infra,
    email: &Email,
    secrets: &Secrets,
    destination: Option<Destination>,
    counting: Counting,
) -> Result<()> {
    let address = email.as_str();
    let mut transaction = infra.pool.begin().await?;
    let membership = match destination {
        Some(to) => membership_in(&mut transaction, &to.account_id, address)
            .await?
            .filter(|membership| membership.member_id == to.member_id),
        None => member_of(&mut transaction, address).await?,
    };
    let Some(membership) = membership else { return Ok(()) };
    if let Counting::SignIn(net) = counting
        && !admit_unproven(&mut transaction, infra.clock.now(), net, &membership, email).await?
    {
        return Ok(());
    }
    let Membership { account, member_id, .. } = membership;
    let to = Destination { account_id: account.account_id.clone(), member_id };
    if !store::update_destination(&mut transaction, &secrets.token_hash(), &to).await? {
        return Ok(());
    }
    let sealed = Sealed {
        address: email.as_str().to_owned(),
        code: secrets.code.clone(),
        token_hash: secrets.token_hash(),
        requested: Requested::current(),
    };
    let account_id = Some(&account.account_id);
    let new = NewMail { kind: Kind::SignIn, account_id, pixel_id: None };
    let mail = infra.outbox.put(&mut transaction, new, &sealed).await?;
    transaction.commit().await?;
    let Some(mail) = mail else { return Ok(()) };
    let rendered = rendered(infra, &mail).await;
    infra.outbox.deliver(&mail, rendered).await?;
    Ok(())
}

/// Counts a mail to a person who has never proven that they read the mailbox. `false` at the limit.
async fn admit_unproven(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    net: ClientNet,
    membership: &Membership,
    email: &Email,
) -> Result<bool> {
    let mailbox = Mailbox::of(email);
    let buckets = match membership.member_id {
        None if membership.account.is_verified() => return Ok(true),
        None => vec![(BucketKey::unconfirmed_sign_ins(&mailbox), UNCONFIRMED)],
        Some(_) if has_signed_in(connection, membership, email).await? => return Ok(true),
        Some(_) => {
            let from = |net| (BucketKey::invited_sign_ins_from(&mailbox, net), INVITED_PER_CLIENT);
            let together = (BucketKey::invited_sign_ins(&mailbox), INVITED);
            net.nets().map(from).chain([together]).collect()
        }
    };
    let too_many = |retry_after| Error::TooManyRequests { retry_after };
    for (key, bucket) in buckets {
        match take(connection, &key, now, bucket, too_many).await {
            Ok(()) => {}
            Err(Error::TooManyRequests { .. }) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

async fn has_signed_in(
    connection: &mut PgConnection,
    membership: &Membership,
    email: &Email,
) -> Result<bool> {
    let (account_id, kind) = (&membership.account.account_id, ActivityKind::SignedIn);
    let newest = accounts::list_newest_of_kind(connection, account_id, kind).await?;
    Ok(newest.iter().any(|(actor, _)| actor == email.as_str()))
}

pub async fn rendered(infra: &Infra, mail: &ClaimedMail) -> Result<Option<RenderedMail>> {
    let sealed = infra.outbox.secrets::<Sealed>(mail)?;
    let mut connection = infra.pool.acquire().await?;
    if !store::is_waiting(&mut connection, &sealed.token_hash, infra.clock.now()).await? {
        return Ok(None);
    }
    let Sealed { address, code, requested, .. } = sealed;
    let recipient = recipient::in_language_of(&mut connection, &address, requested).await?;
    let minutes = SIGN_IN_LIFE.num_minutes();
    Ok(Some(RenderedMail {
        to: Email::parse(&address)?.address().map_err(Error::internal)?,
        subject: tr("{{ code }} signs you in to Assent").with("code", &code),
        values: json!({ "code": code, "minutes": minutes, "base_url": infra.base_url() }),
        recipient,
        unsubscribe_url: None,
    }))
}
