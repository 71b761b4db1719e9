-- What the readers run. A statement that names a tape by its number also compares its name, as a tape may have been reset, renamed or removed;
-- where it was, no row comes back.

-- name: tape
SELECT root_id, tape_no, generation, fork_seq, lineage, turn, head, mark
FROM tapes
WHERE root_id = (SELECT root_id FROM tape_names WHERE tenant = %(tenant)s AND name_key = %(root_name)b) AND name_key = %(name)b AND in_use

-- name: end
SELECT head FROM tapes WHERE root_id = %(root)b AND tape_no = %(tape)b AND name_key = %(name)b AND in_use

-- name: end_and_anchor
SELECT t.head, (SELECT max(seq) FROM entries WHERE root_id = %(root)b AND tape_no = %(tape)b AND seq <= %(high)b AND anchor IS NOT NULL)
FROM tapes t WHERE t.root_id = %(root)b AND t.tape_no = %(tape)b AND t.name_key = %(name)b AND t.in_use

-- name: end_and_anchor_named
SELECT t.head, (SELECT max(seq) FROM entries WHERE root_id = %(root)b AND tape_no = %(tape)b AND seq <= %(high)b AND anchor = %(anchor)b AND anchor IS NOT NULL)
FROM tapes t WHERE t.root_id = %(root)b AND t.tape_no = %(tape)b AND t.name_key = %(name)b AND t.in_use

-- name: newest
SELECT e.seq, e.kind, e.ts, e.digest, e.meta, e.body, e.enc, t.head
FROM tapes t LEFT JOIN LATERAL (
    SELECT seq, kind, ts, digest, meta, body, enc FROM entries
    WHERE root_id = %(root)b AND tape_no = %(tape)b AND seq BETWEEN %(low)b AND %(high)b
    ORDER BY seq DESC LIMIT %(limit)b
) e ON true
WHERE t.root_id = %(root)b AND t.tape_no = %(tape)b AND t.name_key = %(name)b AND t.in_use

-- name: oldest
SELECT e.seq, e.kind, e.ts, e.digest, e.meta, e.body, e.enc, t.head
FROM tapes t LEFT JOIN LATERAL (
    SELECT seq, kind, ts, digest, meta, body, enc FROM entries
    WHERE root_id = %(root)b AND tape_no = %(tape)b AND seq BETWEEN %(low)b AND %(high)b
    ORDER BY seq LIMIT %(limit)b
) e ON true
WHERE t.root_id = %(root)b AND t.tape_no = %(tape)b AND t.name_key = %(name)b AND t.in_use

-- name: newest_of_kinds
SELECT e.seq, e.kind, e.ts, e.digest, e.meta, e.body, e.enc, t.head
FROM tapes t LEFT JOIN LATERAL (
    SELECT o.* FROM unnest(%(kinds)b::bytea[]) AS k (kind) CROSS JOIN LATERAL (
        SELECT seq, kind, ts, digest, meta, body, enc FROM entries
        WHERE root_id = %(root)b AND tape_no = %(tape)b AND seq BETWEEN %(low)b AND %(high)b AND substring(kind, 1, 64) = substring(k.kind, 1, 64) AND kind = k.kind
        ORDER BY seq DESC LIMIT %(limit)b
    ) o ORDER BY o.seq DESC LIMIT %(limit)b
) e ON true
WHERE t.root_id = %(root)b AND t.tape_no = %(tape)b AND t.name_key = %(name)b AND t.in_use

-- name: oldest_of_kinds
SELECT e.seq, e.kind, e.ts, e.digest, e.meta, e.body, e.enc, t.head
FROM tapes t LEFT JOIN LATERAL (
    SELECT o.* FROM unnest(%(kinds)b::bytea[]) AS k (kind) CROSS JOIN LATERAL (
        SELECT seq, kind, ts, digest, meta, body, enc FROM entries
        WHERE root_id = %(root)b AND tape_no = %(tape)b AND seq BETWEEN %(low)b AND %(high)b AND substring(kind, 1, 64) = substring(k.kind, 1, 64) AND kind = k.kind
        ORDER BY seq LIMIT %(limit)b
    ) o ORDER BY o.seq LIMIT %(limit)b
) e ON true
WHERE t.root_id = %(root)b AND t.tape_no = %(tape)b AND t.name_key = %(name)b AND t.in_use

