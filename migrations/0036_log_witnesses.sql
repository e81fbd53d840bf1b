-- Witnesses: others who look at the log and sign that it was only added to.
--
-- A node of an older version, or one that knows of no witnesses, shows what log_head holds and touches
-- none of this.

-- What is known of each witness, by its verifier key.
CREATE TABLE log_witnesses (
    witness       text PRIMARY KEY,
    -- How long the log is that it has seen, as far as it told us.
    known_size    bigint NOT NULL,
    -- The text of the checkpoint that it cosigned last, the line with its signature, and when that was.
    text          text NOT NULL,
    line          text NOT NULL,
    cosigned_at   timestamptz,
    -- Attempts that failed since then, and before when there is no other.
    failures      integer NOT NULL,
    not_before    timestamptz NOT NULL
);

-- What is shown where there are witnesses: a checkpoint with the signatures that came in time. One row.
CREATE TABLE log_published (
    only_one    boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    size        bigint NOT NULL,
    checkpoint  text NOT NULL
);

INSERT INTO log_published (size, checkpoint) SELECT size, checkpoint FROM log_head;
