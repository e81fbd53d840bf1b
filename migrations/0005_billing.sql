-- Who pays, as far as the service must remember it: periods, prices and receipts are the payment
-- provider's, which is asked again whenever something is decided.

-- `ended`: the provider said that the subscription is over for good.
CREATE TABLE subscriptions (
    subscription_id  text PRIMARY KEY,
    account_id       text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    customer_id      text,
    ended            boolean NOT NULL,
    known_since      timestamptz NOT NULL
);
CREATE INDEX subscriptions_account_id ON subscriptions (account_id, known_since);

-- The checkout that an account has open: one at a time, so that nobody pays twice. The key is
-- stored before the provider is asked, so that a lost answer is asked for again, not anew.
CREATE TABLE checkout_attempts (
    account_id       text PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    idempotency_key  text NOT NULL,
    session_id       text,
    started_at       timestamptz NOT NULL
);

-- When a session was first seen paid: a period that the provider does not report counts from then.
CREATE TABLE paid_checkouts (
    session_id  text PRIMARY KEY,
    account_id  text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    paid_at     timestamptz NOT NULL
);
CREATE INDEX paid_checkouts_account_id ON paid_checkouts (account_id);
