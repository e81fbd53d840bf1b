-- The public log of what the service publishes and records (docs/proof.md). Entries are only ever added to it.
-- It is stored as Merkle trees, cut into tiles, with a signed checkpoint of the whole.

-- What was published, by its SHA-256. The same text is published once, whoever publishes it.
CREATE TABLE publications (
    -- policy, notice or script
    kind          text NOT NULL,
    sha256        bytea NOT NULL,
    -- If it is NULL, the log gives the time at which the entry was added instead.
    published_at  timestamptz,
    -- Its number in the log, from 0. NULL until it is added.
    entry         bigint,
    PRIMARY KEY (kind, sha256)
);
CREATE INDEX publications_waiting ON publications (published_at) WHERE entry IS NULL;

-- The size of the log, and the last checkpoint that was signed. One row.
CREATE TABLE log_head (
    only_one    boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    size        bigint NOT NULL,
    -- A signed note. Empty until the first one is signed.
    checkpoint  text NOT NULL
);
INSERT INTO log_head (size, checkpoint) VALUES (0, '');

-- The checkpoint that is shown: the last one that every running node has remembered and, if there are witnesses,
-- with the signatures that arrived in time. One row.
CREATE TABLE log_published (
    only_one    boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    size        bigint NOT NULL,
    checkpoint  text NOT NULL
);
INSERT INTO log_published (size, checkpoint) VALUES (0, '');

-- The log as it is served. Level -1 has up to 256 entries per tile, level 0 their hashes, and each level above
-- the hashes of the full tiles of the level below. Only the last tile of a level has fewer than 256.
CREATE TABLE log_tiles (
    level  smallint NOT NULL,
    tile   bigint NOT NULL,
    bytes  bytea NOT NULL,
    PRIMARY KEY (level, tile)
);

-- Choices are not entries themselves. An entry of choices is one hash over all that were recorded within some
-- seconds. What was recorded without a leaf gets one when its proof is requested.

-- The number of a batch: one per statement that records.
CREATE SEQUENCE log_batch_seq;

-- The leaves of what was recorded together for a pixel, inserted with the receipts.
CREATE TABLE log_leaves (
    pixel_id  text NOT NULL,
    batch     bigint NOT NULL,
    -- 32 bytes each. Their order has no meaning. Empty as soon as they are in an epoch.
    hashes    bytea NOT NULL,
    -- The entry of the log that contains them. NULL until then.
    epoch     bigint,
    PRIMARY KEY (pixel_id, batch)
);
-- Hashes cannot be compressed.
ALTER TABLE log_leaves ALTER COLUMN hashes SET STORAGE EXTERNAL;
CREATE INDEX log_leaves_waiting ON log_leaves (batch) WHERE epoch IS NULL;

-- The tree behind an entry of choices. The tree is never shown as a whole.
CREATE TABLE log_epochs (
    -- Its number in the log.
    entry      bigint PRIMARY KEY,
    sealed_at  timestamptz NOT NULL,
    -- Leaves that stand for no choice are derived from it.
    seed       bytea NOT NULL,
    -- The hashes of the tree's groups of 256 leaves, one after the other.
    groups     bytea NOT NULL
);
ALTER TABLE log_epochs ALTER COLUMN groups SET STORAGE EXTERNAL;

-- The leaves of a group that were made from choices: 33 bytes each, the place in the group and the hash.
CREATE TABLE log_groups (
    entry   bigint NOT NULL,
    number  integer NOT NULL,
    leaves  bytea NOT NULL,
    PRIMARY KEY (entry, number)
);
ALTER TABLE log_groups ALTER COLUMN leaves SET STORAGE EXTERNAL;

-- Witnesses check that the log was only added to, and sign its checkpoints. One row per verifier key.
CREATE TABLE log_witnesses (
    witness      text PRIMARY KEY,
    -- The size of the log that the witness has seen, as far as it reported it.
    known_size   bigint NOT NULL,
    -- The text of the checkpoint that it cosigned last, the line with its signature, and the time.
    text         text NOT NULL,
    line         text NOT NULL,
    cosigned_at  timestamptz,
    -- Failed attempts since then, or since the beginning if it has never cosigned.
    failures     integer NOT NULL,
    not_before   timestamptz NOT NULL
);

-- An outside authority confirms once a day (RFC 3161) that a checkpoint of the log existed.
CREATE TABLE log_timestamps (
    -- The UTC day on which the time stamp was requested.
    day          date PRIMARY KEY,
    -- The verifier key of the log, which may be replaced later.
    signer       text NOT NULL,
    -- How many entries the log had.
    size         bigint NOT NULL,
    -- The signed note whose SHA-256 was stamped.
    checkpoint   text NOT NULL,
    -- The token as it was received.
    token        bytea NOT NULL,
    received_at  timestamptz NOT NULL
);
CREATE INDEX log_timestamps_size ON log_timestamps (size);

-- When an authority is asked next. One row. A node moves the time on before it asks, so that no other node asks
-- too.
CREATE TABLE log_stamping (
    only_one  boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    next_at   timestamptz NOT NULL,
    -- Attempts that have failed since the last token.
    failures  integer NOT NULL
);
INSERT INTO log_stamping (next_at, failures) VALUES ('1970-01-01T00:00:00Z', 0);

-- What each node's file (LOG_STATE) remembers of the log. A node whose file is older than another's notices it
-- here, and a checkpoint is shown only when every running node has remembered it.
CREATE TABLE log_memories (
    -- A random number that is stored beside the file.
    id          text PRIMARY KEY,
    -- Which of the service's logs it is, and how many entries it had.
    number      bigint NOT NULL,
    size        bigint NOT NULL,
    -- A signed note: what the file contains.
    checkpoint  text NOT NULL,
    -- How often this row was written. It rises while a node that has the file runs.
    beat        bigint NOT NULL,
    noted_at    timestamptz NOT NULL
);
