-- What a key may ask for. A node of the version before takes every key for a full one.
ALTER TABLE api_keys
    ADD COLUMN scope text NOT NULL DEFAULT 'full' CHECK (scope IN ('full', 'operate', 'read'));

-- People beside the account's own address, which is a member with every right and has no row.
CREATE TABLE members (
    member_id   uuid PRIMARY KEY,
    account_id  text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    email       text NOT NULL,
    role        text NOT NULL CHECK (role IN ('full', 'operate', 'read')),
    created_at  timestamptz NOT NULL,
    CONSTRAINT members_account_id_email_key UNIQUE (account_id, email)
);
CREATE INDEX members_email ON members (email);

-- Codes that were mailed for one purpose each. Only hashes: of what the asker holds, and of the code
-- together with asker and address.
CREATE TABLE account_codes (
    asker_hash   bytea NOT NULL,
    purpose      text NOT NULL,
    code_hash    bytea NOT NULL,
    expires_at   timestamptz NOT NULL,
    wrong_tries  integer NOT NULL DEFAULT 0,
    PRIMARY KEY (asker_hash, purpose)
);
CREATE INDEX account_codes_expires_at ON account_codes (expires_at);
