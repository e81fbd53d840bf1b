-- Who made a key, as the account's events name the actor. Null for keys from before, and for those that a
-- node of the version before issues.
ALTER TABLE api_keys ADD COLUMN made_by text;
