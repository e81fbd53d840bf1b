-- The people that were resolved on each pixel's site, how their consent ends, who must not be stored, and
-- requests for erasure.
--
-- contacts, contact_counters, contact_visitors, withdrawn_contacts and consent_changes can be distributed by
-- pixel_id like receipts (0004_receipts.sql), so they have no foreign keys. Code that deletes a pixel locks its
-- row first and then deletes its rows here.

CREATE TABLE contacts (
    pixel_id      text NOT NULL,
    -- Taken from contact_counters, so that the ids of a pixel become visible in rising order.
    id            bigint NOT NULL,
    hem           bytea NOT NULL CHECK (octet_length(hem) = 32),
    -- When the person was first seen, in UTC, as it is shown. Text keeps the fraction of a second exactly as it
    -- was given.
    resolved_at   text NOT NULL,
    resolved_on   date NOT NULL,
    contact       json NOT NULL,
    -- The visitor whose consent the contact depends on, and the acceptance with which it was last stored. NULL
    -- if the contact depends on no consent.
    visitor_id    text,
    receipt_id    uuid,
    bound_seq     bigint,
    -- When to check again whether the consent has expired.
    judge_at      timestamptz,
    -- Its place in the order of changes, taken from contact_counters. NULL means the same as id.
    change        bigint,
    -- In the form of resolved_at. NULL means the same as resolved_at.
    last_seen_at  text,
    visits        integer NOT NULL DEFAULT 1,
    -- When the end of the consent was noted. Stays until the contact is stored with a newer consent.
    hidden_at     timestamptz,
    PRIMARY KEY (pixel_id, id)
);
CREATE UNIQUE INDEX contacts_hem ON contacts (pixel_id, hem);
CREATE INDEX contacts_day ON contacts (pixel_id, resolved_on, id);
CREATE INDEX contacts_change ON contacts (pixel_id, (COALESCE(change, id)));
CREATE INDEX contacts_judge_at ON contacts (judge_at) WHERE judge_at IS NOT NULL;
CREATE INDEX contacts_hidden_at ON contacts (hidden_at) WHERE hidden_at IS NOT NULL;

-- The last id that was given out for a pixel. It never decreases, whatever is erased.
CREATE TABLE contact_counters (
    pixel_id  text PRIMARY KEY,
    last_id   bigint NOT NULL
);

-- New contacts per account and UTC calendar month (its first day). The number never decreases, whatever is
-- erased or deleted.
CREATE TABLE contact_usage (
    account_id       text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    month            date NOT NULL,
    stored           bigint NOT NULL,
    -- The share of the month's allowance that was reached (0, 80 or 100 percent), and the share that the owner
    -- was told of.
    reached_percent  smallint NOT NULL DEFAULT 0,
    told_percent     smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, month)
);
CREATE INDEX contact_usage_untold ON contact_usage (month) WHERE reached_percent > told_percent;

-- All visitors with whose consent a contact was ever stored. Code that deletes a contact deletes its rows here.
CREATE TABLE contact_visitors (
    pixel_id    text NOT NULL,
    contact_id  bigint NOT NULL,
    visitor_id  text NOT NULL,
    PRIMARY KEY (pixel_id, contact_id, visitor_id)
);
CREATE INDEX contact_visitors_visitor ON contact_visitors (visitor_id, pixel_id);

-- Contacts whose consent has ended, including those that were erased afterwards. `position` is taken from
-- contact_counters, so that entries become visible in rising order.
CREATE TABLE withdrawn_contacts (
    pixel_id      text NOT NULL,
    position      bigint NOT NULL,
    contact_id    bigint NOT NULL,
    withdrawn_at  timestamptz NOT NULL,
    PRIMARY KEY (pixel_id, position)
);
CREATE UNIQUE INDEX withdrawn_contacts_contact ON withdrawn_contacts (pixel_id, contact_id);
CREATE INDEX withdrawn_contacts_withdrawn_at ON withdrawn_contacts (withdrawn_at);

-- Visitors of contacts whose consent may have ended. A job checks them and deletes the row.
CREATE TABLE consent_changes (
    pixel_id    text NOT NULL,
    position    bigint GENERATED ALWAYS AS IDENTITY,
    visitor_id  text NOT NULL,
    PRIMARY KEY (pixel_id, position)
);

-- Notes the visitor of a receipt, in the transaction that inserts or deletes it, if a contact depends on the
-- visitor.
--
-- Code that binds a contact to a visitor holds this lock exclusively from before it reads receipts until it has
-- committed. So there are three cases: its contact is visible here; or it sees the receipt; or it is at work
-- now, and the visitor is noted without a look. Recording never waits. The lock and the look are two
-- statements, because each sees what was committed when it began.
CREATE FUNCTION note_consent_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    about consent_receipts%ROWTYPE;
    nobody_binds boolean;
