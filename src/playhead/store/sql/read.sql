-- What the readers run. An eid is tape_no << 32 | seq, so a tape is one range of eids, and a branch several.

-- name: begin
BEGIN

-- name: end
ROLLBACK

-- name: tape
SELECT t.tape_no, t.generation, max(t.fork_seq, t.low_water), t.indexed, t.lineage
FROM tape_names n JOIN tapes t ON t.tape_no = n.tape_no
WHERE n.tenant = '' AND n.name = ?

-- name: is_named
SELECT 1 FROM tape_names WHERE tenant = '' AND name = ?

-- name: last_entry
SELECT max(eid) FROM entries WHERE eid BETWEEN ? AND ?

-- name: keyed_entry
SELECT eid, kind, ts, digest, meta, body, enc FROM entries WHERE eid >> 32 = ? AND idem_key = ?

-- name: names
-- Tapes that hold something or have an open branch.
SELECT n.name FROM tape_names n JOIN tapes t ON t.tape_no = n.tape_no
WHERE n.tenant = '' AND n.listed AND (t.low_water > 0
    OR EXISTS (SELECT 1 FROM entries WHERE eid BETWEEN t.tape_no << 32 AND t.tape_no << 32 | 4294967295)
    OR EXISTS (SELECT 1 FROM tape_names b WHERE b.root_no = n.root_no AND b.branch_no IS NOT NULL AND b.state = 'open'))
ORDER BY n.name

-- name: families
-- Names of tapes that hold something, and of branches.
SELECT n.name FROM tape_names n JOIN tapes t ON t.tape_no = n.tape_no
WHERE n.tenant = '' AND (n.branch_no IS NOT NULL OR t.fork_seq > 0 OR t.low_water > 0
    OR EXISTS (SELECT 1 FROM entries WHERE eid BETWEEN t.tape_no << 32 AND t.tape_no << 32 | 4294967295))

-- name: sidecars
-- The names between two that show something.
SELECT n.name FROM tape_names n JOIN tapes t ON t.tape_no = n.tape_no
WHERE n.tenant = '' AND n.name > ? AND n.name < ? AND (t.fork_seq > 0 OR t.low_water > 0
    OR EXISTS (SELECT 1 FROM entries WHERE eid BETWEEN t.tape_no << 32 AND t.tape_no << 32 | 4294967295))
ORDER BY n.name

-- name: branch
SELECT name, parent, base_generation, base_seq, state, owner, created_at, closed_at
FROM tape_names WHERE tenant = '' AND name = ? AND parent IS NOT NULL

-- name: branches
SELECT name, parent, base_generation, base_seq, state, owner, created_at, closed_at
FROM tape_names INDEXED BY tape_names_branch
WHERE root_no = (SELECT root_no FROM tape_names WHERE tenant = '' AND name = ?) AND branch_no IS NOT NULL ORDER BY branch_no

-- name: marks
SELECT eid, mark FROM entries WHERE eid BETWEEN ? AND ? ORDER BY eid

-- name: cursor
SELECT generation, seq FROM cursors WHERE tenant = '' AND name = ? AND consumer = ?

-- name: cursors
SELECT consumer, generation, seq FROM cursors WHERE tenant = '' AND name = ? ORDER BY consumer

-- name: range
SELECT eid, kind, ts, digest, meta, body, enc FROM entries WHERE eid BETWEEN ? AND ? ORDER BY eid

-- name: range_newest_first
SELECT eid, kind, ts, digest, meta, body, enc FROM entries WHERE eid BETWEEN ? AND ? ORDER BY eid DESC

-- name: kind
-- An entry that is indexed and missing comes without a kind.
SELECT k.eid, e.kind, e.ts, e.digest, e.meta, e.body, e.enc FROM entry_kinds k LEFT JOIN entries e ON e.eid = k.eid
WHERE k.kind = ? AND k.eid BETWEEN ? AND ? AND (e.eid IS NULL OR e.ts BETWEEN ? AND ?) ORDER BY k.eid

-- name: kind_newest_first
SELECT k.eid, e.kind, e.ts, e.digest, e.meta, e.body, e.enc FROM entry_kinds k LEFT JOIN entries e ON e.eid = k.eid
WHERE k.kind = ? AND k.eid BETWEEN ? AND ? AND (e.eid IS NULL OR e.ts BETWEEN ? AND ?) ORDER BY k.eid DESC

-- name: stray
-- Entries that are dated before one that stands in front of them, or far ahead; all others are found by halving.
SELECT eid FROM entries INDEXED BY entries_stray
WHERE eid >> 32 = ? AND ts BETWEEN ? AND ? AND ts <> peak AND eid BETWEEN ? AND ?

-- name: entry
SELECT eid, kind, ts, digest, meta, body, enc FROM entries WHERE eid = ?

-- name: segment
-- The segment that an archived entry is in.
SELECT low, high, digest, data FROM segments WHERE low <= ? ORDER BY low DESC LIMIT 1

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

-- name: count_kind
SELECT count(*) FROM entry_kinds WHERE kind = ? AND eid BETWEEN ? AND ?

-- name: kinds
-- Entries without what they say, which is all that their kind is compared with.
SELECT eid, kind, ts, digest, x'', x'' FROM entries WHERE eid BETWEEN ? AND ? ORDER BY eid

-- name: place_of_uid
SELECT eid FROM entry_uids WHERE uid = ? AND eid BETWEEN ? AND ? ORDER BY eid LIMIT 1

-- name: uids
SELECT uid, eid FROM entries WHERE eid BETWEEN ? AND ? ORDER BY eid DESC
