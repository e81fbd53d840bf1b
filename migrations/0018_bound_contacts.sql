-- Contacts that last for as long as somebody's consent does.
--
-- Columns that are new are added without rewriting the tables. A node of an older version stores
-- contacts without consent, and reads also those that are hidden; what it records of visitors is
-- noted all the same, by the trigger below.

ALTER TABLE pixels ADD COLUMN contacts_need_consent boolean NOT NULL DEFAULT false;

ALTER TABLE contacts
    -- Whose consent the contact depends on, and the acceptance under which it was stored last. NULL
    -- in contacts that depend on nobody's.
    ADD COLUMN visitor_id text,
    ADD COLUMN receipt_id uuid,
    ADD COLUMN bound_seq bigint,
    -- When to look again whether the consent has ended by itself.
    ADD COLUMN judge_at timestamptz,
    -- Its place in the order of changes. NULL: its id. Both are taken from contact_counters.
    ADD COLUMN change bigint,
    -- As resolved_at. NULL: resolved_at.
    ADD COLUMN last_seen_at text,
    ADD COLUMN visits integer NOT NULL DEFAULT 1,
    -- When the end of the consent was noted. Stays until the contact is stored with a newer consent.
    ADD COLUMN hidden_at timestamptz;
CREATE INDEX contacts_change ON contacts (pixel_id, (COALESCE(change, id)));
CREATE INDEX contacts_judge_at ON contacts (judge_at) WHERE judge_at IS NOT NULL;
CREATE INDEX contacts_hidden_at ON contacts (hidden_at) WHERE hidden_at IS NOT NULL;

-- All visitors whose consent a contact was ever stored with. As for contacts, whoever deletes a
-- contact or a pixel deletes its rows here.
CREATE TABLE contact_visitors (
    pixel_id    text NOT NULL,
    contact_id  bigint NOT NULL,
    visitor_id  text NOT NULL,
    PRIMARY KEY (pixel_id, contact_id, visitor_id)
);
CREATE INDEX contact_visitors_visitor ON contact_visitors (visitor_id, pixel_id);

-- Contacts whose consent has ended, also those that are erased since. `position` is taken from
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

-- Visitors of contacts, whose consent may have ended: a job looks at them and deletes the row.
CREATE TABLE consent_changes (
    pixel_id    text NOT NULL,
    position    bigint GENERATED ALWAYS AS IDENTITY,
    visitor_id  text NOT NULL,
    PRIMARY KEY (pixel_id, position)
);

-- Notes the visitor of a receipt, in the transaction that writes or deletes it, if a contact depends
-- on them.
--
-- Whoever binds a contact to a visitor holds this lock alone from before it looks at receipts until
-- it has committed. So either its contact can be seen here, or it sees the receipt, or, when it is
-- at work now, the visitor is noted unseen. Nobody who records ever waits. The lock and the look
-- are two statements, because each sees what was committed when it began.
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

-- Not called for what most visitors say: that they accept for the usual 182 days or longer.
CREATE TRIGGER consent_receipts_recorded AFTER INSERT ON consent_receipts FOR EACH ROW
    WHEN (NEW.consent_state <> 'accepted' OR NOT 'resolution' = ANY (NEW.purposes)
        OR NEW.expires_at < NEW.recorded_at + interval '4368 hours')
    EXECUTE FUNCTION note_consent_change();
CREATE TRIGGER consent_receipts_deleted AFTER DELETE ON consent_receipts FOR EACH ROW
    WHEN (OLD.consent_state = 'accepted')
    EXECUTE FUNCTION note_consent_change();
