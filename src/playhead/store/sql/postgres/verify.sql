-- What is asked of a database to prove it, in statements that each see one moment; what was written later is left out, what was removed meanwhile passed over.

-- name: indexes
SELECT c.relname FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND i.indisvalid

-- name: families
SELECT root_id, name, name_key FROM tape_names WHERE tenant = %(tenant)s AND root_id > %(behind)b ORDER BY root_id LIMIT %(limit)b

-- name: family
SELECT name_key, last_tape_no FROM families WHERE root_id = %(root)b

-- name: tapes
SELECT tape_no, parent_no, fork_seq, lineage, generation, in_use, low_water, head, created_at,
    name, branch_no, parent, base_generation, base_seq, outcome, owner, closed_at, name_key, main_key
FROM tapes WHERE root_id = %(root)b ORDER BY tape_no

-- name: entries
-- The next entries of a tape, as many as do not take too much room together, and one at least.
SELECT seq, kind, ts, digest, meta, body, peak, uid, idem_key, anchor, mark, enc, NULL FROM (
    SELECT f.*, sum(octet_length(f.meta) + octet_length(f.body)) OVER (ORDER BY f.seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS room FROM (
        SELECT seq, kind, ts, digest, meta, body, peak, uid, idem_key, anchor, mark, enc FROM entries
        WHERE root_id = %(root)b AND tape_no = %(tape)b AND seq BETWEEN %(low)b AND %(high)b ORDER BY seq LIMIT %(limit)b
    ) f
) e WHERE room IS NULL OR room < %(room)b ORDER BY seq

-- name: end
-- How a tape ends now, and what stands behind its end.
SELECT t.head, t.peak, t.mark, (SELECT min(e.seq) FROM entries e WHERE e.root_id = %(root)b AND e.tape_no = %(tape)b AND e.seq > t.head)
FROM tapes t WHERE t.root_id = %(root)b AND t.tape_no = %(tape)b

-- name: next_tape
-- The next number of a family that entries have, whether it is a tape's or not.
SELECT tape_no FROM entries WHERE root_id = %(root)b AND (tape_no, seq) > (%(tape)b, %(last)b) ORDER BY tape_no, seq LIMIT 1

-- name: cursors
-- Those that are said to have read more than there is.
SELECT c.consumer, c.generation, c.seq, t.name
FROM cursors c LEFT JOIN tapes t ON t.root_id = %(root)b AND t.name_key = c.name_key AND t.in_use
WHERE c.root_id = %(root)b AND (c.generation, c.seq) > (coalesce(t.generation, 0), coalesce(t.head, 0)) ORDER BY c.consumer_key

-- name: kept_blobs
SELECT digest FROM blobs WHERE tenant = %(tenant)s AND digest = ANY (%(digests)b::bytea[])

-- name: blobs
-- The next blobs, as many as do not take too much room together, and one at least.
SELECT digest, size, data FROM (
    SELECT f.*, sum(octet_length(f.data)) OVER (ORDER BY f.digest ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS room FROM (
        SELECT digest, size, data FROM blobs WHERE tenant = %(tenant)s AND digest > %(behind)b ORDER BY digest LIMIT %(limit)b
    ) f
) b WHERE room IS NULL OR room < %(room)b ORDER BY digest

-- name: volumes
SELECT tape_no, volume_id, first, last, size, mark FROM search_volumes
WHERE root_id = %(root)b AND rules = %(rules)s ORDER BY tape_no, first

-- name: is_kept
SELECT 1 FROM search_volumes
WHERE root_id = %(root)b AND tape_no = %(tape)b AND rules = %(rules)s AND first = %(first)b AND volume_id = %(volume)b

-- name: stray_pages
SELECT count(*) FROM search_pages WHERE root_id = %(root)b AND volume_id <> ALL (ARRAY(SELECT volume_id FROM search_volumes WHERE root_id = %(root)b))
