-- Moves of sites to other domains (docs/reference.md, "Moves"). A row ends with its move.

CREATE TABLE site_moves (
    pixel_id     text PRIMARY KEY REFERENCES pixels ON DELETE CASCADE,
    -- The host that the pixel had. Until the move ends, its pages belong to the site, and nobody else gets it.
    former_host  text NOT NULL,
    moved_at     timestamptz NOT NULL,
    ends_at      timestamptz NOT NULL
);
CREATE INDEX site_moves_former_host ON site_moves (former_host);
CREATE INDEX site_moves_ends_at ON site_moves (ends_at);
