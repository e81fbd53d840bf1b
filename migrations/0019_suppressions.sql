-- Who must never be stored again, and what people ask to have erased.

-- Used only to refuse; ends with the account.
CREATE TABLE suppressions (
    account_id  text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    hem         bytea NOT NULL CHECK (octet_length(hem) = 32),
    source      text NOT NULL CHECK (source IN ('owner', 'import')),
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (account_id, hem)
);

-- Lists of digests on their way into `suppressions`. The counts are of what has been applied.
CREATE TABLE suppression_imports (
    import_id    uuid PRIMARY KEY,
    account_id   text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    -- `uploading` until the whole list is here.
    status       text NOT NULL CHECK (status IN ('uploading', 'waiting', 'done')),
    lines        bigint NOT NULL DEFAULT 0,
    read         bigint NOT NULL DEFAULT 0,
    added        bigint NOT NULL DEFAULT 0,
    erased       bigint NOT NULL DEFAULT 0,
    rejected     bigint NOT NULL DEFAULT 0,
    created_at   timestamptz NOT NULL,
    finished_at  timestamptz
);
CREATE INDEX suppression_imports_account_id ON suppression_imports (account_id);
CREATE INDEX suppression_imports_waiting ON suppression_imports (created_at) WHERE status = 'waiting';

-- What of a list has not been applied yet. A chunk is suppressed in one transaction, and its people
-- are erased in the next, which deletes it.
CREATE TABLE suppression_chunks (
    import_id   uuid NOT NULL REFERENCES suppression_imports ON DELETE CASCADE,
    position    integer NOT NULL,
    hems        bytea[] NOT NULL,
    -- Lines of the list that it stands for, and those of them without a digest.
    lines       bigint NOT NULL,
    rejected    bigint NOT NULL,
    suppressed  boolean NOT NULL DEFAULT false,
    PRIMARY KEY (import_id, position)
);

-- What visitors asked to have erased. `visitor_id` goes with the rest of the visitor's data.
CREATE TABLE erasure_requests (
    pixel_id      text NOT NULL REFERENCES pixels ON DELETE CASCADE,
    request_id    uuid NOT NULL,
    visitor_id    text,
    requested_at  timestamptz NOT NULL,
    due_at        timestamptz NOT NULL,
    status        text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'completed', 'refused')),
    closed_at     timestamptz,
    reason        text,
    -- How many rows of each kind were erased.
    erased        jsonb,
    -- When the owner was mailed that it came, and that it is due soon.
    told_at       timestamptz,
    reminded_at   timestamptz,
    PRIMARY KEY (pixel_id, request_id)
);
CREATE UNIQUE INDEX erasure_requests_open ON erasure_requests (pixel_id, visitor_id)
    WHERE status = 'open';
CREATE INDEX erasure_requests_due ON erasure_requests (due_at) WHERE status = 'open';
CREATE INDEX erasure_requests_closed ON erasure_requests (closed_at) WHERE closed_at IS NOT NULL;

-- When an account was last mailed about them.
CREATE TABLE erasure_mails (
    account_id   text PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    told_at      timestamptz,
    reminded_at  timestamptz
);
