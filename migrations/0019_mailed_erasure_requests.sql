-- Requests for erasure that the owner received by email. They name a person by `hem`, which is removed together with
-- the person's other data.
ALTER TABLE erasure_requests
    ADD COLUMN hem bytea CHECK (octet_length(hem) = 32),
    ADD COLUMN received_by text NOT NULL DEFAULT 'page' CHECK (received_by IN ('page', 'mail'));
CREATE UNIQUE INDEX erasure_requests_open_person ON erasure_requests (pixel_id, hem)
    WHERE status = 'open' AND hem IS NOT NULL;
