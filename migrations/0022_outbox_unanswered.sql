-- Whether an attempt may have reached the mailbox although the mail server did not say so: then what a
-- later refusal would undo stays as it is.
ALTER TABLE outbox ADD COLUMN unanswered boolean NOT NULL DEFAULT false;
