-- Pictures of the popup (docs/watch.md), which nodes with a browser take after it was published.

CREATE TABLE popup_screenshots (
    pixel_id        text NOT NULL REFERENCES pixels ON DELETE CASCADE,
    screenshot_id   uuid NOT NULL,
    policy_version  integer NOT NULL,
    policy_hash     text NOT NULL,
    -- Of the notice as plain text in this language, as shown.notice of a choice has it.
    notice          bytea NOT NULL,
    language        text NOT NULL,
    device          text NOT NULL CHECK (device IN ('desktop', 'phone')),
    -- When the popup got this form. All pictures of one form have the same time.
    configured_at   timestamptz NOT NULL,
    taken_at        timestamptz NOT NULL,
    -- Of the picture, which is in the public log.
    sha256          bytea NOT NULL,
    png             bytea NOT NULL CHECK (octet_length(png) <= 524288),
    PRIMARY KEY (pixel_id, screenshot_id),
    CONSTRAINT popup_screenshots_once UNIQUE (pixel_id, configured_at, language, device)
);
-- Pictures cannot be compressed further.
ALTER TABLE popup_screenshots ALTER COLUMN png SET STORAGE EXTERNAL;

-- Popups whose present form has no pictures yet.
CREATE TABLE popup_screenshots_due (
    pixel_id       text PRIMARY KEY REFERENCES pixels ON DELETE CASCADE,
    configured_at  timestamptz NOT NULL,
    -- A node that takes the pictures moves the time on, in case that it dies.
    next_at        timestamptz NOT NULL,
    -- Attempts that have failed.
    failures       integer NOT NULL
);
CREATE INDEX popup_screenshots_due_next_at ON popup_screenshots_due (next_at);
