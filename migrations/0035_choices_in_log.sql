-- Choices come into the log too: not themselves, but one hash of all that were recorded in some seconds.
--
-- A node of an older version, or one without a key for the log, writes none of this. What it records is
-- put into the log when somebody asks for its proof.

-- One per statement that records.
CREATE SEQUENCE log_batch_seq;

ALTER TABLE consent_receipts
    -- 32 random bytes. Without them nobody can tell which leaf of the log was made of this receipt, so
    -- they go with the row.
    ADD COLUMN salt bytea,
    -- Where its leaf is.
    ADD COLUMN log_batch bigint;

-- The leaves of what was recorded together for a pixel, written with it.
CREATE TABLE log_leaves (
    pixel_id  text NOT NULL,
    batch     bigint NOT NULL,
    -- 32 bytes each, in no order that means anything; empty as soon as they are in an epoch.
    hashes    bytea NOT NULL,
    -- The entry of the log into which they came; NULL until then.
    epoch     bigint,
    PRIMARY KEY (pixel_id, batch)
);
-- Hashes do not become smaller.
ALTER TABLE log_leaves ALTER COLUMN hashes SET STORAGE EXTERNAL;
CREATE INDEX log_leaves_waiting ON log_leaves (batch) WHERE epoch IS NULL;

-- What stands behind an entry of choices: a tree that nobody is shown as a whole.
CREATE TABLE log_epochs (
    -- Its number in the log.
    entry      bigint PRIMARY KEY,
    sealed_at  timestamptz NOT NULL,
    -- What leaves without a choice are made of.
    seed       bytea NOT NULL,
    -- The hashes of the tree's groups of 256 leaves, one after the other.
    groups     bytea NOT NULL
);
ALTER TABLE log_epochs ALTER COLUMN groups SET STORAGE EXTERNAL;

-- The leaves of a group that were made of choices: 33 bytes each, the place in the group and the hash.
CREATE TABLE log_groups (
    entry   bigint NOT NULL,
    number  integer NOT NULL,
    leaves  bytea NOT NULL,
    PRIMARY KEY (entry, number)
);
ALTER TABLE log_groups ALTER COLUMN leaves SET STORAGE EXTERNAL;
