-- What each file (LOG_STATE) remembers of the log, so that a node whose file is older than another's
-- notices it, and so that nothing is shown before every node that runs has remembered it.
--
-- A node of an older version touches none of this. Without witnesses it shows what log_head holds, a
-- moment earlier than a newer one does.

CREATE TABLE log_memories (
    -- A random number that lies beside the file.
    id          text PRIMARY KEY,
    -- Which of the service's logs it is, and how many entries that had.
    number      bigint NOT NULL,
    size        bigint NOT NULL,
    -- A signed note: what the file holds.
    checkpoint  text NOT NULL,
    -- Counts how often this row was written: it grows while a node that has the file runs.
    beat        bigint NOT NULL,
    noted_at    timestamptz NOT NULL
);

-- From now on what is shown is a row of its own also where there are no witnesses.
UPDATE log_published SET size = log_head.size, checkpoint = log_head.checkpoint
FROM log_head
WHERE log_published.size < log_head.size AND NOT EXISTS (SELECT FROM log_witnesses);
