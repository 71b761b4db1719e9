-- What the writer runs, always under the store's lock.

-- name: begin
BEGIN IMMEDIATE

-- name: commit
COMMIT

-- name: rollback
ROLLBACK

-- name: savepoint
SAVEPOINT changes

-- name: undo
ROLLBACK TO changes

-- name: release
RELEASE changes

-- name: data_version
-- Changes when another connection has committed.
PRAGMA data_version

-- name: checkpoint
PRAGMA wal_checkpoint(PASSIVE)

-- name: tape
SELECT t.tape_no, t.generation, max(t.fork_seq, t.low_water), t.indexed, t.lineage, n.root_no, n.state
FROM tape_names n JOIN tapes t ON t.tape_no = n.tape_no
WHERE n.tenant = '' AND n.name = ?

-- name: last_entry
SELECT eid, peak FROM entries WHERE eid BETWEEN ? AND ? ORDER BY eid DESC LIMIT 1

-- name: next_tape_no
SELECT coalesce(max(tape_no), 0) + 1 FROM tapes

-- name: insert_tape
INSERT INTO tapes (tape_no, parent_no, fork_seq, lineage, generation, created_at) VALUES (?, ?, ?, ?, ?, ?)

-- name: insert_name
INSERT INTO tape_names (name, tape_no, root_no, listed, created_at) VALUES (?, ?, ?, ?, ?)

-- name: renumber
UPDATE tape_names SET tape_no = ? WHERE tenant = '' AND name = ?

-- name: insert_entry
INSERT INTO entries (eid, peak, mark, kind, ts, uid, idem_key, anchor, digest, meta, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: index_kinds
-- Kinds and uids are indexed a whole block of entries at a time, which costs an append a tenth of an index of its own.
INSERT INTO entry_kinds (kind, eid) SELECT kind, eid FROM entries WHERE eid BETWEEN ? AND ?

-- name: index_uids
INSERT INTO entry_uids (uid, eid) SELECT uid, eid FROM entries WHERE eid BETWEEN ? AND ?

-- name: note_indexed
UPDATE tapes SET indexed = ? WHERE tape_no = ?

-- name: standing
SELECT eid, kind, ts, digest, meta, body, enc FROM entries WHERE eid >> 32 = ? AND idem_key = ?

-- name: standing_in_lineage
-- In what a branch reads through, up to the last entry of each that it shows.
SELECT e.eid, e.kind, e.ts, e.digest, e.meta, e.body, e.enc
FROM json_each(?) l CROSS JOIN entries e
WHERE e.eid >> 32 = json_extract(l.value, '$[0]') AND e.idem_key = ? AND e.eid & 4294967295 <= json_extract(l.value, '$[1]')
LIMIT 1

-- name: retire_tape
UPDATE tapes SET state = 3 WHERE tape_no = ?

-- name: retired_tape
-- What is out of use goes once no branch reads through it.
SELECT tape_no FROM tapes t
WHERE state = 3 AND NOT EXISTS (SELECT 1 FROM tapes child WHERE child.parent_no = t.tape_no)
LIMIT 1

-- name: purge_edge
-- The last of the first entries that one transaction removes.
SELECT max(eid) FROM (SELECT eid FROM entries WHERE eid BETWEEN ? AND ? ORDER BY eid LIMIT 1000)

-- name: purge_kinds
DELETE FROM entry_kinds WHERE (kind, eid) IN (SELECT kind, eid FROM entries WHERE eid BETWEEN ? AND ?)

-- name: purge_uids
DELETE FROM entry_uids WHERE (uid, eid) IN (SELECT uid, eid FROM entries WHERE eid BETWEEN ? AND ?)

-- name: purge_entries
DELETE FROM entries WHERE eid BETWEEN ? AND ?

-- name: last_segment
SELECT low, high, size, digest, length(data) FROM segments WHERE low BETWEEN ? AND ? ORDER BY low DESC LIMIT 1

-- name: to_archive
SELECT eid, kind, ts, digest, meta, body, enc FROM entries WHERE eid BETWEEN ? AND ? ORDER BY eid

-- name: insert_segment
INSERT OR REPLACE INTO segments (low, high, size, digest, data) VALUES (?, ?, ?, ?, ?)

-- name: empty_entries
UPDATE entries SET enc = 1, meta = x'', body = x'' WHERE eid BETWEEN ? AND ?

-- name: purge_segments
DELETE FROM segments WHERE low BETWEEN ? AND ?

-- name: compact
VACUUM

-- name: checkpoint_all
PRAGMA wal_checkpoint(TRUNCATE)

-- name: forget_tape
UPDATE tapes SET state = 4, parent_no = NULL, lineage = '[]' WHERE tape_no = ?
