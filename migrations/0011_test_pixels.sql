-- Trying a pixel on the machine of a developer, under its test id. Nodes of an earlier version know neither table.

-- The hosts, besides local ones, on which the test id is served.
CREATE TABLE pixel_test_hosts (
    pixel_id  text NOT NULL REFERENCES pixels ON DELETE CASCADE,
    host      text NOT NULL,
    PRIMARY KEY (pixel_id, host)
);

-- Choices that were made under a test id. They are in a table of their own, so that nothing that reads the
-- choices of visitors can find them, and are deleted with their pixel.
CREATE TABLE test_receipts (
    -- The order in which the service recorded.
    seq            bigint GENERATED ALWAYS AS IDENTITY,
    -- The pixel itself. The receipt contains its test id.
    pixel_id       text NOT NULL REFERENCES pixels ON DELETE CASCADE,
    receipt_id     uuid NOT NULL,
    visitor_id     text NOT NULL,
    origin         text NOT NULL,
    consent_state  text NOT NULL CHECK (consent_state IN ('accepted', 'declined', 'withdrawn')),
    policy_hash    text NOT NULL,
    purposes       text[] NOT NULL,
    recorded_at    timestamptz NOT NULL,
    signature      bytea NOT NULL,
    choice_id      uuid,
    -- When an acceptance ends.
    expires_at     timestamptz,
    PRIMARY KEY (pixel_id, seq),
    CONSTRAINT test_receipts_choice UNIQUE (pixel_id, choice_id)
);
CREATE INDEX test_receipts_visitor ON test_receipts (pixel_id, visitor_id, seq DESC);
CREATE INDEX test_receipts_recorded ON test_receipts (recorded_at);
