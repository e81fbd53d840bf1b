-- Accounts, what proves who somebody is, and what was mailed when.

CREATE TABLE accounts (
    account_id          text PRIMARY KEY,
    email               text NOT NULL CONSTRAINT accounts_email_key UNIQUE,
    display_name        text NOT NULL,
    external_user_id    text CONSTRAINT accounts_external_user_id_key UNIQUE,
    referral_code       text,
    status              text NOT NULL CHECK (status IN ('pending_email', 'active', 'suspended')),
    plan                text NOT NULL CHECK (plan IN ('free', 'paid', 'unlimited')),
    email_verified_at   timestamptz,
    -- The status before a suspension, to go back to.
    suspended_from      text CHECK (suspended_from IN ('pending_email', 'active')),
    created_at          timestamptz NOT NULL,
    trial_ends_at       timestamptz NOT NULL,
    paid_until          timestamptz,
    confirmation_mailed_at timestamptz
);

CREATE TABLE api_keys (
    key_hash    bytea PRIMARY KEY,
    account_id  text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    prefix      text NOT NULL CONSTRAINT api_keys_prefix_key UNIQUE,
    created_at  timestamptz NOT NULL,
    revoked_at  timestamptz
);
CREATE INDEX api_keys_account_id ON api_keys (account_id);

-- One per account: a new token ends the old one.
CREATE TABLE signup_tokens (
    account_id  text PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    token_hash  bytea NOT NULL,
    expires_at  timestamptz NOT NULL
);

-- Links stay valid when another is sent, so an account may have several.
CREATE TABLE confirmation_links (
    token_hash  bytea PRIMARY KEY,
    account_id  text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    expires_at  timestamptz NOT NULL
);
CREATE INDEX confirmation_links_account_id ON confirmation_links (account_id);

-- One per account: a new code ends the old one.
CREATE TABLE confirmation_codes (
    account_id   text PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    code_hash    bytea NOT NULL,
    expires_at   timestamptz NOT NULL,
    wrong_tries  integer NOT NULL DEFAULT 0
);

-- Counted per address, whether it has an account or not, so that nobody learns which do.
CREATE TABLE code_requests (
    address_hash  bytea PRIMARY KEY,
    last_sent_at  timestamptz NOT NULL,
    sent_on       date NOT NULL,
    resent        integer NOT NULL
);
