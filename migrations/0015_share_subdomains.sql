-- One choice for all subdomains. Nodes of an earlier version neither write nor read these columns.

ALTER TABLE pixels ADD COLUMN share_subdomains boolean NOT NULL DEFAULT false;
-- When sharing was last turned off: until the last cookie has expired, the tag removes it.
ALTER TABLE pixels ADD COLUMN share_ended_at timestamptz;
