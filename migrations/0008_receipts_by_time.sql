-- For counting a pixel's choices over a range of days.
CREATE INDEX consent_receipts_recorded_at ON consent_receipts (pixel_id, recorded_at);
