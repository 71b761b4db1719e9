-- How a connection is set up, and what it finds in the file.

-- name: journal
PRAGMA journal_mode

-- name: log_ahead
PRAGMA journal_mode = WAL

-- name: sync_disk
PRAGMA synchronous = FULL

-- name: flush_disk
-- Where a plain flush stops at the drive's own cache, as on macOS.
PRAGMA fullfsync = ON

-- name: sync_process
PRAGMA synchronous = NORMAL

-- name: no_autocheckpoint
PRAGMA wal_autocheckpoint = 0

-- name: short_log
PRAGMA journal_size_limit = 16777216

-- name: foreign_keys
PRAGMA foreign_keys = ON

-- name: no_mmap
PRAGMA mmap_size = 0

-- name: tables
SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'

-- name: migrations
SELECT v, checksum FROM schema_version ORDER BY v

-- name: create_schema_version
CREATE TABLE schema_version (v INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL, checksum TEXT NOT NULL)

-- name: record_migration
INSERT INTO schema_version (v, applied_at, checksum) VALUES (?, ?, ?)
