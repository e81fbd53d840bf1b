-- Hosts that somebody says are theirs, until they prove it. One claim per account and host.
CREATE TABLE pixel_claims (
    token_hash  bytea PRIMARY KEY,
    account_id  text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    domain      text NOT NULL,
    -- The id that the pixel gets.
    pixel_id    text NOT NULL,
    expires_at  timestamptz NOT NULL,
    -- When it took effect.
    taken_at    timestamptz,
    CONSTRAINT pixel_claims_host UNIQUE (account_id, domain)
);
CREATE INDEX pixel_claims_expires_at ON pixel_claims (expires_at);