-- name: range
SELECT seq, kind, ts, digest, meta, body, enc FROM entries
WHERE root_id = %(root)b AND tape_no = %(tape)b AND seq BETWEEN %(low)b AND %(high)b ORDER BY seq LIMIT %(limit)b

-- name: at_places
SELECT p.tape_no, e.seq, e.kind, e.ts, e.digest, e.meta, e.body, e.enc
FROM unnest(%(tapes)b::bigint[], %(ids)b::bigint[]) AS p (tape_no, seq)
JOIN entries e ON e.root_id = %(root)b AND e.tape_no = p.tape_no AND e.seq = p.seq

-- name: range_newest_first
SELECT seq, kind, ts, digest, meta, body, enc FROM entries
WHERE root_id = %(root)b AND tape_no = %(tape)b AND seq BETWEEN %(low)b AND %(high)b ORDER BY seq DESC LIMIT %(limit)b

-- name: kinds
SELECT e.seq, e.kind, e.ts, e.digest, e.meta, e.body, e.enc
FROM unnest(%(kinds)b::bytea[]) AS k (kind) CROSS JOIN LATERAL (
    SELECT seq, kind, ts, digest, meta, body, enc FROM entries
    WHERE root_id = %(root)b AND tape_no = %(tape)b AND seq BETWEEN %(low)b AND %(high)b
      AND substring(kind, 1, 64) = substring(k.kind, 1, 64) AND kind = k.kind AND ts BETWEEN %(since)b AND %(until)b
    ORDER BY seq LIMIT %(limit)b
) e ORDER BY e.seq LIMIT %(limit)b

-- name: kinds_newest_first
SELECT e.seq, e.kind, e.ts, e.digest, e.meta, e.body, e.enc
FROM unnest(%(kinds)b::bytea[]) AS k (kind) CROSS JOIN LATERAL (
    SELECT seq, kind, ts, digest, meta, body, enc FROM entries
    WHERE root_id = %(root)b AND tape_no = %(tape)b AND seq BETWEEN %(low)b AND %(high)b
      AND substring(kind, 1, 64) = substring(k.kind, 1, 64) AND kind = k.kind AND ts BETWEEN %(since)b AND %(until)b
    ORDER BY seq DESC LIMIT %(limit)b
) e ORDER BY e.seq DESC LIMIT %(limit)b

-- name: count_kinds
SELECT count(*) FROM unnest(%(kinds)b::bytea[]) AS k (kind) JOIN entries e
    ON e.root_id = %(root)b AND e.tape_no = %(tape)b AND e.seq BETWEEN %(low)b AND %(high)b AND substring(e.kind, 1, 64) = substring(k.kind, 1, 64) AND e.kind = k.kind

-- name: on_time
-- Between which ids the newest date so far lies between two instants, to a block of 64 entries: all else that is dated so is a stray.
SELECT coalesce((SELECT max(seq) FROM entries WHERE root_id = %(root)b AND tape_no = %(tape)b AND seq & 63 = 0 AND peak < %(since)b), 0) + 1,
       (SELECT min(seq) FROM entries WHERE root_id = %(root)b AND tape_no = %(tape)b AND seq & 63 = 0 AND peak > %(until)b)

-- name: strays
SELECT seq, kind, ts, digest, meta, body, enc FROM entries
WHERE root_id = %(root)b AND tape_no = %(tape)b AND ts <> peak AND ts BETWEEN %(since)b AND %(until)b AND seq BETWEEN %(low)b AND %(high)b ORDER BY seq

