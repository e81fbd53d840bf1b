-- Mails that an account does not want. What is not here is sent.
CREATE TABLE mails_off (
    account_id     text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    mail           text NOT NULL,
    turned_off_at  timestamptz NOT NULL,
    PRIMARY KEY (account_id, mail)
);

-- How many days before the end of the trial its owner was told of it last: 7, then 1.
ALTER TABLE accounts ADD COLUMN trial_told_days smallint;
CREATE INDEX accounts_trial_untold ON accounts (trial_ends_at)
    WHERE plan = 'free' AND trial_told_days IS NULL;
CREATE INDEX accounts_trial_told ON accounts (trial_ends_at)
    WHERE plan = 'free' AND trial_told_days = 7;

-- How much of the month's allowance is used, 80 or 100 percent, and of how much the owner was told.
ALTER TABLE contact_usage
    ADD COLUMN reached_percent smallint NOT NULL DEFAULT 0,
    ADD COLUMN told_percent smallint NOT NULL DEFAULT 0;
CREATE INDEX contact_usage_untold ON contact_usage (month) WHERE reached_percent > told_percent;

-- Invoices of the payment provider whose payment failed, and of which the owner was told.
CREATE TABLE failed_invoices (
    invoice_id  text PRIMARY KEY,
    account_id  text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    told_at     timestamptz NOT NULL,
    paid_at     timestamptz
);
CREATE INDEX failed_invoices_account_id ON failed_invoices (account_id);
