-- A snippet mail on its way keeps a second one from being sent beside it; the pause of ten
-- minutes (snippet_mailed_at) begins only once a mail server has taken the mail.
ALTER TABLE pixels ADD COLUMN snippet_mailing_until timestamptz;

-- The order in which a pixel got its names: the first is the one it was created with.
ALTER TABLE pixel_aliases ADD COLUMN position bigint GENERATED ALWAYS AS IDENTITY;
