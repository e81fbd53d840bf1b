-- Pictures of the popup (docs/watch.md), which nodes with a browser take after it was published.

-- Forms of popups that have pictures.
CREATE TABLE popup_forms (
    pixel_id        text NOT NULL REFERENCES pixels ON DELETE CASCADE,
    -- When the popup got this form, and when it got another one.
    configured_at   timestamptz NOT NULL,
    replaced_at     timestamptz,
    taken_at        timestamptz NOT NULL,
    policy_version  integer NOT NULL,
    policy_hash     text NOT NULL,
    -- The build of the consent tag, as shown.script of a choice has it.
    script          bytea NOT NULL,
    -- The list of all pictures (docs/reference.md), whose SHA-256 is in the public log.
    list            text NOT NULL,
    list_sha256     bytea NOT NULL,
    PRIMARY KEY (pixel_id, configured_at)
);

CREATE TABLE popup_screenshots (
    pixel_id        text NOT NULL,
    screenshot_id   uuid NOT NULL,
    configured_at   timestamptz NOT NULL,
    -- Of the notice as plain text in this language, as shown.notice of a choice has it.
    notice          bytea NOT NULL,
    language        text NOT NULL,
    device          text NOT NULL CHECK (device IN ('desktop', 'phone')),
    sha256          bytea NOT NULL,
    PRIMARY KEY (pixel_id, screenshot_id),
    CONSTRAINT popup_screenshots_once UNIQUE (pixel_id, configured_at, language, device),
    FOREIGN KEY (pixel_id, configured_at) REFERENCES popup_forms ON DELETE CASCADE
);

-- The pictures themselves. Those that are equal in several forms of a popup are stored once.
CREATE TABLE popup_screenshot_files (
    pixel_id  text NOT NULL REFERENCES pixels ON DELETE CASCADE,
    sha256    bytea NOT NULL,
    png       bytea NOT NULL CHECK (octet_length(png) <= 262144),
    PRIMARY KEY (pixel_id, sha256)
);
-- Pictures cannot be compressed further.
ALTER TABLE popup_screenshot_files ALTER COLUMN png SET STORAGE EXTERNAL;

-- Popups whose present form has no pictures yet.
CREATE TABLE popup_screenshots_due (
    pixel_id       text PRIMARY KEY REFERENCES pixels ON DELETE CASCADE,
    configured_at  timestamptz NOT NULL,
    -- A node that takes the pictures moves the time on, in case that it dies.
    next_at        timestamptz NOT NULL,
    -- While a node takes the pictures, the latest end of that.
    busy_until     timestamptz,
    -- Attempts that have begun and did not succeed.
    failures       integer NOT NULL
);
CREATE INDEX popup_screenshots_due_next_at ON popup_screenshots_due (next_at);
