-- Pixels (one per site host) and the names that stand in for them in script addresses.

CREATE TABLE pixels (
    pixel_id           text PRIMARY KEY,
    account_id         text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    domain             text NOT NULL CONSTRAINT pixels_domain_key UNIQUE,
    install_status     text NOT NULL DEFAULT 'not_checked'
        CHECK (install_status IN ('not_checked', 'installed', 'not_installed', 'unreachable')),
    checked_at         timestamptz,
    check_error        text,
    pipeline           text CHECK (pipeline IN ('utm', 'cms')),
    consent_enabled    boolean NOT NULL DEFAULT false,
    snippet_mailed_at  timestamptz,
    created_at         timestamptz NOT NULL
);
CREATE INDEX pixels_account_id ON pixels (account_id, created_at, pixel_id);

CREATE TABLE pixel_aliases (
    alias     text PRIMARY KEY,
    pixel_id  text NOT NULL REFERENCES pixels ON DELETE CASCADE
);
CREATE INDEX pixel_aliases_pixel_id ON pixel_aliases (pixel_id);
