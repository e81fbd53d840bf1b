-- Keys that end, and keys and members that may use only some sites of an account.

ALTER TABLE api_keys
    -- NULL for a key that works until it is revoked.
    ADD COLUMN expires_at timestamptz,
    -- The pixels that the key may use, or NULL for all. Pixels that are gone stay in the list.
    ADD COLUMN pixels text[],
    -- When the mail about the end was put into the outbox, and when the end was written into account_events.
    ADD COLUMN expiry_told_at timestamptz,
    ADD COLUMN expiry_noted_at timestamptz;

CREATE INDEX api_keys_expiring ON api_keys (expires_at)
    WHERE expires_at IS NOT NULL AND revoked_at IS NULL AND expiry_noted_at IS NULL;

-- As api_keys.pixels.
ALTER TABLE members ADD COLUMN pixels text[];
