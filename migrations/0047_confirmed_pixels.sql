-- Whose a host is follows from what was seen on its page or in its DNS, not from what anybody may send.
ALTER TABLE pixels
    -- When a check last saw the pixel's tag run on its host's page, or a claim to the host was proven.
    ADD COLUMN confirmed_at timestamptz,
    -- SHA-256 of the token with which the host was claimed; while its record is in the DNS, it is proven.
    ADD COLUMN claim_token_hash bytea;
UPDATE pixels SET claim_token_hash = pixel_claims.token_hash FROM pixel_claims
    WHERE pixel_claims.pixel_id = pixels.pixel_id AND pixel_claims.taken_at IS NOT NULL;
-- `in_use_since` was set for good by a single served tag. The days of such pixels count from the upgrade:
-- null is the time of the first round that finds them.
UPDATE pixels SET unused_since = NULL, ending_told_at = NULL, ends_at = NULL
    WHERE in_use_since IS NOT NULL;
CREATE INDEX pixels_not_confirmed ON pixels (unused_since) WHERE confirmed_at IS NULL;
