-- Pixels (one per site host), their alternative names, claims to hosts, and the results of install checks.

CREATE TABLE pixels (
    pixel_id               text PRIMARY KEY,
    account_id             text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    domain                 text NOT NULL CONSTRAINT pixels_domain_key UNIQUE,
    install_status         text NOT NULL DEFAULT 'not_checked'
        CHECK (install_status IN ('not_checked', 'installed', 'not_installed', 'unreachable')),
    checked_at             timestamptz,
    check_error            text,
    pipeline               text CHECK (pipeline IN ('utm', 'cms')),
    consent_enabled        boolean NOT NULL DEFAULT false,
    -- When a mail server accepted the snippet mail. The pause of ten minutes counts from here.
    snippet_mailed_at      timestamptz,
    created_at             timestamptz NOT NULL,
    -- Until then a snippet mail is being sent, and no second one is started.
    snippet_mailing_until  timestamptz,
    -- The first and the latest confirmation at the present host. confirmed_at decides.
    in_use_since           timestamptz,
    proven_at              timestamptz,
    -- When the pixel was moved to its present host. Use before that does not count.
    renamed_at             timestamptz,
    -- The start of the days without use. NULL: a job sets it to the time at which it finds the pixel.
    unused_since           timestamptz,
    -- When the owner was told that the pixel will be deleted, and when that happens unless it is used.
    ending_told_at         timestamptz,
    ends_at                timestamptz,
    -- Whether contacts are stored only with the consent of a visitor.
    contacts_need_consent  boolean NOT NULL DEFAULT false,
    -- When a check last saw the pixel's tag run on a page of its host, or a claim to the host was proven.
    -- Requests that anybody can send are not evidence of who owns a host.
    confirmed_at           timestamptz,
    -- SHA-256 of the token with which the host was claimed. The claim holds while the DNS has its record.
    claim_token_hash       bytea
);
CREATE INDEX pixels_account_id ON pixels (account_id, created_at, pixel_id);
CREATE INDEX pixels_never_used ON pixels (unused_since) WHERE in_use_since IS NULL;
CREATE INDEX pixels_not_confirmed ON pixels (unused_since) WHERE confirmed_at IS NULL;

-- Names that are used for a pixel in the addresses of its scripts.
CREATE TABLE pixel_aliases (
    alias     text PRIMARY KEY,
    pixel_id  text NOT NULL REFERENCES pixels ON DELETE CASCADE,
    -- The order of the names of a pixel. The lowest is the name that it was created with.
    position  bigint GENERATED ALWAYS AS IDENTITY
);
CREATE INDEX pixel_aliases_pixel_id ON pixel_aliases (pixel_id);

-- Claims to hosts that are not proven yet. One per account and host.
CREATE TABLE pixel_claims (
    token_hash  bytea PRIMARY KEY,
    account_id  text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    domain      text NOT NULL,
    -- The id that the pixel gets when the claim is proven.
    pixel_id    text NOT NULL,
    expires_at  timestamptz NOT NULL,
    -- When the claim was proven.
    taken_at    timestamptz,
    CONSTRAINT pixel_claims_host UNIQUE (account_id, domain)
);
CREATE INDEX pixel_claims_expires_at ON pixel_claims (expires_at);

-- What the last install check of a pixel's site found, how long the pixel has been found or missing, and when
-- the next check is due.
CREATE TABLE install_looks (
    pixel_id         text PRIMARY KEY REFERENCES pixels ON DELETE CASCADE,
    -- The row is about this host. It is ignored when the pixel has been moved to another one.
    host             text NOT NULL,
    -- When the check was made. The findings are shown only if this equals pixels.checked_at.
    looked_at        timestamptz,
    findings         jsonb NOT NULL DEFAULT '[]',
    -- The first of the successive checks that found the pixel installed.
    installed_since  timestamptz,
    -- When the daily check is due. The node that makes it moves the time on, so that no other node does it too.
    next_look_at     timestamptz,
    -- How many daily checks in a row did not find the pixel, and when the first of them was made.
    missed_days      integer NOT NULL DEFAULT 0,
    missing_since    timestamptz,
    -- When the status became `not_installed` for that reason.
    vanished_at      timestamptz
);
CREATE INDEX install_looks_next_look_at ON install_looks (next_look_at);
