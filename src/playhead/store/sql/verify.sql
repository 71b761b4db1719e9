-- What is asked of a file to prove it.

-- name: integrity
PRAGMA integrity_check(100)

-- name: schema
SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\'

-- name: tapes
SELECT tape_no, parent_no, fork_seq, lineage, generation, state, low_water, indexed, created_at FROM tapes ORDER BY tape_no

-- name: names
SELECT name, tape_no, root_no, listed, branch_no, parent, base_generation, base_seq, state, owner, created_at, closed_at FROM tape_names ORDER BY name

-- name: next_entry
SELECT min(eid) FROM entries WHERE eid >= ?

-- name: last_entry
SELECT max(eid) FROM entries WHERE eid BETWEEN ? AND ?

-- name: count
SELECT count(*) FROM entries WHERE eid BETWEEN ? AND ?

-- name: rows
SELECT eid, kind, ts, digest, meta, body, peak, uid, idem_key, anchor, mark, enc, search FROM entries WHERE eid BETWEEN ? AND ? ORDER BY eid

-- name: rows_newest_first
SELECT eid FROM entries WHERE eid BETWEEN ? AND ? ORDER BY eid DESC

-- name: unindexed_kinds
SELECT e.eid FROM entries e WHERE e.eid BETWEEN ? AND ? AND NOT EXISTS (SELECT 1 FROM entry_kinds k WHERE k.kind = e.kind AND k.eid = e.eid) ORDER BY e.eid

-- name: unindexed_uids
SELECT e.eid FROM entries e WHERE e.eid BETWEEN ? AND ? AND NOT EXISTS (SELECT 1 FROM entry_uids u WHERE u.uid = e.uid AND u.eid = e.eid) ORDER BY e.eid

-- name: stray_kinds
-- What the index says of entries that are not there, are of another kind, or stand behind what is indexed.
SELECT k.eid FROM entry_kinds k LEFT JOIN entries e ON e.eid = k.eid LEFT JOIN tapes t ON t.tape_no = k.eid >> 32
WHERE e.eid IS NULL OR e.kind IS NOT k.kind OR t.tape_no IS NULL OR k.eid & 4294967295 > t.indexed

-- name: stray_uids
SELECT u.eid FROM entry_uids u LEFT JOIN entries e ON e.eid = u.eid LEFT JOIN tapes t ON t.tape_no = u.eid >> 32
WHERE e.eid IS NULL OR e.uid IS NOT u.uid OR t.tape_no IS NULL OR u.eid & 4294967295 > t.indexed

-- name: stray_segments
-- Segments that do not stand for as many archived entries, one behind the other, as they say.
SELECT s.low, s.high FROM segments s
WHERE s.low >> 32 <> s.high >> 32
    OR (SELECT count(*) FROM entries e WHERE e.eid BETWEEN s.low AND s.high AND e.enc = 1) <> s.high - s.low + 1
    OR EXISTS (SELECT 1 FROM segments other WHERE other.low > s.low AND other.low <= s.high)
ORDER BY s.low

-- name: cursors
SELECT name, consumer, generation, seq FROM cursors ORDER BY name, consumer

-- name: leases
SELECT name, owner, epoch, until FROM leases ORDER BY name

-- name: volumes
SELECT volume_no, tape_no, first, last, size, mark, rules FROM search_volumes ORDER BY volume_no

-- name: stray_pages
SELECT count(*) FROM search_pages p WHERE NOT EXISTS (SELECT 1 FROM search_volumes v WHERE v.volume_no = p.place >> 24)
