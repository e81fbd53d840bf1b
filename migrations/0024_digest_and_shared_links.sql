-- The weekly digest of an account, and links that show the overview of a site without a sign-in.

-- Accounts that want the digest. It is off for all others.
CREATE TABLE weekly_digests (
    account_id     text PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    turned_on_at   timestamptz NOT NULL,
    -- Minutes after the time at which digests are due, so that not all are sent at once.
    delay_minutes  integer NOT NULL,
    -- The Monday of the latest digest, or of the latest one that was due before it was turned on.
    sent_for       date NOT NULL
);
CREATE INDEX weekly_digests_sent_for ON weekly_digests (sent_for, delay_minutes);

-- A link ends when its row is deleted: it was revoked, it has expired, or its pixel is deleted.
CREATE TABLE shared_links (
    -- SHA-256 of the token, which is stored nowhere.
    token_hash  bytea PRIMARY KEY,
    pixel_id    text NOT NULL REFERENCES pixels ON DELETE CASCADE,
    -- The first characters of the token.
    prefix      text NOT NULL,
    -- Named as in account_events.
    made_by     text NOT NULL,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL,
    CONSTRAINT shared_links_prefix UNIQUE (pixel_id, prefix)
);
CREATE INDEX shared_links_expires_at ON shared_links (expires_at);
