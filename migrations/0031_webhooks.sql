-- Addresses of customers' own servers, which are told what happens.
CREATE TABLE webhook_endpoints (
    endpoint_id      uuid PRIMARY KEY,
    account_id       text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    url              text NOT NULL,
    -- Which events it is told of, and of which pixels; null for all.
    events           text[],
    pixels           text[],
    -- The form of the bodies.
    format           text NOT NULL,
    -- What deliveries are signed with, sealed. After a change the one before signs too, for a while.
    secret           bytea NOT NULL,
    previous_secret  bytea,
    previous_until   timestamptz,
    created_at       timestamptz NOT NULL,
    -- Nothing is sent while it is paused; what happens is kept for later.
    paused_at        timestamptz,
    paused_because   text,
    -- The first of the failures since the last success, and how many there were.
    failing_since    timestamptz,
    failures         integer NOT NULL DEFAULT 0,
    -- Nothing is sent before, while it fails.
    retry_at         timestamptz,
    -- The one node that sends, and until when it is the only one.
    claimed_by       uuid,
    claimed_until    timestamptz,
    CHECK ((paused_at IS NULL) = (paused_because IS NULL)),
    CHECK ((previous_secret IS NULL) = (previous_until IS NULL))
);
CREATE INDEX webhook_endpoints_account_id ON webhook_endpoints (account_id);

CREATE SEQUENCE webhook_delivery_seq;

-- What happened, once for each endpoint that is to be told: written in the transaction that causes it.
-- Ids only; what is sent is made of the present state at every attempt.
--
-- No foreign keys: a row is written for an endpoint that may have ended a moment ago.
CREATE TABLE webhook_deliveries (
    -- Of what concerns the account as a whole, the account's id.
    pixel_id         text NOT NULL,
    -- The order in which things happened.
    seq              bigint NOT NULL DEFAULT nextval('webhook_delivery_seq'),
    endpoint_id      uuid NOT NULL,
    -- The same for all endpoints, and in every attempt.
    event_id         uuid NOT NULL,
    kind             text NOT NULL,
    -- The ids of what it happened to.
    subject          jsonb NOT NULL,
    occurred_at      timestamptz NOT NULL,
    -- Null once it arrived, was given up, or was not needed any more.
    next_attempt_at  timestamptz,
    attempts         integer NOT NULL DEFAULT 0,
    -- The first attempt that failed, and the last of all.
    failing_since    timestamptz,
    attempted_at     timestamptz,
    delivered_at     timestamptz,
    -- What the last attempt was answered: a status and the beginning of the body, or why there is none.
    status           integer,
    answer           text,
    failure          text,
    PRIMARY KEY (pixel_id, seq)
);
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (endpoint_id, seq)
    WHERE next_attempt_at IS NOT NULL;
CREATE INDEX webhook_deliveries_attempted ON webhook_deliveries (endpoint_id, attempted_at)
    WHERE attempted_at IS NOT NULL;
