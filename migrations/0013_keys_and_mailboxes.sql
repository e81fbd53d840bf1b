-- What people tell their keys apart by, and which of them stem from a signup token: those end when
-- the token is renewed by a code of the mailbox.
ALTER TABLE api_keys
    ADD COLUMN name text,
    ADD COLUMN last_used_at timestamptz,
    ADD COLUMN from_signup_token boolean NOT NULL DEFAULT true;

-- Of older keys only the operator's are known for sure: those of unlimited accounts, and those that
-- were issued together with their account, which only an unlimited key does. All others may stem
-- from a token, so they end with its renewal.
UPDATE api_keys SET from_signup_token = false
    FROM accounts
    WHERE accounts.account_id = api_keys.account_id
        AND (accounts.plan = 'unlimited' OR accounts.created_at = api_keys.created_at);

-- Whether an operator gave the account its external_user_id. What a public signup claims, an
-- operator's signup takes away again.
ALTER TABLE accounts ADD COLUMN external_user_id_vouched boolean NOT NULL DEFAULT false;
UPDATE accounts SET external_user_id_vouched = true
    WHERE external_user_id IS NOT NULL
        AND EXISTS (SELECT FROM api_keys
            WHERE api_keys.account_id = accounts.account_id
                AND api_keys.created_at = accounts.created_at);

-- How many mails a mailbox may still get, whoever causes them and whether it has an account or not:
-- a bucket that is full again at `full_at`.
CREATE TABLE mailboxes (
    mailbox_hash  bytea PRIMARY KEY,
    full_at       timestamptz NOT NULL
);
CREATE INDEX mailboxes_full_at ON mailboxes (full_at);
