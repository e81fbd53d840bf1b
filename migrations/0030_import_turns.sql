-- Lists of suppressions take turns, so that a long one or one that fails holds up nobody else's.
CREATE SEQUENCE suppression_import_turns;

ALTER TABLE suppression_imports
    -- Whose is the lowest comes next.
    ADD COLUMN turn bigint NOT NULL DEFAULT nextval('suppression_import_turns'),
    -- Not before, after a step that failed.
    ADD COLUMN retry_at timestamptz;

DROP INDEX suppression_imports_waiting;
CREATE INDEX suppression_imports_waiting ON suppression_imports (turn) WHERE status = 'waiting';
