-- The user action that made a choice, as the browser reports it, and a condition on it for contacts. Nodes of
-- an earlier version neither write nor read these columns.

ALTER TABLE consent_receipts ADD COLUMN shown_act text;
-- For how long the visitor could see the popup before the choice.
ALTER TABLE consent_receipts ADD COLUMN shown_seen text;
-- Whether a program controlled the browser.
ALTER TABLE consent_receipts ADD COLUMN shown_automated boolean;

-- Whether contacts are only stored with an acceptance that a person made.
ALTER TABLE pixels ADD COLUMN contacts_need_act boolean NOT NULL DEFAULT false;
