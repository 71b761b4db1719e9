-- Appends by a single statement: the row of the tape is moved and so locked until the commit, which makes ids dense and commits come in their order.
-- All that an append depends on is compared in that row, which is read again after a wait for it. No row comes back where anything differs.

-- name: one
WITH tape AS (
    UPDATE tapes SET head = head + 1, peak = greatest(peak, %(peak)b)
    WHERE root_id = %(root)b AND tape_no = %(tape)b AND name_key = %(name)b AND turn = %(turn)b AND in_use AND outcome IS NULL AND head < 4294967295
      AND epoch <= %(fence)b AND (%(anywhere)b OR (generation = %(generation)b AND head = %(head)b))
    RETURNING head, peak
)
INSERT INTO entries (root_id, tape_no, seq, peak, ts, kind, uid, anchor, digest, meta, body)
SELECT %(root)b, %(tape)b, t.head, t.peak, %(ts)b, %(kind)b, %(uid)b, nullif(%(anchor)b, ''::bytea), %(digest)b, %(meta)b, %(body)b
FROM tape t
RETURNING seq

-- name: one_keyed
-- Not where the key stands: then the entry that has it is looked at. Two that come at the same time are told apart by the index.
WITH tape AS (
    UPDATE tapes SET head = head + 1, peak = greatest(peak, %(peak)b)
    WHERE root_id = %(root)b AND tape_no = %(tape)b AND name_key = %(name)b AND turn = %(turn)b AND in_use AND outcome IS NULL AND head < 4294967295
      AND epoch <= %(fence)b AND (%(anywhere)b OR (generation = %(generation)b AND head = %(head)b))
      AND NOT EXISTS (SELECT 1 FROM entries k WHERE k.root_id = %(root)b AND k.tape_no = %(tape)b AND k.idem_key = %(key)b)
    RETURNING head, peak
)
INSERT INTO entries (root_id, tape_no, seq, peak, ts, kind, uid, idem_key, anchor, digest, meta, body)
SELECT %(root)b, %(tape)b, t.head, t.peak, %(ts)b, %(kind)b, %(uid)b, %(key)b, nullif(%(anchor)b, ''::bytea), %(digest)b, %(meta)b, %(body)b
FROM tape t
RETURNING seq

-- name: one_beside
-- On a sidecar: marked with where the main tape ends, and never with less than the entry before.
WITH tape AS (
    UPDATE tapes s SET head = s.head + 1, peak = greatest(s.peak, %(peak)b), mark = greatest(s.mark, m.generation << 32 | m.head)
    FROM tapes m
    WHERE s.root_id = %(root)b AND s.tape_no = %(tape)b AND s.name_key = %(name)b AND s.turn = %(turn)b AND s.in_use AND s.outcome IS NULL AND s.head < 4294967295
      AND s.epoch <= %(fence)b AND (%(anywhere)b OR (s.generation = %(generation)b AND s.head = %(head)b))
      AND m.root_id = %(root)b AND m.name_key = %(main)b AND m.in_use AND m.outcome IS NULL
    RETURNING s.head, s.peak, s.mark
)
INSERT INTO entries (root_id, tape_no, seq, peak, mark, ts, kind, uid, anchor, digest, meta, body)
SELECT %(root)b, %(tape)b, t.head, t.peak, t.mark, %(ts)b, %(kind)b, %(uid)b, nullif(%(anchor)b, ''::bytea), %(digest)b, %(meta)b, %(body)b
FROM tape t
RETURNING seq

-- name: one_beside_keyed
WITH tape AS (
    UPDATE tapes s SET head = s.head + 1, peak = greatest(s.peak, %(peak)b), mark = greatest(s.mark, m.generation << 32 | m.head)
    FROM tapes m
    WHERE s.root_id = %(root)b AND s.tape_no = %(tape)b AND s.name_key = %(name)b AND s.turn = %(turn)b AND s.in_use AND s.outcome IS NULL AND s.head < 4294967295
      AND s.epoch <= %(fence)b AND (%(anywhere)b OR (s.generation = %(generation)b AND s.head = %(head)b))
      AND m.root_id = %(root)b AND m.name_key = %(main)b AND m.in_use AND m.outcome IS NULL
      AND NOT EXISTS (SELECT 1 FROM entries k WHERE k.root_id = %(root)b AND k.tape_no = %(tape)b AND k.idem_key = %(key)b)
    RETURNING s.head, s.peak, s.mark
)
INSERT INTO entries (root_id, tape_no, seq, peak, mark, ts, kind, uid, idem_key, anchor, digest, meta, body)
SELECT %(root)b, %(tape)b, t.head, t.peak, t.mark, %(ts)b, %(kind)b, %(uid)b, %(key)b, nullif(%(anchor)b, ''::bytea), %(digest)b, %(meta)b, %(body)b
FROM tape t
RETURNING seq

