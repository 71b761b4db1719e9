-- The volumes of terms: read in a reader's snapshot, written by the writer under the store's lock.

-- name: volumes
SELECT volume_no, first, last, size, mark FROM search_volumes WHERE tape_no = ? AND rules = ?

-- name: pages
SELECT content FROM search_pages WHERE place BETWEEN ? AND ? ORDER BY place

-- name: digest
SELECT digest FROM entries WHERE eid = ?

-- name: part
-- A tape number: which id its own entries stand behind, and what became of it.
SELECT max(fork_seq, low_water), state FROM tapes WHERE tape_no = ?

-- name: strays
-- Volumes of other rules, and such as stand behind a gap.
SELECT volume_no FROM search_volumes WHERE tape_no = ? AND (rules <> ? OR last > ?)

-- name: of_tape
SELECT volume_no FROM search_volumes WHERE tape_no = ?

-- name: next_volume_no
SELECT coalesce(max(volume_no), 0) + 1 FROM search_volumes

-- name: insert_volume
INSERT INTO search_volumes (volume_no, tape_no, first, last, size, mark, rules) VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: insert_page
INSERT INTO search_pages (place, content) VALUES (?, ?)

-- name: forget_volume
DELETE FROM search_volumes WHERE volume_no = ?

-- name: forget_pages
DELETE FROM search_pages WHERE place BETWEEN ? AND ?
