-- The end of a trial or a paid period of which the owner was notified when it had passed.

ALTER TABLE accounts ADD COLUMN end_told_at timestamptz;

CREATE INDEX accounts_trial_end_unnotified ON accounts (trial_ends_at)
    WHERE plan = 'free' AND (end_told_at IS NULL OR end_told_at <> trial_ends_at);
CREATE INDEX accounts_paid_end_unnotified ON accounts (paid_until)
    WHERE plan = 'paid' AND (end_told_at IS NULL OR end_told_at <> paid_until);
