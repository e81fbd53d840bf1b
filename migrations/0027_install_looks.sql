-- What the last look at a pixel's site found, since when the pixel is there or gone, and when its site
-- is looked at again.
CREATE TABLE install_looks (
    pixel_id         text PRIMARY KEY REFERENCES pixels ON DELETE CASCADE,
    -- All this is about this host: for a pixel that was moved it says nothing.
    host             text NOT NULL,
    -- The look that found it. Another time than the pixel's own `checked_at` says that a version
    -- which knows no findings has looked since.
    looked_at        timestamptz,
    findings         jsonb NOT NULL DEFAULT '[]',
    -- The first look of those in a row that found the pixel installed.
    installed_since  timestamptz,
    -- When the daily look is due. Who takes it moves it on, so that no other node looks too.
    next_look_at     timestamptz,
    -- The daily looks in a row that did not find the pixel, and when the first of them was.
    missed_days      integer NOT NULL DEFAULT 0,
    missing_since    timestamptz,
    -- When its status became `not_installed` for that.
    vanished_at      timestamptz
);
CREATE INDEX install_looks_next_look_at ON install_looks (next_look_at);
