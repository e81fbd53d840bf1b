-- What grows with visitors can lie on other machines than accounts and pixels (docs/scaling.md). So no
-- foreign key leads from there to a table that stays in one place, and what triggers do is asked for with
-- the row's own pixel_id, one pixel at a time: then it happens where the row is.
--
-- A node of an older version deletes pixels without these rows, as the foreign keys did that for it; so
-- the database goes on doing it.
ALTER TABLE contact_counters DROP CONSTRAINT contact_counters_pixel_id_fkey;
ALTER TABLE consent_counted DROP CONSTRAINT consent_counted_pixel_id_fkey;

CREATE FUNCTION delete_counters_of_pixel() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM contact_counters WHERE contact_counters.pixel_id = OLD.pixel_id;
    DELETE FROM consent_counted WHERE consent_counted.pixel_id = OLD.pixel_id;
    RETURN NULL;
END $$;
CREATE TRIGGER pixels_deleted AFTER DELETE ON pixels FOR EACH ROW
    EXECUTE FUNCTION delete_counters_of_pixel();

CREATE OR REPLACE FUNCTION note_receipts_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    gone record;
BEGIN
    FOR gone IN
        SELECT DISTINCT pixel_id, (recorded_at AT TIME ZONE 'UTC')::date AS day FROM deleted
    LOOP
        PERFORM FROM consent_counted WHERE consent_counted.pixel_id = gone.pixel_id;
        IF FOUND THEN
            INSERT INTO consent_day_changes (pixel_id, day) VALUES (gone.pixel_id, gone.day);
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION note_shown_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    gone record;
BEGIN
    FOR gone IN SELECT DISTINCT pixel_id, shown_on AS day FROM deleted LOOP
        PERFORM FROM consent_counted WHERE consent_counted.pixel_id = gone.pixel_id;
        IF FOUND THEN
            INSERT INTO consent_day_changes (pixel_id, day) VALUES (gone.pixel_id, gone.day);
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
