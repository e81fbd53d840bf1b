-- Changes of the appearance and the settings of popups, which no version of a policy contains. Nodes of an earlier
-- version neither write nor read them.

CREATE TABLE popup_changes (
    pixel_id         text NOT NULL REFERENCES pixels ON DELETE CASCADE,
    position         bigint GENERATED ALWAYS AS IDENTITY,
    changed_at       timestamptz NOT NULL,
    -- The version in force since the same moment, or before.
    policy_version   integer NOT NULL,
    settings_before  jsonb NOT NULL,
    settings_after   jsonb NOT NULL,
    PRIMARY KEY (pixel_id, position)
);
