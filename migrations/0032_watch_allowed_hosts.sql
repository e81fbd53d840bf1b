-- Hosts that a report lists separately because its watcher was to ignore them. The public page names those of the
-- service's last report on every request, so it must not parse the report. Empty for reports that an earlier version
-- has stored.
ALTER TABLE watch_reports ADD COLUMN allowed_hosts text[] NOT NULL DEFAULT '{}';
