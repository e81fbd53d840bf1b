-- Reports of watchers about the sites of pixels (docs/watch.md), and the daily watch of the service.

CREATE TABLE watch_reports (
    pixel_id     text NOT NULL REFERENCES pixels ON DELETE CASCADE,
    report_id    uuid NOT NULL,
    received_at  timestamptz NOT NULL,
    -- As the watcher signed it.
    made_at      timestamptz NOT NULL,
    verdict      text NOT NULL CHECK (verdict IN ('silent', 'leaks', 'not_observed')),
    leak_count   integer NOT NULL,
    -- Whether a node of the service made it.
    by_service   boolean NOT NULL,
    -- The verifier key of the watcher.
    watcher      text NOT NULL,
    -- Of the report, which is in the public log.
    sha256       bytea NOT NULL,
    report       text NOT NULL,
    note         text NOT NULL,
    PRIMARY KEY (pixel_id, report_id),
    CONSTRAINT watch_reports_once UNIQUE (pixel_id, sha256)
);
CREATE INDEX watch_reports_received_at ON watch_reports (received_at);

-- What is known of the silence of a pixel's site. A row of another host than the pixel's means nothing, except
-- for the settings.
CREATE TABLE watch_sites (
    pixel_id       text PRIMARY KEY REFERENCES pixels ON DELETE CASCADE,
    host           text NOT NULL,
    -- When the service watches it next. NULL until it is planned.
    next_watch_at  timestamptz,
    -- Of the newest report, whoever made it.
    verdict        text CHECK (verdict IN ('silent', 'leaks', 'not_observed')),
    reported_at    timestamptz,
    report_id      uuid,
    -- Since when reports have found leaks. NULL after a silent one.
    broken_since   timestamptz,
    -- Of the service's own newest report, for the public page.
    own_verdict    text CHECK (own_verdict IN ('silent', 'leaks', 'not_observed')),
    own_at         timestamptz,
    -- Settings of the owner.
    allowed        text[] NOT NULL DEFAULT '{}',
    is_public      boolean NOT NULL DEFAULT false
);
CREATE INDEX watch_sites_next_watch_at ON watch_sites (next_watch_at);

-- One site is watched at a time. One row. A node takes the turn until a time, in case that it dies.
CREATE TABLE watch_turn (
    only_one     boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    taken_until  timestamptz NOT NULL
);
INSERT INTO watch_turn (taken_until) VALUES ('1970-01-01T00:00:00Z');
