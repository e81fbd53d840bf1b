-- Passkeys with which people sign in to the console. Nodes of an earlier version neither read nor write them.

CREATE TABLE passkeys (
    passkey_id     uuid PRIMARY KEY,
    -- Made by the authenticator.
    credential_id  bytea NOT NULL UNIQUE,
    -- The person: an address, in whatever accounts it is a member.
    address        text NOT NULL,
    -- Random, and the same for all passkeys of a person. Authenticators store it.
    user_handle    bytea NOT NULL,
    -- A SubjectPublicKeyInfo in DER.
    public_key     bytea NOT NULL,
    -- 0 where the authenticator does not count.
    sign_count     bigint NOT NULL,
    name           text NOT NULL,
    created_at     timestamptz NOT NULL,
    last_used_at   timestamptz
);
CREATE INDEX passkeys_address ON passkeys (address);

-- Challenges that wait for the answer of an authenticator. Each is deleted by the first answer.
CREATE TABLE passkey_challenges (
    challenge_hash  bytea PRIMARY KEY,
    -- The session that adds a passkey, and the user handle of the new passkey; NULL for a sign-in.
    session_id      uuid,
    user_handle     bytea,
    expires_at      timestamptz NOT NULL
);
CREATE INDEX passkey_challenges_expires_at ON passkey_challenges (expires_at);
