-- Accounts, their members, credentials and sessions, and the record of what was done in them.

CREATE TABLE accounts (
    account_id                text PRIMARY KEY,
    email                     text NOT NULL CONSTRAINT accounts_email_key UNIQUE,
    display_name              text NOT NULL,
    external_user_id          text CONSTRAINT accounts_external_user_id_key UNIQUE,
    referral_code             text,
    status                    text NOT NULL CHECK (status IN ('pending_email', 'active', 'suspended')),
    plan                      text NOT NULL CHECK (plan IN ('free', 'paid', 'unlimited')),
    email_verified_at         timestamptz,
    -- The status before a suspension. The account returns to it when the suspension ends.
    suspended_from            text CHECK (suspended_from IN ('pending_email', 'active')),
    created_at                timestamptz NOT NULL,
    trial_ends_at             timestamptz NOT NULL,
    paid_until                timestamptz,
    confirmation_mailed_at    timestamptz,
    -- Whether an operator set external_user_id. An operator's signup may take an id away from an account
    -- that claimed it in a public signup, but not from one for which an operator set it.
    external_user_id_vouched  boolean NOT NULL DEFAULT false,
    -- When the deletion of the account began. A deletion that was interrupted is found by this.
    deleting_since            timestamptz,
    -- The last reminder of the end of the trial that the owner was sent: 7 or 1 days before it.
    trial_told_days           smallint
);
-- An hourly job deletes accounts whose address was never confirmed.
CREATE INDEX accounts_pending ON accounts (created_at) WHERE status = 'pending_email';
CREATE INDEX accounts_deleting_since ON accounts (deleting_since) WHERE deleting_since IS NOT NULL;
CREATE INDEX accounts_trial_untold ON accounts (trial_ends_at)
    WHERE plan = 'free' AND trial_told_days IS NULL;
CREATE INDEX accounts_trial_told ON accounts (trial_ends_at)
    WHERE plan = 'free' AND trial_told_days = 7;

-- The members of an account, without its own address: that one has every right and no row here.
CREATE TABLE members (
    member_id   uuid PRIMARY KEY,
    account_id  text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    email       text NOT NULL,
    role        text NOT NULL CHECK (role IN ('full', 'operate', 'read')),
    created_at  timestamptz NOT NULL,
    CONSTRAINT members_account_id_email_key UNIQUE (account_id, email)
);
CREATE INDEX members_email ON members (email);

CREATE TABLE api_keys (
    key_hash           bytea PRIMARY KEY,
    account_id         text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    prefix             text NOT NULL CONSTRAINT api_keys_prefix_key UNIQUE,
    created_at         timestamptz NOT NULL,
    revoked_at         timestamptz,
    name               text,
    last_used_at       timestamptz,
    -- Whether the key was issued for a signup token. Such keys are revoked when the token is renewed by a
    -- code that was sent to the mailbox.
    from_signup_token  boolean NOT NULL DEFAULT true,
    scope              text NOT NULL DEFAULT 'full' CHECK (scope IN ('full', 'operate', 'read')),
    -- Who made the key, in the form of account_events.actor.
    made_by            text
);
CREATE INDEX api_keys_account_id ON api_keys (account_id);

-- One row per account: a new token replaces the old one.
CREATE TABLE signup_tokens (
    account_id  text PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    token_hash  bytea NOT NULL,
    expires_at  timestamptz NOT NULL
);

-- A link stays valid when another one is sent, so an account may have several.
CREATE TABLE confirmation_links (
    token_hash  bytea PRIMARY KEY,
    account_id  text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    expires_at  timestamptz NOT NULL
);
CREATE INDEX confirmation_links_account_id ON confirmation_links (account_id);

-- One row per account: a new code replaces the old one.
CREATE TABLE confirmation_codes (
    account_id     text PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    code_hash      bytea NOT NULL,
    expires_at     timestamptz NOT NULL,
    wrong_tries    integer NOT NULL DEFAULT 0,
    -- A code renews the signup token once. After that it can still confirm the address.
    renewed_token  boolean NOT NULL DEFAULT false
);

-- Counted for every address, with or without an account, so that the answer does not tell whether there is
-- an account.
CREATE TABLE code_requests (
    address_hash  bytea PRIMARY KEY,
    last_sent_at  timestamptz NOT NULL,
    sent_on       date NOT NULL,
    resent        integer NOT NULL
);

