-- Mails that were promised and not yet handed over. A row is written in the transaction that causes
-- the mail, and deleted once the mail was sent, undone or given up.
--
-- No foreign keys: a row would lock the account behind a pixel that is locked already, and everybody
-- else takes these two the other way round. Whoever deletes an account or a pixel deletes its rows
-- here, and a mail whose subject is gone is not sent.
CREATE TABLE outbox (
    -- The same in every attempt, as Message-ID, so that a mailbox can tell a second copy.
    message_id       uuid PRIMARY KEY,
    kind             text NOT NULL,
    -- Whom and what the mail is about; its text is built from their rows at every attempt.
    account_id       text,
    pixel_id         text,
    -- What must not lie in the clear: links, codes, recipients that are in no other table.
    sealed           bytea NOT NULL,
    created_at       timestamptz NOT NULL,
    next_attempt_at  timestamptz NOT NULL,
    attempts         integer NOT NULL,
    give_up_at       timestamptz NOT NULL,
    -- Until then the attempt is one node's alone.
    claimed_until    timestamptz
);
CREATE INDEX outbox_next_attempt_at ON outbox (next_attempt_at);
CREATE INDEX outbox_account_id ON outbox (account_id);
CREATE INDEX outbox_pixel_id ON outbox (pixel_id);
