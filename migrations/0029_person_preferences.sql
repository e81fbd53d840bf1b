-- The language and the time zone that people have chosen. Nodes of an earlier version neither read nor write them.

CREATE TABLE person_preferences (
    -- The person: an address, in whatever accounts it is a member.
    address     text PRIMARY KEY,
    -- BCP 47 tag of one of our own languages; NULL for the language of the browser.
    language    text,
    -- A name of the IANA database; NULL for UTC.
    time_zone   text,
    changed_at  timestamptz NOT NULL
);
