-- What the readers run. An eid is tape_no << 32 | seq, so a tape is one range of eids.

-- name: begin
BEGIN

-- name: end
ROLLBACK

-- name: tape
SELECT t.tape_no, t.generation, max(t.fork_seq, t.low_water)
FROM tape_names n JOIN tapes t ON t.tape_no = n.tape_no
WHERE n.tenant = '' AND n.name = ?

-- name: last_entry
SELECT max(eid) FROM entries WHERE eid BETWEEN ? AND ?

-- name: keyed_entry
SELECT eid, kind, ts, digest, meta, body FROM entries WHERE eid >> 32 = ? AND idem_key = ?

-- name: names
-- A tape that was reset and not written since is not listed.
SELECT n.name FROM tape_names n JOIN tapes t ON t.tape_no = n.tape_no
WHERE n.tenant = '' AND (t.fork_seq > 0 OR t.low_water > 0
    OR EXISTS (SELECT 1 FROM entries WHERE eid BETWEEN t.tape_no << 32 AND t.tape_no << 32 | 4294967295))
ORDER BY n.name

-- name: range
SELECT eid, kind, ts, digest, meta, body FROM entries
WHERE eid BETWEEN ? AND ? AND ts BETWEEN ? AND ? ORDER BY eid

-- name: range_newest_first
SELECT eid, kind, ts, digest, meta, body FROM entries
WHERE eid BETWEEN ? AND ? AND ts BETWEEN ? AND ? ORDER BY eid DESC

-- name: kind
-- An entry that is indexed and missing comes without a kind.
SELECT k.eid, e.kind, e.ts, e.digest, e.meta, e.body FROM entry_kinds k LEFT JOIN entries e ON e.eid = k.eid
WHERE k.kind = ? AND k.eid BETWEEN ? AND ? AND (e.eid IS NULL OR e.ts BETWEEN ? AND ?) ORDER BY k.eid

-- name: kind_newest_first
SELECT k.eid, e.kind, e.ts, e.digest, e.meta, e.body FROM entry_kinds k LEFT JOIN entries e ON e.eid = k.eid
WHERE k.kind = ? AND k.eid BETWEEN ? AND ? AND (e.eid IS NULL OR e.ts BETWEEN ? AND ?) ORDER BY k.eid DESC

-- name: stray
-- Entries that are dated before one that stands in front of them, or far ahead; all others are found by halving.
SELECT eid FROM entries INDEXED BY entries_stray
WHERE eid >> 32 = ? AND ts BETWEEN ? AND ? AND ts <> peak AND eid BETWEEN ? AND ?

-- name: entry
SELECT eid, kind, ts, digest, meta, body FROM entries WHERE eid = ?

-- name: peak
SELECT eid, peak FROM entries WHERE eid BETWEEN ? AND ? ORDER BY eid LIMIT 1

-- name: newest_anchor
SELECT eid FROM entries INDEXED BY entries_anchors
WHERE anchor IS NOT NULL AND eid BETWEEN ? AND ? ORDER BY eid DESC LIMIT 1

-- name: newest_anchor_named
SELECT eid FROM entries INDEXED BY entries_anchor
WHERE anchor = ? AND eid BETWEEN ? AND ? ORDER BY eid DESC LIMIT 1

-- name: first_anchor_named
SELECT eid FROM entries INDEXED BY entries_anchor
WHERE anchor = ? AND eid BETWEEN ? AND ? ORDER BY eid LIMIT 1

-- name: count_range
-- Ids are dense.
SELECT coalesce((SELECT max(eid) FROM entries WHERE eid BETWEEN ?1 AND ?2) - (SELECT min(eid) FROM entries WHERE eid BETWEEN ?1 AND ?2) + 1, 0)

-- name: count_kind
SELECT count(*) FROM entry_kinds WHERE kind = ? AND eid BETWEEN ? AND ?

-- name: count_kind_unindexed
SELECT count(*) FROM entries WHERE kind = ? AND eid BETWEEN ? AND ?

-- name: place_of_uid
SELECT eid FROM entry_uids WHERE uid = ? AND eid BETWEEN ? AND ? ORDER BY eid LIMIT 1

-- name: uids
SELECT uid, eid FROM entries WHERE eid BETWEEN ? AND ? ORDER BY eid DESC
