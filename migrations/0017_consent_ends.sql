-- An acceptance ends, and what a visitor was shown is kept with the choice.
--
-- A node of an older version writes none of these columns: its policies last for 182 days, and its
-- acceptances for as long as the policy that they name says. New columns without a value, or with
-- the same one in every row, are added without rewriting the tables.

-- For how many days an acceptance lasts; also in `document` where it is not 182.
ALTER TABLE consent_policies ADD COLUMN consent_days integer NOT NULL DEFAULT 182;

ALTER TABLE consent_receipts
    -- From when on an acceptance permits nothing. NULL in refusals, and in acceptances that an older
    -- node recorded.
    ADD COLUMN expires_at timestamptz,
    -- What the browser says it showed: the language, and the SHA-256 of the notice's plain text and
    -- of the script.
    ADD COLUMN shown_language text,
    ADD COLUMN shown_notice bytea,
    ADD COLUMN shown_script bytea;

-- Every build of the consent tag that a node has served, by the short id that the tag knows itself
-- by.
CREATE TABLE script_builds (
    build   text PRIMARY KEY,
    sha256  bytea NOT NULL
);
