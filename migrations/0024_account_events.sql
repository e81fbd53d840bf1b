-- Who did what in an account. No foreign key: a row would lock the account behind a pixel that is
-- locked already, and everybody else takes these two the other way round. Whoever deletes an account
-- deletes its rows here.
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

-- Since when the account is being deleted, for whoever finds it half deleted.
ALTER TABLE accounts ADD COLUMN deleting_since timestamptz;
CREATE INDEX accounts_deleting_since ON accounts (deleting_since) WHERE deleting_since IS NOT NULL;
