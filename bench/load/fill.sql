-- Fills the table with :receipts receipts, one of each visitor, then creates the indexes.
SELECT string_agg(indexdef, '; ') AS indexes, string_agg(format('DROP INDEX %I', indexname), '; ') AS drops
FROM pg_indexes WHERE tablename = 'consent_receipts' AND indexname NOT LIKE '%pkey' \gset
:drops;
ALTER TABLE consent_receipts DROP CONSTRAINT consent_receipts_pkey;
INSERT INTO consent_receipts (pixel_id, receipt_id, visitor_id, origin, consent_state, policy_hash,
    purposes, recorded_at, signature, choice_id, expires_at)
SELECT :'pixel', gen_random_uuid(), 'visitor-' || n, 'https://shop.example', 'accepted', :'hash',
    '{analytics,resolution}', now() - n * interval '1 second',
    '\x0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef', gen_random_uuid(),
    now() - n * interval '1 second' + interval '4368 hours'
FROM generate_series(1, :receipts) AS n;
SET maintenance_work_mem = '1GB';
ALTER TABLE consent_receipts ADD CONSTRAINT consent_receipts_pkey PRIMARY KEY (pixel_id, seq);
:indexes;
VACUUM (ANALYZE) consent_receipts;
