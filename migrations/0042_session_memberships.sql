-- A session belongs to a membership, not only to an address: the id of the member's row, null for the
-- account's own address. A session whose membership has ended opens nothing, also when the same address
-- becomes a member again. Nodes of the version before write null, which opens the account only for its
-- own address.
ALTER TABLE sessions
    ADD COLUMN member_id uuid,
    -- Accounts that the session was in before it was switched to another one. Their owners still list it
    -- and end it.
    ADD COLUMN entered text[] NOT NULL DEFAULT '{}';
UPDATE sessions SET member_id = members.member_id
FROM members
WHERE members.account_id = sessions.account_id AND members.email = sessions.address;
CREATE INDEX sessions_address ON sessions (address);
CREATE INDEX sessions_entered ON sessions USING gin (entered);

-- The account that a sign-in leads to, and the membership there: that of the session in which it began, or
-- the one whose mailbox was written to. Null until its digits are mailed.
ALTER TABLE sign_ins
    ADD COLUMN into_account_id text REFERENCES accounts ON DELETE CASCADE,
    ADD COLUMN into_member_id uuid;
CREATE INDEX sign_ins_into_account_id ON sign_ins (into_account_id);
