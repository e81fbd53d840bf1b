-- Who pays, as far as the service must remember it. Periods, prices and invoices are kept by the payment
-- provider, which is asked again whenever something depends on them.

-- `ended`: the provider reported that the subscription has ended permanently.
CREATE TABLE subscriptions (
    subscription_id  text PRIMARY KEY,
    account_id       text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    customer_id      text,
    ended            boolean NOT NULL,
    known_since      timestamptz NOT NULL
);
CREATE INDEX subscriptions_account_id ON subscriptions (account_id, known_since);

-- The open checkout of an account. There is one at a time, so that nobody pays twice. The key is stored before
-- the provider is called, so that a call whose answer was lost is repeated with the same key.
CREATE TABLE checkout_attempts (
    account_id       text PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    idempotency_key  text NOT NULL,
    session_id       text,
    started_at       timestamptz NOT NULL
);

-- When a checkout session was first seen paid. If the provider does not report a period, it counts from then.
CREATE TABLE paid_checkouts (
    session_id  text PRIMARY KEY,
    account_id  text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    paid_at     timestamptz NOT NULL
);
CREATE INDEX paid_checkouts_account_id ON paid_checkouts (account_id);

-- Invoices whose payment failed, and when the owner was told.
CREATE TABLE failed_invoices (
    invoice_id  text PRIMARY KEY,
    account_id  text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    told_at     timestamptz NOT NULL,
    paid_at     timestamptz
);
CREATE INDEX failed_invoices_account_id ON failed_invoices (account_id);
