-- What visitors were told, what they answered, and how often they were asked.
--
-- No foreign keys: policies and receipts outlive their pixel, because they are the proof that a
-- choice was made. Every key starts with pixel_id, so that the tables can be distributed by it.

-- Every version of a pixel's policy, kept for good. `document` is the canonical JSON (RFC 8785)
-- whose SHA-256 is `policy_hash`.
CREATE TABLE consent_policies (
    pixel_id      text NOT NULL,
    version       integer NOT NULL,
    policy_hash   text NOT NULL,
    document      text NOT NULL,
    -- The site's host when the version was published, for the heading of the notice.
    domain        text NOT NULL,
    published_at  timestamptz NOT NULL,
    PRIMARY KEY (pixel_id, version)
);
CREATE INDEX consent_policies_hash ON consent_policies (pixel_id, policy_hash);

-- How the popup looks; not part of what is consented to.
CREATE TABLE consent_appearances (
    pixel_id    text PRIMARY KEY,
    appearance  jsonb NOT NULL
);

CREATE SEQUENCE consent_receipt_seq;

-- `seq` is the order in which the service recorded.
CREATE TABLE consent_receipts (
    pixel_id       text NOT NULL,
    seq            bigint NOT NULL DEFAULT nextval('consent_receipt_seq'),
    receipt_id     uuid NOT NULL,
    visitor_id     text NOT NULL,
    origin         text NOT NULL,
    consent_state  text NOT NULL CHECK (consent_state IN ('accepted', 'declined', 'withdrawn')),
    policy_hash    text NOT NULL,
    purposes       text[] NOT NULL,
    recorded_at    timestamptz NOT NULL,
    signature      bytea NOT NULL,
    choice_id      uuid,
    PRIMARY KEY (pixel_id, seq)
);
CREATE INDEX consent_receipts_visitor ON consent_receipts (pixel_id, visitor_id, seq DESC);
CREATE INDEX consent_receipts_state ON consent_receipts (pixel_id, consent_state, seq DESC);
CREATE UNIQUE INDEX consent_receipts_choice ON consent_receipts (pixel_id, choice_id)
    WHERE choice_id IS NOT NULL;

-- A popup that was shown: once per visitor, pixel and UTC day.
CREATE TABLE consent_shown (
    pixel_id    text NOT NULL,
    shown_on    date NOT NULL,
    visitor_id  text NOT NULL,
    PRIMARY KEY (pixel_id, shown_on, visitor_id)
);
