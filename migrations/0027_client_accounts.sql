-- Several accounts of one address, and accounts that are offered to clients.

ALTER TABLE accounts
    -- Whether the account was opened in the console for a proven address that had an account already. A
    -- sign-up never opens such an account.
    ADD COLUMN shares_address boolean NOT NULL DEFAULT false;

ALTER TABLE accounts DROP CONSTRAINT accounts_email_key;
CREATE UNIQUE INDEX accounts_email_key ON accounts (email) WHERE NOT shares_address;
CREATE INDEX accounts_email ON accounts (email);

-- Accounts that do not exist until the client confirms. A confirmed or cancelled row is deleted.
CREATE TABLE client_invitations (
    invitation_id  uuid PRIMARY KEY,
    -- The asker's first account, whose activity log records the invitation.
    account_id     text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    asker          text NOT NULL,
    client         text NOT NULL,
    display_name   text NOT NULL,
    -- What the asker may do in the client's account.
    role           text NOT NULL CHECK (role IN ('full', 'operate', 'read')),
    -- SHA-256 of the token in the link of the latest mail.
    token_hash     bytea NOT NULL CONSTRAINT client_invitations_token_hash_key UNIQUE,
    created_at     timestamptz NOT NULL,
    mailed_at      timestamptz NOT NULL,
    expires_at     timestamptz NOT NULL,
    -- When the client declined. The row is then kept, so that the asker cannot ask again.
    declined_at    timestamptz,
    CONSTRAINT client_invitations_asker_client_key UNIQUE (asker, client)
);
CREATE INDEX client_invitations_account_id ON client_invitations (account_id);
CREATE INDEX client_invitations_expires_at ON client_invitations (expires_at);
