-- A pixel that is never used ends by itself, and only one that does not work can be claimed by
-- somebody else.
ALTER TABLE pixels
    -- The first sign of use: a tag that was served, a receipt, a popup, a contact, a successful look.
    ADD COLUMN in_use_since timestamptz,
    -- When a look last proved that the pixel is its site's.
    ADD COLUMN proven_at timestamptz,
    -- Since when it is at its host, for one that was renamed: what happened before says nothing.
    ADD COLUMN renamed_at timestamptz,
    -- From when its unused days count. Null, for pixels of versions that did not count: from the
    -- first round that finds them.
    ADD COLUMN unused_since timestamptz,
    -- When its owner was told that it ends, and when it does unless it is used.
    ADD COLUMN ending_told_at timestamptz,
    ADD COLUMN ends_at timestamptz;
UPDATE pixels SET in_use_since = checked_at, proven_at = checked_at WHERE install_status = 'installed';
CREATE INDEX pixels_never_used ON pixels (unused_since) WHERE in_use_since IS NULL;