BEGIN
    IF TG_OP = 'DELETE' THEN about := OLD; ELSE about := NEW; END IF;
    nobody_binds := pg_try_advisory_xact_lock_shared(173400343, hashtext(about.pixel_id));
    IF nobody_binds THEN
        PERFORM FROM contact_visitors
            WHERE contact_visitors.visitor_id = about.visitor_id
                AND contact_visitors.pixel_id = about.pixel_id
            LIMIT 1;
        IF NOT FOUND THEN RETURN NULL; END IF;
    END IF;
    INSERT INTO consent_changes (pixel_id, visitor_id) VALUES (about.pixel_id, about.visitor_id);
    RETURN NULL;
END $$;

-- Not called for the most common choice: an acceptance for the usual 182 days (4368 hours) or longer.
CREATE TRIGGER consent_receipts_recorded AFTER INSERT ON consent_receipts FOR EACH ROW
    WHEN (NEW.consent_state <> 'accepted' OR NOT 'resolution' = ANY (NEW.purposes)
        OR NEW.expires_at < NEW.recorded_at + interval '4368 hours')
    EXECUTE FUNCTION note_consent_change();
CREATE TRIGGER consent_receipts_deleted AFTER DELETE ON consent_receipts FOR EACH ROW
    WHEN (OLD.consent_state = 'accepted')
    EXECUTE FUNCTION note_consent_change();

-- Deletes the counters of a deleted pixel. A foreign key would do it, but cannot refer from a distributed table
-- to one on the coordinator.
CREATE FUNCTION delete_counters_of_pixel() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM contact_counters WHERE contact_counters.pixel_id = OLD.pixel_id;
    DELETE FROM consent_counted WHERE consent_counted.pixel_id = OLD.pixel_id;
    RETURN NULL;
END $$;
CREATE TRIGGER pixels_deleted AFTER DELETE ON pixels FOR EACH ROW
    EXECUTE FUNCTION delete_counters_of_pixel();

-- People who must never be stored again. Used only to refuse, and deleted with the account.
CREATE TABLE suppressions (
    account_id  text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    hem         bytea NOT NULL CHECK (octet_length(hem) = 32),
    source      text NOT NULL CHECK (source IN ('owner', 'import')),
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (account_id, hem)
);

-- Imports take turns, so that a long one or one that fails does not delay those of other accounts.
CREATE SEQUENCE suppression_import_turns;

-- Lists of digests that are being applied to `suppressions`. The counts cover what has been applied.
CREATE TABLE suppression_imports (
    import_id    uuid PRIMARY KEY,
    account_id   text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    -- `uploading` until the whole list has been received.
    status       text NOT NULL CHECK (status IN ('uploading', 'waiting', 'done')),
    lines        bigint NOT NULL DEFAULT 0,
    read         bigint NOT NULL DEFAULT 0,
    added        bigint NOT NULL DEFAULT 0,
    erased       bigint NOT NULL DEFAULT 0,
    rejected     bigint NOT NULL DEFAULT 0,
    created_at   timestamptz NOT NULL,
    finished_at  timestamptz,
    -- The import with the lowest turn is continued next.
    turn         bigint NOT NULL DEFAULT nextval('suppression_import_turns'),
    -- Not continued before this time, after a step that failed.
    retry_at     timestamptz
);
CREATE INDEX suppression_imports_account_id ON suppression_imports (account_id);
CREATE INDEX suppression_imports_waiting ON suppression_imports (turn) WHERE status = 'waiting';

-- The parts of a list that have not been applied yet. One transaction suppresses the people of a chunk, and the
-- next one erases their contacts and deletes the chunk.
CREATE TABLE suppression_chunks (
    import_id   uuid NOT NULL REFERENCES suppression_imports ON DELETE CASCADE,
    position    integer NOT NULL,
    hems        bytea[] NOT NULL,
    -- The number of lines that the chunk was made from, and of those without a digest.
    lines       bigint NOT NULL,
    rejected    bigint NOT NULL,
    suppressed  boolean NOT NULL DEFAULT false,
    PRIMARY KEY (import_id, position)
);

-- Erasures that visitors requested. `visitor_id` is removed together with the visitor's other data.
CREATE TABLE erasure_requests (
    pixel_id      text NOT NULL REFERENCES pixels ON DELETE CASCADE,
    request_id    uuid NOT NULL,
    visitor_id    text,
    requested_at  timestamptz NOT NULL,
    due_at        timestamptz NOT NULL,
    status        text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'completed', 'refused')),
    closed_at     timestamptz,
    reason        text,
    -- The number of rows of each kind that were erased.
    erased        jsonb,
    -- When the owner was mailed that the request arrived, and that it is due soon.
    told_at       timestamptz,
    reminded_at   timestamptz,
    PRIMARY KEY (pixel_id, request_id)
);
CREATE UNIQUE INDEX erasure_requests_open ON erasure_requests (pixel_id, visitor_id)
    WHERE status = 'open';
CREATE INDEX erasure_requests_due ON erasure_requests (due_at) WHERE status = 'open';
CREATE INDEX erasure_requests_closed ON erasure_requests (closed_at) WHERE closed_at IS NOT NULL;

-- When an account was last mailed about erasure requests.
CREATE TABLE erasure_mails (
    account_id   text PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    told_at      timestamptz,
    reminded_at  timestamptz
);