-- Codes that were mailed, each for one purpose. Both hashes are one-way: asker_hash is of what the asker
-- holds, code_hash is of the code together with the asker and the address.
CREATE TABLE account_codes (
    asker_hash   bytea NOT NULL,
    purpose      text NOT NULL,
    code_hash    bytea NOT NULL,
    expires_at   timestamptz NOT NULL,
    wrong_tries  integer NOT NULL DEFAULT 0,
    PRIMARY KEY (asker_hash, purpose)
);
CREATE INDEX account_codes_expires_at ON account_codes (expires_at);

-- Sessions of the console. A session is valid as long as its address belongs to the account.
CREATE TABLE sessions (
    token_hash    bytea PRIMARY KEY,
    -- Identifies the session in the list that people see.
    session_id    uuid NOT NULL UNIQUE,
    account_id    text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    address       text NOT NULL,
    -- For example "Firefox on Windows", derived from what the browser sent.
    browser       text NOT NULL,
    created_at    timestamptz NOT NULL,
    -- Rounded to the hour.
    last_seen_at  timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,
    -- The membership that the session belongs to: members.member_id, or NULL for the account's own address.
    -- A session whose membership has ended stays invalid when the same address becomes a member again.
    member_id     uuid,
    -- The accounts that the session was in before it was switched to another one. Their owners still see it
    -- and can end it.
    entered       text[] NOT NULL DEFAULT '{}'
);
CREATE INDEX sessions_account_id ON sessions (account_id);
CREATE INDEX sessions_address ON sessions (address);
CREATE INDEX sessions_entered ON sessions USING gin (entered);
CREATE INDEX sessions_expires_at ON sessions (expires_at);

-- Sign-ins that wait for their six digits. Each belongs to the one browser that holds the token. There is a
-- row whether the address is known or not.
CREATE TABLE sign_ins (
    token_hash       bytea PRIMARY KEY,
    address          text NOT NULL,
    -- Only for a signup: the account whose confirmation code is expected.
    account_id       text REFERENCES accounts ON DELETE CASCADE,
    code_hash        bytea NOT NULL,
    wrong_tries      integer NOT NULL DEFAULT 0,
    expires_at       timestamptz NOT NULL,
    -- The account and the membership that the sign-in opens: those of the session in which it began, or those
    -- of the address that was written to. NULL until the digits are mailed.
    into_account_id  text REFERENCES accounts ON DELETE CASCADE,
    into_member_id   uuid
);
CREATE INDEX sign_ins_account_id ON sign_ins (account_id);
CREATE INDEX sign_ins_into_account_id ON sign_ins (into_account_id);
CREATE INDEX sign_ins_expires_at ON sign_ins (expires_at);

-- Changes of an account's address that were requested without a code from the present mailbox. They take
-- effect after some days, in which the present mailbox can cancel them.
CREATE TABLE address_changes (
    account_id       text PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    new_address      text NOT NULL,
    -- The time of the first of the requests that this one has replaced.
    began_at         timestamptz NOT NULL,
    takes_effect_at  timestamptz NOT NULL,
    -- When the account withdrew the change. The links stay valid until the change would have taken effect, so
    -- that what was made since it began can still be undone.
    withdrawn_at     timestamptz,
    -- Who asked last, in the form of account_events.actor, and the session if it was a member.
    asked_by         text NOT NULL,
    asked_session    uuid,
    -- SHA-256 of the tokens in the cancelling links of all mails that were sent since began_at.
    link_hashes      bytea[] NOT NULL
);
CREATE INDEX address_changes_takes_effect_at ON address_changes (takes_effect_at);
CREATE INDEX address_changes_link_hashes ON address_changes USING gin (link_hashes);

-- Who did what in an account.
--
-- No foreign key: inserting a row would lock the account after a pixel was locked, and everything else locks
-- the account first, so deadlocks would follow. Code that deletes an account deletes its rows here.
CREATE TABLE account_events (
    event_id     uuid PRIMARY KEY,
    account_id   text NOT NULL,
    happened_at  timestamptz NOT NULL,
    kind         text NOT NULL,
    actor        text NOT NULL,
    subject      text
);
CREATE INDEX account_events_account_id ON account_events (account_id, event_id);
CREATE INDEX account_events_happened_at ON account_events (happened_at);
