-- What visitors are asked: every version of a policy, the look of the popup, and the scripts that show it.
--
-- Policies have no foreign key to pixels: they outlive their pixel, because they are part of the proof that a
-- choice was made. Their keys start with pixel_id, so that the tables can be distributed by it.

-- Every version of a pixel's policy, kept permanently. `document` is the canonical JSON (RFC 8785) whose
-- SHA-256 is `policy_hash`.
CREATE TABLE consent_policies (
    pixel_id      text NOT NULL,
    version       integer NOT NULL,
    policy_hash   text NOT NULL,
    document      text NOT NULL,
    -- The host of the site when the version was published. The heading of the notice shows it.
    domain        text NOT NULL,
    published_at  timestamptz NOT NULL,
    -- The account that published it. The policies of an account are found by it after the pixel is gone.
    account_id    text,
    -- For how many days an acceptance is valid. `document` contains the number only if it is not 182.
    consent_days  integer NOT NULL DEFAULT 182,
    PRIMARY KEY (pixel_id, version)
);
CREATE INDEX consent_policies_hash ON consent_policies (pixel_id, policy_hash);
CREATE INDEX consent_policies_account_id ON consent_policies (account_id);

-- How the popup looks. This is not part of what visitors consent to.
CREATE TABLE consent_appearances (
    pixel_id    text PRIMARY KEY,
    appearance  jsonb NOT NULL
);

-- Every build of the consent tag that a node has served. The tag knows its build by the short id.
CREATE TABLE script_builds (
    build   text PRIMARY KEY,
    sha256  bytea NOT NULL
);
