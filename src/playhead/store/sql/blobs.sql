-- What is kept by its hash. The number 0 stands for the whole store: any of its tapes may refer to such a blob.

-- name: blob
SELECT data, mime FROM blobs WHERE root_no = ? AND digest = ?

-- name: insert_blob
INSERT INTO blobs (root_no, digest, size, mime, data, created_at) VALUES (?, ?, ?, ?, ?, ?)

-- name: mend_blob
UPDATE blobs SET size = ?, mime = ?, data = ? WHERE root_no = ? AND digest = ?

-- name: blobs
SELECT digest, size, mime FROM blobs WHERE root_no = ? ORDER BY digest

-- name: all_blobs
SELECT digest, size, data FROM blobs

-- name: rescue_blob
INSERT OR IGNORE INTO blobs (root_no, digest, size, mime, data, created_at) VALUES (?, ?, ?, ?, ?, ?)

-- name: keep_age
INSERT INTO blob_ages (root_no, digest, used_at) VALUES (?, ?, ?)
ON CONFLICT (root_no, digest) DO UPDATE SET used_at = max(used_at, excluded.used_at)

-- name: renew_age
UPDATE blob_ages SET used_at = max(used_at, ?) WHERE root_no = ? AND digest = ?

-- name: is_kept
SELECT 1 FROM blobs WHERE root_no = ? AND digest = ?

-- name: idle_blobs
-- What has no age counts as idle: nobody knows of a use.
SELECT b.digest, b.size, b.mime FROM blobs b LEFT JOIN blob_ages a ON a.root_no = b.root_no AND a.digest = b.digest
WHERE b.root_no = ? AND (a.used_at IS NULL OR a.used_at < ?) ORDER BY b.digest

-- name: is_idle
SELECT 1 FROM blobs b LEFT JOIN blob_ages a ON a.root_no = b.root_no AND a.digest = b.digest
WHERE b.root_no = ? AND b.digest = ? AND (a.used_at IS NULL OR a.used_at < ?)

-- name: drop_blob
DELETE FROM blobs WHERE root_no = ? AND digest = ?

-- name: drop_age
DELETE FROM blob_ages WHERE root_no = ? AND digest = ?

-- name: entries
SELECT eid, kind, ts, digest, meta, body, enc FROM entries WHERE eid > ? ORDER BY eid

-- name: tape_numbers
SELECT tape_no FROM tapes

-- name: own_range
SELECT min(eid), max(eid) FROM entries WHERE eid BETWEEN ? AND ?

-- name: name_of_tape
SELECT name FROM tape_names WHERE tape_no = ?
