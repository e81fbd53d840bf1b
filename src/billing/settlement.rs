//! Stores what the payment provider reports about a checkout or a subscription. Success page,
//! webhook and a second checkout all read the facts from the provider and store them in the same
//! way, so the result does not depend on their order.

use chrono::{DateTime, Months, Utc};
use sqlx::PgPool;

use super::store;
use super::stripe::provider_reference::{Expandable, ProviderId, Reference};
use super::stripe::session::Session;
use super::stripe::subscription::Subscription;
use super::stripe::{self, Stripe};
use crate::accounts::actor::Actor;
use crate::accounts::event::ActivityKind;
use crate::accounts::events;
use crate::accounts::{lock_account, update_activated};
use crate::clock::Clock;
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::changes::Invalidation;
use crate::types::ids::AccountId;

pub struct Settlement {
    account_id: AccountId,
    subscription: Option<SubscriptionFacts>,
    payment: Option<Payment>,
}

struct SubscriptionFacts {
    id: ProviderId,
    customer_id: Option<ProviderId>,
    ended: bool,
}

enum Payment {
    Until(DateTime<Utc>),
    /// Paid through this session, for a period whose end the provider does not report.
    ForOneMonth(ProviderId),
}

impl Settlement {
    /// The settlement of a session for the account that it names, else `account_id`. `None` when
    /// the session belongs to another product ([`Stripe::is_ours`]).
    pub async fn of_session(
        stripe: &Stripe,
        session: Session,
        account_id: Option<AccountId>,
    ) -> stripe::Result<Option<Self>> {
        let account_id = session.account().or(account_id);
        let Some(account_id) = account_id.filter(|account| stripe.is_ours(&session, account))
        else {
            return Ok(None);
        };
        let is_paid = session.is_paid();
        let subscription_id = session.subscription.as_ref().map(Expandable::id).cloned();
        let found = find_subscription(stripe, session.subscription).await?;
        let paid_until = found.as_ref().and_then(Subscription::paid_until);
        let customer_id = session.customer.as_ref().map(Reference::id).cloned();
        let payment =
            is_paid.then(|| paid_until.map_or(Payment::ForOneMonth(session.id), Payment::Until));
        let subscription =
            subscription_id.map(|id| SubscriptionFacts::new(id, customer_id, found.as_ref()));
        Ok(Some(Self { account_id, subscription, payment }))
    }

    /// `reported` is the end of the paid period if the provider no longer has the subscription.
    pub async fn of_subscription(
        stripe: &Stripe,
        account_id: AccountId,
        id: ProviderId,
        reported: Option<DateTime<Utc>>,
    ) -> stripe::Result<Self> {
        let found = stripe.find_subscription(&id).await?;
        let paid_until = match &found {
            Some(subscription) => subscription.paid_until(),
            None => reported,
        };
        let subscription = Some(SubscriptionFacts::new(id, None, found.as_ref()));
        Ok(Self { account_id, subscription, payment: paid_until.map(Payment::Until) })
    }

    pub fn is_paid(&self) -> bool {
        self.payment.is_some()
    }

    /// Stores the facts. Returns `false` when there is no such account.
    pub async fn record(&self, infra: &Infra) -> Result<bool> {
        let now = infra.clock.now();
        let mut transaction = infra.pool.begin().await?;
        // The lock on the account's row serialises concurrent reports.
        if lock_account(&mut transaction, &self.account_id).await?.is_none() {
            return Ok(false);
        }
        if let Some(SubscriptionFacts { id, customer_id, ended }) = &self.subscription {
            let customer_id = customer_id.as_ref();
            let account_id = &self.account_id;
            store::upsert_subscription(&mut transaction, account_id, id, customer_id, *ended, now)
                .await?;
        }
        let paid_until = match &self.payment {
            Some(Payment::Until(end)) => Some(*end),
            Some(Payment::ForOneMonth(session_id)) => {
                let account_id = &self.account_id;
                let paid_at =
                    store::upsert_paid_checkout(&mut transaction, account_id, session_id, now)
                        .await?;
                paid_at.checked_add_months(Months::new(1))
            }
            None => None,
        };
        let mut invalidation = Invalidation::none();
        if let Some(paid_until) = paid_until {
            let account_id = &self.account_id;
            // A payment activates an account without confirmation of its address, but ends no suspension.
            let activated = update_activated(&mut transaction, account_id).await?;
            let paid = store::update_account_paid(&mut transaction, account_id, paid_until).await?;
            if activated || paid {
                invalidation.add_account(account_id);
            }
            if paid {
                let (actor, kind) = (&Actor::PaymentProvider, ActivityKind::PaymentReceived);
                events::record(&mut transaction, now, account_id, actor, kind, None).await?;
            }
            tracing::info!(%account_id, %paid_until, "billing.account.paid");
        }
        infra.changes.commit(transaction, &invalidation).await?;
        Ok(true)
    }
}

pub async fn end_subscription(
    pool: &PgPool,
    clock: &Clock,
    subscription_id: &ProviderId,
) -> Result<()> {
    let mut transaction = pool.begin().await?;
    let ended = store::update_subscription_ended(&mut transaction, subscription_id).await?;
    if let Some(account_id) = ended {
        let (now, actor) = (clock.now(), &Actor::PaymentProvider);
        let kind = ActivityKind::SubscriptionEnded;
        events::record(&mut transaction, now, &account_id, actor, kind, None).await?;
    }
    transaction.commit().await?;
    Ok(())
}

async fn find_subscription(
    stripe: &Stripe,
    shown: Option<Expandable<Subscription>>,
) -> stripe::Result<Option<Subscription>> {
    match shown {
        None => Ok(None),
        Some(Expandable::Id(id)) => stripe.find_subscription(&id).await,
        Some(Expandable::Whole(shown)) => {
            Ok(stripe.find_subscription(&shown.id).await?.or(Some(shown)))
        }
    }
}

impl SubscriptionFacts {
    fn new(id: ProviderId, customer_id: Option<ProviderId>, found: Option<&Subscription>) -> Self {
        let its_customer =
            || found.and_then(|found| found.customer.as_ref()).map(Reference::id).cloned();
        Self {
            id,
            customer_id: customer_id.or_else(its_customer),
            ended: found.is_some_and(Subscription::has_ended),
        }
    }
}
