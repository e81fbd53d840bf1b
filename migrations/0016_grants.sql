-- Apps that members have connected to the tool server by OAuth, and their tokens.

-- Apps that registered themselves (RFC 7591). Apps named by the address of a document have no row.
CREATE TABLE oauth_clients (
    client_id      text PRIMARY KEY,
    name           text NOT NULL,
    redirect_uris  text[] NOT NULL,
    created_at     timestamptz NOT NULL,
    -- The last time that a member allowed the app something.
    used_at        timestamptz
);
CREATE INDEX oauth_clients_seen ON oauth_clients (COALESCE(used_at, created_at));

-- What a member lets an app do in an account. A grant ends when its row is deleted.
CREATE TABLE grants (
    grant_id      text PRIMARY KEY,
    account_id    text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    -- The membership, as in sessions.
    member_id     uuid,
    address       text NOT NULL,
    -- The session in which it was allowed.
    session_id    uuid NOT NULL,
    client_id     text NOT NULL,
    client_name   text NOT NULL,
    -- The host of the app's document; NULL for an app that registered itself.
    client_host   text,
    scope         text NOT NULL CHECK (scope IN ('full', 'operate', 'read')),
    created_at    timestamptz NOT NULL,
    -- Rounded to the hour.
    last_used_at  timestamptz,
    -- When its newest refresh token expires.
    expires_at    timestamptz NOT NULL,
    -- When the app last called a tool for which the scope does not suffice.
    exceeded_at   timestamptz
);
CREATE INDEX grants_account_id ON grants (account_id);
CREATE INDEX grants_session_id ON grants (session_id);
CREATE INDEX grants_client_id ON grants (client_id);
CREATE INDEX grants_expires_at ON grants (expires_at);

-- Codes that an app exchanges for its first tokens. A used one stays for a while, so that a second use is noticed.
CREATE TABLE oauth_codes (
    code_hash      bytea PRIMARY KEY,
    account_id     text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    member_id      uuid,
    address        text NOT NULL,
    session_id     uuid NOT NULL,
    client_id      text NOT NULL,
    client_name    text NOT NULL,
    client_host    text,
    redirect_uri   text NOT NULL,
    -- SHA-256 of the verifier (RFC 7636).
    challenge      bytea NOT NULL,
    scope          text NOT NULL CHECK (scope IN ('full', 'operate', 'read')),
    expires_at     timestamptz NOT NULL,
    is_used        boolean NOT NULL DEFAULT false,
    grant_id       text
);
CREATE INDEX oauth_codes_account_id ON oauth_codes (account_id);
CREATE INDEX oauth_codes_expires_at ON oauth_codes (expires_at);

CREATE TABLE oauth_tokens (
    token_hash  bytea PRIMARY KEY,
    grant_id    text NOT NULL REFERENCES grants ON DELETE CASCADE,
    is_refresh  boolean NOT NULL,
    expires_at  timestamptz NOT NULL,
    -- A refresh token that was exchanged. A second exchange ends the grant.
    is_used     boolean NOT NULL DEFAULT false
);
CREATE INDEX oauth_tokens_grant_id ON oauth_tokens (grant_id);
CREATE INDEX oauth_tokens_expires_at ON oauth_tokens (expires_at);
