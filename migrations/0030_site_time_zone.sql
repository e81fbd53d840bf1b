-- Sites may count the days of their statistics in a time zone. Days are counted in UTC for every pixel, and once
-- more in the time zone of a site that has one.

-- A name of the IANA database, or NULL for UTC.
ALTER TABLE pixels ADD COLUMN time_zone text;
-- From this day on, impressions are stored with their day in the time zone. NULL together with it.
ALTER TABLE pixels ADD COLUMN time_zone_from date;

-- Days are those of `time_zone`.
ALTER TABLE consent_counted ADD COLUMN time_zone text NOT NULL DEFAULT 'UTC';
ALTER TABLE consent_counted DROP CONSTRAINT consent_counted_pkey;
ALTER TABLE consent_counted ADD CONSTRAINT consent_counted_pkey PRIMARY KEY (pixel_id, time_zone);
ALTER TABLE consent_days ADD COLUMN time_zone text NOT NULL DEFAULT 'UTC';
ALTER TABLE consent_days DROP CONSTRAINT consent_days_pkey;
ALTER TABLE consent_days ADD CONSTRAINT consent_days_pkey PRIMARY KEY (pixel_id, time_zone, day);
ALTER TABLE consent_day_changes ADD COLUMN time_zone text NOT NULL DEFAULT 'UTC';

-- A popup that was shown on a site with a time zone: like consent_shown, where it is stored as well, but with the
-- day in that time zone.
CREATE TABLE consent_shown_local (
    pixel_id    text NOT NULL,
    time_zone   text NOT NULL,
    shown_on    date NOT NULL,
    visitor_id  text NOT NULL,
    PRIMARY KEY (pixel_id, time_zone, shown_on, visitor_id)
);

-- Notes the days of receipts that are deleted, in every time zone in which the pixel is counted. It handles one
-- pixel and day at a time, so that each statement can be sent to the machine that has the pixel.
CREATE OR REPLACE FUNCTION note_receipts_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    gone record;
    counted record;
    changed record;
BEGIN
    FOR gone IN SELECT DISTINCT pixel_id FROM deleted LOOP
        FOR counted IN
            SELECT time_zone FROM consent_counted WHERE consent_counted.pixel_id = gone.pixel_id
        LOOP
            FOR changed IN
                SELECT DISTINCT (recorded_at AT TIME ZONE counted.time_zone)::date AS day
                FROM deleted WHERE deleted.pixel_id = gone.pixel_id
            LOOP
                INSERT INTO consent_day_changes (pixel_id, time_zone, day)
                VALUES (gone.pixel_id, counted.time_zone, changed.day);
            END LOOP;
        END LOOP;
    END LOOP;
    RETURN NULL;
END $$;

-- The same for popups that were shown. The days of a time zone that are before pixels.time_zone_from have the
-- popups of the UTC day of the same date, so the day is noted in every time zone.
CREATE OR REPLACE FUNCTION note_shown_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    gone record;
    counted record;
BEGIN
    FOR gone IN SELECT DISTINCT pixel_id, shown_on AS day FROM deleted LOOP
        FOR counted IN
            SELECT time_zone FROM consent_counted WHERE consent_counted.pixel_id = gone.pixel_id
        LOOP
            INSERT INTO consent_day_changes (pixel_id, time_zone, day)
            VALUES (gone.pixel_id, counted.time_zone, gone.day);
        END LOOP;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION note_local_shown_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    gone record;
BEGIN
    FOR gone IN SELECT DISTINCT pixel_id, time_zone, shown_on AS day FROM deleted LOOP
        PERFORM FROM consent_counted
            WHERE consent_counted.pixel_id = gone.pixel_id
                AND consent_counted.time_zone = gone.time_zone;
        IF FOUND THEN
            INSERT INTO consent_day_changes (pixel_id, time_zone, day)
            VALUES (gone.pixel_id, gone.time_zone, gone.day);
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
CREATE TRIGGER consent_shown_local_uncounted AFTER DELETE ON consent_shown_local
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION note_local_shown_deleted();

-- Notes the day of a popup that is stored after its day was counted, in every time zone as above.
CREATE OR REPLACE FUNCTION note_shown_late() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    counted record;
BEGIN
    FOR counted IN
        SELECT time_zone FROM consent_counted
        WHERE consent_counted.pixel_id = NEW.pixel_id AND NEW.shown_on < shown_noted_before
    LOOP
        INSERT INTO consent_day_changes (pixel_id, time_zone, day)
        VALUES (NEW.pixel_id, counted.time_zone, NEW.shown_on);
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION note_local_shown_late() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM consent_counted
        WHERE consent_counted.pixel_id = NEW.pixel_id
            AND consent_counted.time_zone = NEW.time_zone AND NEW.shown_on < shown_noted_before;
    IF FOUND THEN
        INSERT INTO consent_day_changes (pixel_id, time_zone, day)
        VALUES (NEW.pixel_id, NEW.time_zone, NEW.shown_on);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER consent_shown_local_late AFTER INSERT ON consent_shown_local FOR EACH ROW
    EXECUTE FUNCTION note_local_shown_late();
