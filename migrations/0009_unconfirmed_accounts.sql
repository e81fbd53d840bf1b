-- For finding, every hour, the few accounts whose address was never confirmed.
CREATE INDEX accounts_pending ON accounts (created_at) WHERE status = 'pending_email';
