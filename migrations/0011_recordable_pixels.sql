-- A fence between those who record what visitors do and whoever erases an account.
--
-- A choice is judged against what its node remembers of the pixel, and may reach the database when
-- the account is being erased. So every statement that records asks here once more, at no extra
-- round trip. It holds a shared lock until it has committed; `wait_for_recorders` waits for all
-- that hold it. The functions are volatile: in READ COMMITTED each query inside them sees what has
-- been committed by then, also when the statement around it began before.

-- Those of the pixels for which something may be recorded: they exist, and their account is not
-- suspended.
CREATE FUNCTION recordable_pixels(pixel_ids text[]) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE ROWS 10 AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(11258999068426);
    RETURN QUERY
        SELECT pixels.pixel_id
        FROM pixels JOIN accounts USING (account_id)
        WHERE pixels.pixel_id = ANY (pixel_ids) AND accounts.status <> 'suspended';
END $$;

-- Returns when all that began to record before have committed. Whatever was committed before the
-- call is known to all that record after it.
CREATE FUNCTION wait_for_recorders() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(11258999068426);
END $$;
