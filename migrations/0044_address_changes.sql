-- Changes of an account's address that were asked for without a code of its present mailbox. They wait for
-- some days, in which the present mailbox can cancel them.
CREATE TABLE address_changes (
    account_id       text PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    new_address      text NOT NULL,
    -- When the first of the requests was made that this one has replaced.
    began_at         timestamptz NOT NULL,
    takes_effect_at  timestamptz NOT NULL,
    -- When the account withdrew it. Its links work until it would have taken effect, for what was made since.
    withdrawn_at     timestamptz,
    -- Who asked last, as the account's events name the actor; the session of a member.
    asked_by         text NOT NULL,
    asked_session    uuid,
    -- SHA-256 of the tokens in the links that cancel it: of every mail since it began.
    link_hashes      bytea[] NOT NULL
);
CREATE INDEX address_changes_takes_effect_at ON address_changes (takes_effect_at);
CREATE INDEX address_changes_link_hashes ON address_changes USING gin (link_hashes);
