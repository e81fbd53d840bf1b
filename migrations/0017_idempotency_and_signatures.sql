-- The first answers to requests with `Idempotency-Key`, kept for a day, and public keys of webhooks.

CREATE TABLE idempotency_keys (
    -- SHA-256 of the credential and the key.
    scope       bytea PRIMARY KEY,
    -- SHA-256 of method, address and body.
    request     bytea NOT NULL,
    -- Of the request that is being, or was, carried out.
    attempt     uuid NOT NULL,
    started_at  timestamptz NOT NULL,
    status      smallint,
    -- Encrypted.
    answer      bytea
);

CREATE INDEX idempotency_keys_started_at_idx ON idempotency_keys (started_at);

-- The public key of an endpoint whose deliveries are signed with Ed25519 as well.
ALTER TABLE webhook_endpoints ADD COLUMN public_key text;
