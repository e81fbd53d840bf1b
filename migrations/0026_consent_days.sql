-- What was shown and answered on each day of a pixel, counted once instead of at each reading.
--
-- Whoever records pays nothing for it. A job counts, up to a place in the order of receipts below which
-- none can come any more; readers add what lies above it. Whatever changes a day that is counted notes
-- the day in the same transaction, and readers count the rows of such a day until the job has done so
-- again. Old nodes beside it record, erase and delete as before: triggers note it for them.

-- How far each pixel is counted.
CREATE TABLE consent_counted (
    pixel_id            text PRIMARY KEY REFERENCES pixels ON DELETE CASCADE,
    -- Receipts up to this `seq` are in consent_days.
    up_to_seq           bigint NOT NULL DEFAULT 0,
    -- Whether the count has caught up with the receipts once. Before, readers count rows.
    is_ready            boolean NOT NULL DEFAULT false,
    -- Popups shown before this day are in consent_days.
    shown_before        date NOT NULL DEFAULT '0001-01-01',
    -- Popups shown before this day are noted in consent_day_changes; never earlier than shown_before.
    shown_noted_before  date NOT NULL DEFAULT '0001-01-01'
);

-- Days are UTC. Whoever deletes a pixel deletes its rows here and below.
CREATE TABLE consent_days (
    pixel_id  text NOT NULL,
    day       date NOT NULL,
    shown     bigint NOT NULL,
    -- Visitors who made a choice.
    choosers  bigint NOT NULL,
    -- Choices by purpose, by policy and by language.
    choices   jsonb NOT NULL,
    PRIMARY KEY (pixel_id, day)
);

-- Days of which the count is not right any more.
CREATE TABLE consent_day_changes (
    pixel_id  text NOT NULL,
    position  bigint GENERATED ALWAYS AS IDENTITY,
    day       date NOT NULL,
    PRIMARY KEY (pixel_id, position)
);

CREATE FUNCTION note_receipts_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO consent_day_changes (pixel_id, day)
    SELECT DISTINCT pixel_id, (recorded_at AT TIME ZONE 'UTC')::date
    FROM deleted JOIN consent_counted USING (pixel_id);
    RETURN NULL;
END $$;
CREATE TRIGGER consent_receipts_uncounted AFTER DELETE ON consent_receipts
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION note_receipts_deleted();

CREATE FUNCTION note_shown_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO consent_day_changes (pixel_id, day)
    SELECT DISTINCT pixel_id, shown_on FROM deleted JOIN consent_counted USING (pixel_id);
    RETURN NULL;
END $$;
CREATE TRIGGER consent_shown_uncounted AFTER DELETE ON consent_shown
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION note_shown_deleted();

CREATE FUNCTION note_shown_late() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM consent_counted
        WHERE consent_counted.pixel_id = NEW.pixel_id AND NEW.shown_on < shown_noted_before;
    IF FOUND THEN
        INSERT INTO consent_day_changes (pixel_id, day) VALUES (NEW.pixel_id, NEW.shown_on);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER consent_shown_late AFTER INSERT ON consent_shown FOR EACH ROW
    EXECUTE FUNCTION note_shown_late();
