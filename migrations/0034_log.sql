-- What the service publishes is kept in a public log that is only ever added to: trees of hashes, cut
-- into tiles, and a signed statement of the whole.
--
-- A node of an older version knows none of this. What it publishes meanwhile is found by a newer one.

-- What was published, by its SHA-256. The same text is published once, whoever publishes it.
CREATE TABLE publications (
    -- policy, notice or script
    kind          text NOT NULL,
    sha256        bytea NOT NULL,
    -- NULL when it was published before a node noted it here: then the log says when it was added.
    published_at  timestamptz,
    -- Its number in the log, from 0; NULL until it is added.
    entry         bigint,
    PRIMARY KEY (kind, sha256)
);

CREATE INDEX publications_waiting ON publications (published_at) WHERE entry IS NULL;

-- How long the log is, and what was signed of it last: one row.
CREATE TABLE log_head (
    only_one    boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    size        bigint NOT NULL,
    -- A signed note; empty until the first one is signed.
    checkpoint  text NOT NULL
);

INSERT INTO log_head (size, checkpoint) VALUES (0, '');

-- The log as it is served: at level -1 up to 256 entries, at level 0 their hashes, above that the
-- hashes of full tiles of the level below. Only the last tile of a level has fewer than 256.
CREATE TABLE log_tiles (
    level  smallint NOT NULL,
    tile   bigint NOT NULL,
    bytes  bytea NOT NULL,
    PRIMARY KEY (level, tile)
);
