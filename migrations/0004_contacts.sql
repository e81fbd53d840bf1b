-- The people that were resolved on each pixel's site, and how many new ones an account stored.

-- No foreign key: this table grows with visitors. Whoever deletes a pixel locks its row, then
-- deletes its rows here.
CREATE TABLE contacts (
    pixel_id     text NOT NULL,
    -- Taken from contact_counters: ids of a pixel become visible in rising order.
    id           bigint NOT NULL,
    hem          bytea NOT NULL CHECK (octet_length(hem) = 32),
    -- When the person was seen first, in UTC, as it is shown: text keeps the fraction of a
    -- second exactly as it was given.
    resolved_at  text NOT NULL,
    resolved_on  date NOT NULL,
    contact      json NOT NULL,
    PRIMARY KEY (pixel_id, id)
);
CREATE UNIQUE INDEX contacts_hem ON contacts (pixel_id, hem);
CREATE INDEX contacts_day ON contacts (pixel_id, resolved_on, id);

-- The last id that a pixel gave out. Never goes back, whatever is erased.
CREATE TABLE contact_counters (
    pixel_id  text PRIMARY KEY REFERENCES pixels ON DELETE CASCADE,
    last_id   bigint NOT NULL
);

-- New contacts per account and UTC calendar month (its first day). Never goes back, whatever is
-- erased or deleted.
CREATE TABLE contact_usage (
    account_id  text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    month       date NOT NULL,
    stored      bigint NOT NULL,
    PRIMARY KEY (account_id, month)
);
