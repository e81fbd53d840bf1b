-- The minutes of each UTC day in which a node could write, for the status page.

CREATE TABLE uptime_days (
    day           date PRIMARY KEY,
    minutes       integer NOT NULL,
    first_minute  timestamptz NOT NULL,
    last_minute   timestamptz NOT NULL
);
