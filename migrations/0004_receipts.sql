-- What visitors chose and how often they were asked, the counts of each day, and the locks between recording
-- and erasing.
--
-- These tables grow with visitors, so they can be distributed over several machines by pixel_id
-- (docs/scaling.md). That is why every key contains pixel_id, no foreign key leads to or from them, and
-- triggers read and write only rows of the same pixel, which are on the same machine.

CREATE SEQUENCE consent_receipt_seq;

-- Receipts outlive their pixel, because they are the proof that a choice was made.
CREATE TABLE consent_receipts (
    pixel_id        text NOT NULL,
    -- The order in which the service recorded.
    seq             bigint NOT NULL DEFAULT nextval('consent_receipt_seq'),
    receipt_id      uuid NOT NULL,
    visitor_id      text NOT NULL,
    origin          text NOT NULL,
    consent_state   text NOT NULL CHECK (consent_state IN ('accepted', 'declined', 'withdrawn')),
    policy_hash     text NOT NULL,
    purposes        text[] NOT NULL,
    recorded_at     timestamptz NOT NULL,
    signature       bytea NOT NULL,
    choice_id       uuid,
    -- When an acceptance ends. NULL in refusals. If it is NULL in an acceptance, consent_days of the policy
    -- decides.
    expires_at      timestamptz,
    -- What the browser reports that it showed: the language, and the SHA-256 of the notice's plain text and of
    -- the script.
    shown_language  text,
    shown_notice    bytea,
    shown_script    bytea,
    -- 32 random bytes. Without them nobody can tell which leaf of the log was made from this receipt, so they
    -- are deleted with the row.
    salt            bytea,
    -- log_leaves.batch of the row that contains its leaf.
    log_batch       bigint,
    PRIMARY KEY (pixel_id, seq)
);
-- These indexes start with the column that differs most between rows, so that nearly every comparison in the
-- index is decided by its first column.
CREATE UNIQUE INDEX consent_receipts_choice_pixel ON consent_receipts (choice_id, pixel_id)
    WHERE choice_id IS NOT NULL;
CREATE INDEX consent_receipts_visitor_pixel ON consent_receipts (visitor_id, pixel_id, seq DESC);
-- For counting the choices of a pixel over a range of days.
CREATE INDEX consent_receipts_state_time ON consent_receipts (pixel_id, consent_state, recorded_at);

-- A popup that was shown: one row per visitor, pixel and UTC day.
CREATE TABLE consent_shown (
    pixel_id    text NOT NULL,
    shown_on    date NOT NULL,
    visitor_id  text NOT NULL,
    PRIMARY KEY (pixel_id, shown_on, visitor_id)
);

-- Counts per day
--
-- Statistics read counts instead of receipts. A job counts receipts up to a `seq` below which no more can be
-- inserted, and readers add the receipts above it, so recording does no extra work. A change of a day that is
-- counted already notes the day in the same transaction; until the job has counted it again, readers count the
-- rows of that day.

-- How far each pixel is counted.
CREATE TABLE consent_counted (
    pixel_id            text PRIMARY KEY,
    -- Receipts up to this `seq` are in consent_days.
    up_to_seq           bigint NOT NULL DEFAULT 0,
    -- Whether the count has caught up with the receipts once. Until then readers count rows.
    is_ready            boolean NOT NULL DEFAULT false,
    -- Popups that were shown before this day are in consent_days.
    shown_before        date NOT NULL DEFAULT '0001-01-01',
    -- Popups that are stored late for a day before this one are noted in consent_day_changes. Never earlier
    -- than shown_before.
    shown_noted_before  date NOT NULL DEFAULT '0001-01-01'
);

-- Days are UTC. Code that deletes a pixel deletes its rows here and in consent_day_changes.
CREATE TABLE consent_days (
    pixel_id  text NOT NULL,
    day       date NOT NULL,
    shown     bigint NOT NULL,
    -- The number of visitors who made a choice.
    choosers  bigint NOT NULL,
    -- Choices by purpose, by policy and by language.
    choices   jsonb NOT NULL,
    PRIMARY KEY (pixel_id, day)
);

-- Days whose count is out of date.
CREATE TABLE consent_day_changes (
    pixel_id  text NOT NULL,
    position  bigint GENERATED ALWAYS AS IDENTITY,
    day       date NOT NULL,
    PRIMARY KEY (pixel_id, position)
);

-- Notes the days of receipts that are deleted. It handles one pixel and day at a time, so that each statement
-- can be sent to the machine that has the pixel.
CREATE FUNCTION note_receipts_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER consent_receipts_uncounted AFTER DELETE ON consent_receipts
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION note_receipts_deleted();

-- The same for popups that were shown.
CREATE FUNCTION note_shown_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER consent_shown_uncounted AFTER DELETE ON consent_shown
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION note_shown_deleted();

-- Notes the day of a popup that is stored after its day was counted.
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

-- Locks between recording and erasing
--
-- A choice is checked against what its node has cached about the pixel, and may reach the database while the
-- account is being erased. So every statement that records also asks recordable_pixels(), in the same round
-- trip. The function holds a shared lock until its transaction ends, and wait_for_recorders() waits for all
-- holders. The functions are volatile, so at READ COMMITTED each query in them sees what was committed before
-- that query, even if the outer statement began earlier.

-- Returns those of the pixels for which something may be recorded: they exist, and their account is not
-- suspended. Each pixel is looked up by itself, so that the planner uses the index: with a thousand pixels, a
-- join with the array took a third of a millisecond longer for thirty.
CREATE FUNCTION recordable_pixels(pixel_ids text[]) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE ROWS 10 AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(11258999068426);
    RETURN QUERY
        SELECT asked.pixel_id
        FROM unnest(pixel_ids) AS asked (pixel_id)
        WHERE (SELECT accounts.status <> 'suspended'
               FROM pixels JOIN accounts USING (account_id)
               WHERE pixels.pixel_id = asked.pixel_id);
END $$;

-- Returns when everything that began to record before the call has committed. What was committed before the
-- call is visible to everything that records afterwards.
CREATE FUNCTION wait_for_recorders() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(11258999068426);
END $$;

-- Used only where tables are distributed. There a receipt's `seq` is drawn on the coordinator and its row is
-- stored on a worker. One transaction for both would cost two more round trips per batch, so they are separate
-- statements, and the connection holds session locks from before the first until after the last.
CREATE SEQUENCE recording_seq AS integer CYCLE;

-- Like recordable_pixels(), but holds the locks until pg_advisory_unlock_all().
CREATE FUNCTION hold_recordable_pixels(pixel_ids text[]) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE ROWS 10 AS $$
BEGIN
    -- A number of its own, so that whoever waits for all that record now does not wait for what the same
    -- connection records next. It is there before any place is drawn.
    PERFORM pg_advisory_lock_shared(173400344, nextval('recording_seq')::integer);
    PERFORM pg_advisory_lock_shared(11258999068426);
    RETURN QUERY SELECT recordable_pixels(pixel_ids);
END $$;
