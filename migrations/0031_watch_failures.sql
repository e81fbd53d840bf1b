-- Runs of the daily watch that have failed since the last report of the service. Nodes of an earlier version neither
-- read nor write this number.
ALTER TABLE watch_sites ADD COLUMN failures integer NOT NULL DEFAULT 0;
