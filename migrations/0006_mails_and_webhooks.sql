-- What the service sends: mails with their limits, and webhooks.

-- How many mails a mailbox may still receive, whoever causes them and whether it has an account or not. Each
-- row is a token bucket that is full again at `full_at`.
CREATE TABLE mailboxes (
    mailbox_hash  bytea PRIMARY KEY,
    full_at       timestamptz NOT NULL
);
CREATE INDEX mailboxes_full_at ON mailboxes (full_at);

-- Mails that an account does not want. A mail that is not listed here is sent.
CREATE TABLE mails_off (
    account_id     text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    mail           text NOT NULL,
    turned_off_at  timestamptz NOT NULL,
    PRIMARY KEY (account_id, mail)
);

-- Mails that have not been handed to a mail server yet. A row is inserted in the transaction that causes the
-- mail, and deleted once the mail was sent, cancelled or given up.
--
-- No foreign keys: inserting a row would lock the account after a pixel was locked, and everything else locks
-- the account first, so deadlocks would follow. Code that deletes an account or a pixel deletes its rows here,
-- and a mail whose account or pixel is gone is not sent.
CREATE TABLE outbox (
    -- The Message-ID. It is the same in every attempt, so that a mailbox can recognise a second copy.
    message_id       uuid PRIMARY KEY,
    kind             text NOT NULL,
    -- Whom and what the mail is about. Its text is built from their rows at every attempt.
    account_id       text,
    pixel_id         text,
    -- Encrypted: links, codes, and recipients that are in no other table.
    sealed           bytea NOT NULL,
    created_at       timestamptz NOT NULL,
    next_attempt_at  timestamptz NOT NULL,
    attempts         integer NOT NULL,
    give_up_at       timestamptz NOT NULL,
    -- Until then only one node makes the attempt.
    claimed_until    timestamptz,
    -- Whether an attempt may have reached the mailbox without an answer from the mail server. If so, a later
    -- refusal does not undo what the mail belongs to.
    unanswered       boolean NOT NULL DEFAULT false
);
CREATE INDEX outbox_next_attempt_at ON outbox (next_attempt_at);
CREATE INDEX outbox_account_id ON outbox (account_id);
CREATE INDEX outbox_pixel_id ON outbox (pixel_id);

-- Addresses of customers' servers that receive events.
CREATE TABLE webhook_endpoints (
    endpoint_id      uuid PRIMARY KEY,
    account_id       text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    url              text NOT NULL,
    -- Which events are sent, and of which pixels. NULL for all.
    events           text[],
    pixels           text[],
    -- The format of the bodies.
    format           text NOT NULL,
    -- The encrypted secret that deliveries are signed with. After a change the previous one signs as well, for
    -- a limited time.
    secret           bytea NOT NULL,
    previous_secret  bytea,
    previous_until   timestamptz,
    created_at       timestamptz NOT NULL,
    -- While an endpoint is paused nothing is sent, and new events are kept.
    paused_at        timestamptz,
    paused_because   text,
    -- The time of the first failure since the last success, and the number of failures.
    failing_since    timestamptz,
    failures         integer NOT NULL DEFAULT 0,
    -- After a failure nothing is sent before this time.
    retry_at         timestamptz,
    -- The node that sends, and until when no other node does.
    claimed_by       uuid,
    claimed_until    timestamptz,
    CHECK ((paused_at IS NULL) = (paused_because IS NULL)),
    CHECK ((previous_secret IS NULL) = (previous_until IS NULL))
);
CREATE INDEX webhook_endpoints_account_id ON webhook_endpoints (account_id);

CREATE SEQUENCE webhook_delivery_seq;

-- Events, one row for each endpoint that is to receive it, inserted in the transaction that causes the event.
-- Rows contain only ids. The body is built from the present state at every attempt.
--
-- No foreign keys: a row may be inserted for an endpoint that was deleted a moment before.
CREATE TABLE webhook_deliveries (
    -- The account's id for events that concern the whole account.
    pixel_id         text NOT NULL,
    -- The order in which the events happened.
    seq              bigint NOT NULL DEFAULT nextval('webhook_delivery_seq'),
    endpoint_id      uuid NOT NULL,
    -- The same for all endpoints and in every attempt.
    event_id         uuid NOT NULL,
    kind             text NOT NULL,
    -- The ids of what the event is about.
    subject          jsonb NOT NULL,
    occurred_at      timestamptz NOT NULL,
    -- NULL once the event arrived, was given up, or is not needed any more.
    next_attempt_at  timestamptz,
    attempts         integer NOT NULL DEFAULT 0,
    -- The time of the first attempt that failed, and of the last attempt.
    failing_since    timestamptz,
    attempted_at     timestamptz,
    delivered_at     timestamptz,
    -- The answer to the last attempt: its status and the beginning of its body, or why there is none.
    status           integer,
    answer           text,
    failure          text,
    PRIMARY KEY (pixel_id, seq)
);
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (endpoint_id, seq)
    WHERE next_attempt_at IS NOT NULL;
CREATE INDEX webhook_deliveries_attempted ON webhook_deliveries (endpoint_id, attempted_at)
    WHERE attempted_at IS NOT NULL;
