-- What finds what archived entries say, and what archives the next ones in a transaction that holds their family.

-- name: segments
-- The segments of entries, in their order, those of the first of them.
SELECT s.low, s.high, s.digest, s.data
FROM (
    SELECT (SELECT max(low) FROM segments WHERE root_id = %(root)b AND tape_no = %(tape)b AND low <= w.seq) AS low, min(w.place) AS place
    FROM unnest(%(places)b::bigint[]) WITH ORDINALITY AS w (seq, place) GROUP BY 1 ORDER BY 2 LIMIT %(limit)b
) f JOIN segments s ON s.root_id = %(root)b AND s.tape_no = %(tape)b AND s.low = f.low
ORDER BY f.place

-- name: own
-- A tape that is in use; an append to it that is under way is not waited for.
SELECT tape_no, fork_seq, head FROM tapes WHERE root_id = %(root)b AND name_key = %(name)b AND in_use

-- name: last_segment
SELECT low, high, size, digest, length(data) FROM segments WHERE root_id = %(root)b AND tape_no = %(tape)b ORDER BY low DESC LIMIT 1

-- name: to_archive
-- So many of the entries between two ids as fill a segment, and one more where it is full of bytes.
SELECT seq, kind, ts, digest, meta, body, enc
FROM (
    SELECT o.*, sum(length(meta) + length(body)) OVER (ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM (
        SELECT seq, kind, ts, digest, meta, body, enc FROM entries
        WHERE root_id = %(root)b AND tape_no = %(tape)b AND seq BETWEEN %(low)b AND %(high)b ORDER BY seq LIMIT %(limit)b
    ) o
) c WHERE coalesce(before, 0) <= %(bytes)b ORDER BY seq

-- name: keep_segment
INSERT INTO segments (root_id, tape_no, low, high, size, digest, data) VALUES (%(root)b, %(tape)b, %(low)b, %(high)b, %(size)b, %(digest)b, %(data)b)
ON CONFLICT (root_id, tape_no, low) DO UPDATE SET high = excluded.high, size = excluded.size, digest = excluded.digest, data = excluded.data

-- name: empty_entries
UPDATE entries SET enc = 1, meta = ''::bytea, body = ''::bytea
WHERE root_id = %(root)b AND tape_no = %(tape)b AND seq BETWEEN %(low)b AND %(high)b AND enc = 0

-- name: compact
VACUUM (FULL) entries, segments, tapes, blobs, search_volumes, search_pages
