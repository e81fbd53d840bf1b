-- Where tables are spread over several machines, the place of a receipt is drawn on one of them and its row
-- is stored on another. In one transaction both would be asked twice more for each batch; so each is a
-- statement of its own, and whoever records says so on its connection until all that it drew is stored.
CREATE SEQUENCE recording_seq AS integer CYCLE;

-- As recordable_pixels(), until pg_advisory_unlock_all().
CREATE FUNCTION hold_recordable_pixels(pixel_ids text[]) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE ROWS 10 AS $$
BEGIN
    -- A number of its own, so that whoever waits for all that record now does not wait for what the same
    -- connection records next. It is there before any place is drawn.
    PERFORM pg_advisory_lock_shared(173400344, nextval('recording_seq')::integer);
    PERFORM pg_advisory_lock_shared(11258999068426);
    RETURN QUERY SELECT recordable_pixels(pixel_ids);
END $$;
