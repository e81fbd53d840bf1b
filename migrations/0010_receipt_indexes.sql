-- What tells receipts apart comes first: nearly every comparison on the way through an index is then
-- decided by its first column. State and time are one index instead of two.
--
-- All that touches receipts waits while the indexes are made, unless they are there already: see
-- "Upgrades" in docs/operating.md.
CREATE UNIQUE INDEX IF NOT EXISTS consent_receipts_choice_pixel ON consent_receipts (choice_id, pixel_id)
    WHERE choice_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS consent_receipts_visitor_pixel
    ON consent_receipts (visitor_id, pixel_id, seq DESC);
CREATE INDEX IF NOT EXISTS consent_receipts_state_time
    ON consent_receipts (pixel_id, consent_state, recorded_at);
DROP INDEX consent_receipts_choice;
DROP INDEX consent_receipts_visitor;
DROP INDEX consent_receipts_recorded_at;
DROP INDEX consent_receipts_state;
