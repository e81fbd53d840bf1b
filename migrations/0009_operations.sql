-- What the operation of the service needs beside its data.

-- One row, which /healthz writes to show that the database stores what is written.
CREATE TABLE write_probe (
    only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    written_at  timestamptz NOT NULL
);
