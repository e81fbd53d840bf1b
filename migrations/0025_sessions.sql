-- Who is signed in to the console. A session is good for as long as its address is a member's.
CREATE TABLE sessions (
    token_hash    bytea PRIMARY KEY,
    -- By which people tell it from their others.
    session_id    uuid NOT NULL UNIQUE,
    account_id    text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    address       text NOT NULL,
    -- "Firefox on Windows", as the browser said.
    browser       text NOT NULL,
    created_at    timestamptz NOT NULL,
    -- To the hour.
    last_seen_at  timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL
);
CREATE INDEX sessions_account_id ON sessions (account_id);
CREATE INDEX sessions_expires_at ON sessions (expires_at);

-- Sign-ins that wait for their six digits, each of the one browser that holds the token. There is a row
-- whether the address is known or not.
CREATE TABLE sign_ins (
    token_hash   bytea PRIMARY KEY,
    address      text NOT NULL,
    -- Of a signup only: the account whose confirmation code is waited for.
    account_id   text REFERENCES accounts ON DELETE CASCADE,
    code_hash    bytea NOT NULL,
    wrong_tries  integer NOT NULL DEFAULT 0,
    expires_at   timestamptz NOT NULL
);
CREATE INDEX sign_ins_account_id ON sign_ins (account_id);
CREATE INDEX sign_ins_expires_at ON sign_ins (expires_at);
