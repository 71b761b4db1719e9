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
