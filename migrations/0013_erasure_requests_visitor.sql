-- The requests of a visitor, for the pages about the visitor's choices.

CREATE INDEX erasure_requests_visitor ON erasure_requests (pixel_id, visitor_id)
    WHERE visitor_id IS NOT NULL;