-- name: many
WITH tape AS (
    UPDATE tapes SET head = head + %(number)b, peak_before = peak, peak = greatest(peak, %(peak)b)
    WHERE root_id = %(root)b AND tape_no = %(tape)b AND name_key = %(name)b AND turn = %(turn)b AND in_use AND outcome IS NULL AND head <= 4294967295 - %(number)b
      AND epoch <= %(fence)b AND (%(anywhere)b OR (generation = %(generation)b AND head = %(head)b))
      AND NOT EXISTS (SELECT 1 FROM entries k WHERE k.root_id = %(root)b AND k.tape_no = %(tape)b AND k.idem_key = ANY (%(wanted)b::bytea[]))
    RETURNING head - %(number)b AS before, peak_before
)
INSERT INTO entries (root_id, tape_no, seq, peak, ts, kind, uid, idem_key, anchor, digest, meta, body)
SELECT %(root)b, %(tape)b, t.before + e.place, greatest(t.peak_before, e.peak), e.ts, e.kind, e.uid, nullif(e.idem_key, ''::bytea), nullif(e.anchor, ''::bytea), e.digest, e.meta, e.body
FROM tape t, unnest(%(peaks)b::bigint[], %(ts)b::bigint[], %(kinds)b::bytea[], %(uids)b::bytea[], %(keys)b::bytea[], %(anchors)b::bytea[], %(digests)b::bytea[], %(metas)b::bytea[], %(bodies)b::bytea[])
    WITH ORDINALITY AS e (peak, ts, kind, uid, idem_key, anchor, digest, meta, body, place)
RETURNING seq

-- name: beside
WITH tape AS (
    UPDATE tapes s SET head = s.head + %(number)b, peak_before = s.peak, peak = greatest(s.peak, %(peak)b), mark = greatest(s.mark, m.generation << 32 | m.head)
    FROM tapes m
    WHERE s.root_id = %(root)b AND s.tape_no = %(tape)b AND s.name_key = %(name)b AND s.turn = %(turn)b AND s.in_use AND s.outcome IS NULL AND s.head <= 4294967295 - %(number)b
      AND s.epoch <= %(fence)b AND (%(anywhere)b OR (s.generation = %(generation)b AND s.head = %(head)b))
      AND NOT EXISTS (SELECT 1 FROM entries k WHERE k.root_id = %(root)b AND k.tape_no = %(tape)b AND k.idem_key = ANY (%(wanted)b::bytea[]))
      AND m.root_id = %(root)b AND m.name_key = %(main)b AND m.in_use AND m.outcome IS NULL
    RETURNING s.head - %(number)b AS before, s.peak_before, s.mark
)
INSERT INTO entries (root_id, tape_no, seq, peak, mark, ts, kind, uid, idem_key, anchor, digest, meta, body)
SELECT %(root)b, %(tape)b, t.before + e.place, greatest(t.peak_before, e.peak), t.mark, e.ts, e.kind, e.uid, nullif(e.idem_key, ''::bytea), nullif(e.anchor, ''::bytea), e.digest, e.meta, e.body
FROM tape t, unnest(%(peaks)b::bigint[], %(ts)b::bigint[], %(kinds)b::bytea[], %(uids)b::bytea[], %(keys)b::bytea[], %(anchors)b::bytea[], %(digests)b::bytea[], %(metas)b::bytea[], %(bodies)b::bytea[])
    WITH ORDINALITY AS e (peak, ts, kind, uid, idem_key, anchor, digest, meta, body, place)
RETURNING seq

-- name: standing_in_lineage
-- Whether a key stands in what a branch reads through, which never changes.
SELECT 1 FROM unnest(%(tapes)b::bigint[], %(lasts)b::bigint[]) AS l (tape_no, last)
JOIN entries e ON e.root_id = %(root)b AND e.tape_no = l.tape_no AND e.seq <= l.last AND e.idem_key = ANY (%(wanted)b::bytea[])
LIMIT 1

-- name: next_turn
-- From here on no append that was sent before can land.
UPDATE tapes SET turn = turn + 1 WHERE root_id = %(root)b AND tape_no = %(tape)b RETURNING turn

-- name: landed
SELECT e.seq, e.uid, e.digest FROM entries e
WHERE e.root_id = %(root)b AND e.tape_no = %(tape)b AND e.seq > %(after)b AND e.uid = ANY (%(uids)b::bytea[]) ORDER BY e.seq