-- name: newest_anchor
SELECT max(seq) FROM entries WHERE root_id = %(root)b AND tape_no = %(tape)b AND seq BETWEEN %(low)b AND %(high)b AND anchor IS NOT NULL

-- name: newest_anchor_named
SELECT max(seq) FROM entries WHERE root_id = %(root)b AND tape_no = %(tape)b AND seq BETWEEN %(low)b AND %(high)b AND anchor = %(anchor)b AND anchor IS NOT NULL

-- name: first_anchor_named
SELECT min(seq) FROM entries WHERE root_id = %(root)b AND tape_no = %(tape)b AND seq BETWEEN %(low)b AND %(high)b AND anchor = %(anchor)b AND anchor IS NOT NULL

-- name: with_uids
SELECT l.place, e.seq, e.kind, e.ts, e.digest, e.meta, e.body, e.enc
FROM unnest(%(tapes)b::bigint[], %(lasts)b::bigint[]) WITH ORDINALITY AS l (tape_no, last, place)
JOIN entries e ON e.root_id = %(root)b AND e.tape_no = l.tape_no AND e.seq <= l.last AND e.uid = ANY (%(wanted)b::bytea[])

-- name: with_keys
SELECT l.place, e.seq, e.kind, e.ts, e.digest, e.meta, e.body, e.enc
FROM unnest(%(tapes)b::bigint[], %(lasts)b::bigint[]) WITH ORDINALITY AS l (tape_no, last, place)
JOIN entries e ON e.root_id = %(root)b AND e.tape_no = l.tape_no AND e.seq <= l.last AND e.idem_key = ANY (%(wanted)b::bytea[])

-- name: marks
SELECT seq, mark FROM entries
WHERE root_id = %(root)b AND tape_no = %(tape)b AND seq BETWEEN %(low)b AND %(high)b ORDER BY seq

-- name: names
-- Tapes that hold something or have an open branch.
SELECT n.name FROM tape_names n JOIN tapes t ON t.root_id = n.root_id AND t.name_key = n.name_key AND t.in_use
WHERE n.tenant = %(tenant)s
  AND (t.head > 0 OR EXISTS (SELECT 1 FROM tapes b WHERE b.root_id = n.root_id AND b.in_use AND b.branch_no IS NOT NULL AND b.outcome IS NULL))

-- name: families
-- Tapes of which anything is there, if only a branch or a sidecar.
SELECT n.name FROM tape_names n
WHERE n.tenant = %(tenant)s AND EXISTS (SELECT 1 FROM tapes t WHERE t.root_id = n.root_id AND t.in_use AND (t.head > 0 OR t.branch_no IS NOT NULL))

-- name: sidecars
SELECT s.name FROM tapes s
WHERE s.root_id = (SELECT root_id FROM tape_names WHERE tenant = %(tenant)s AND name_key = %(root_name)b) AND s.in_use AND s.main_key = %(name)b AND s.head > 0

-- name: branch
SELECT name, parent, base_generation, base_seq, outcome, owner, created_at, closed_at FROM tapes
WHERE root_id = (SELECT root_id FROM tape_names WHERE tenant = %(tenant)s AND name_key = %(root_name)b) AND in_use AND name_key = %(name)b AND parent IS NOT NULL

-- name: branches
SELECT name, parent, base_generation, base_seq, outcome, owner, created_at, closed_at FROM tapes
WHERE root_id = (SELECT root_id FROM tape_names WHERE tenant = %(tenant)s AND name_key = %(root_name)b) AND in_use AND branch_no IS NOT NULL ORDER BY branch_no

-- name: cursor
SELECT generation, seq FROM cursors
WHERE root_id = (SELECT root_id FROM tape_names WHERE tenant = %(tenant)s AND name_key = %(root_name)b) AND name_key = %(name)b AND consumer_key = %(consumer)b

-- name: cursors
SELECT consumer, generation, seq FROM cursors
WHERE root_id = (SELECT root_id FROM tape_names WHERE tenant = %(tenant)s AND name_key = %(root_name)b) AND name_key = %(name)b
