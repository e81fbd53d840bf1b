-- An outside authority says once a day (RFC 3161) that a signed state of the log was there. A node of an
-- older version asks for nothing and looks at none of this.

CREATE TABLE log_timestamps (
    -- The UTC day on which it was asked for.
    day          date PRIMARY KEY,
    -- The verifier key of the log, which may have another one later.
    signer       text NOT NULL,
    -- How many entries the log had.
    size         bigint NOT NULL,
    -- The signed note whose SHA-256 was stamped.
    checkpoint   text NOT NULL,
    -- As it came.
    token        bytea NOT NULL,
    received_at  timestamptz NOT NULL
);
CREATE INDEX log_timestamps_size ON log_timestamps (size);

-- When an authority is asked next: one row, which a node moves on before it asks.
CREATE TABLE log_stamping (
    only_one  boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    next_at   timestamptz NOT NULL,
    -- Attempts that have failed since the last token.
    failures  integer NOT NULL
);

INSERT INTO log_stamping (next_at, failures) VALUES ('1970-01-01T00:00:00Z', 0);
