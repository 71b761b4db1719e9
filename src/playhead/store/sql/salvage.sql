-- What puts a salvaged store together.

-- name: insert_entry
INSERT OR IGNORE INTO entries (eid, peak, mark, kind, ts, uid, idem_key, anchor, digest, meta, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: keep_segments
CREATE TEMP TABLE segments (low INTEGER PRIMARY KEY, high INTEGER, size INTEGER, digest BLOB, data BLOB)

-- name: keep_segment
INSERT OR IGNORE INTO segments (low, high, size, digest, data) VALUES (?, ?, ?, ?, ?)

-- name: drop_segments
DROP TABLE IF EXISTS temp.segments

-- name: present
SELECT DISTINCT eid >> 32 FROM entries

-- name: leave_out
DELETE FROM entries WHERE eid >= ? AND eid < ?

-- name: entries
SELECT eid, ts, mark FROM entries WHERE eid BETWEEN ? AND ? ORDER BY eid LIMIT ?

-- name: settle
UPDATE entries SET peak = ?, mark = ? WHERE eid = ?

-- name: kept
SELECT count(*) FROM entries

-- name: insert_tape
INSERT INTO tapes (tape_no, parent_no, fork_seq, lineage, generation, state, indexed, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_name
INSERT INTO tape_names (name, tape_no, root_no, listed, branch_no, parent, base_generation, base_seq, state, owner, created_at, closed_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
