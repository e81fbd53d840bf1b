-- A code brings one signup token and, after that, may still confirm its address.
ALTER TABLE confirmation_codes ADD COLUMN renewed_token boolean NOT NULL DEFAULT false;

-- Whose visitors were told this: policies and receipts outlive their pixel, and must be found when
-- the account is erased.
ALTER TABLE consent_policies ADD COLUMN account_id text;
UPDATE consent_policies AS policy SET account_id = pixels.account_id
    FROM pixels WHERE pixels.pixel_id = policy.pixel_id;
CREATE INDEX consent_policies_account_id ON consent_policies (account_id);
