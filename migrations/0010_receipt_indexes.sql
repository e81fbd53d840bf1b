-- What tells receipts apart comes first: nearly every comparison on the way through an index is then
-- decided by its first column. And one index for two: by state, by time, and by both.
DROP INDEX consent_receipts_choice;
CREATE UNIQUE INDEX consent_receipts_choice ON consent_receipts (choice_id, pixel_id)
    WHERE choice_id IS NOT NULL;
DROP INDEX consent_receipts_visitor;
CREATE INDEX consent_receipts_visitor ON consent_receipts (visitor_id, pixel_id, seq DESC);
DROP INDEX consent_receipts_recorded_at;
DROP INDEX consent_receipts_state;
CREATE INDEX consent_receipts_state ON consent_receipts (pixel_id, consent_state, recorded_at);
