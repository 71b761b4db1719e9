-- Bytes by their hash, each changed by a statement of its own, as they are spread by it. Whoever changes several does so in the order of their digests, and before
-- any tape, so that nobody waits in a circle.

-- name: blob
SELECT data FROM blobs WHERE tenant = %(tenant)s AND digest = %(digest)b

-- name: put
-- What stands and is not as it was written is written anew; the type that was said first stays. Bytes that are right stay where they are.
INSERT INTO blobs (tenant, digest, size, mime, data, created_at, used_at) VALUES (%(tenant)s, %(digest)b, %(size)b, nullif(%(mime)b, ''::bytea), %(data)b, %(at)b, %(at)b)
ON CONFLICT (tenant, digest) DO UPDATE SET size = excluded.size, mime = coalesce(blobs.mime, excluded.mime), used_at = greatest(blobs.used_at, excluded.used_at),
    data = CASE WHEN blobs.data = excluded.data THEN blobs.data ELSE excluded.data END
RETURNING mime

-- name: renew
-- An entry that is being written names it; one that is not kept is nobody's.
UPDATE blobs SET used_at = %(at)b WHERE tenant = %(tenant)s AND digest = %(digest)b AND used_at < %(at)b

-- name: blobs
SELECT digest, size, mime FROM blobs WHERE tenant = %(tenant)s ORDER BY digest

-- name: idle
SELECT digest, size, mime FROM blobs WHERE tenant = %(tenant)s AND greatest(created_at, used_at) < %(since)b ORDER BY digest

-- name: drop
-- The age is looked at once more under the lock; what somebody else holds is being put, named or removed at this moment, and passed by.
WITH idle AS MATERIALIZED (
    SELECT digest FROM blobs WHERE tenant = %(tenant)s AND digest = %(digest)b AND greatest(created_at, used_at) < %(since)b FOR UPDATE SKIP LOCKED
)
DELETE FROM blobs USING idle
WHERE blobs.tenant = %(tenant)s AND blobs.digest = %(digest)b AND blobs.digest = idle.digest AND greatest(blobs.created_at, blobs.used_at) < %(since)b
RETURNING blobs.digest

-- name: number
-- About how many entries there are.
SELECT coalesce(sum(t.head - t.fork_seq), 0)::bigint FROM tape_names n JOIN tapes t ON t.root_id = n.root_id WHERE n.tenant = %(tenant)s

-- name: roots
-- The families from one on; a new name changes nothing in their order.
SELECT root_id FROM tape_names WHERE tenant = %(tenant)s AND root_id >= %(first)b ORDER BY root_id LIMIT %(limit)b

-- name: entries
-- The next entries of a family, of all its tapes, as many as do not take too much room together, and one at least.
SELECT e.tape_no, e.seq, e.kind, e.ts, e.digest, e.meta, e.body, e.enc FROM (
    SELECT f.*, sum(octet_length(f.meta) + octet_length(f.body)) OVER (ORDER BY f.tape_no, f.seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS room FROM (
        SELECT tape_no, seq, kind, ts, digest, meta, body, enc FROM entries
        WHERE root_id = %(root)b AND (tape_no, seq) > (%(tape)b, %(id)b) ORDER BY tape_no, seq LIMIT %(limit)b
    ) f
) e WHERE e.room IS NULL OR e.room < %(room)b ORDER BY e.tape_no, e.seq

-- name: name_of_tape
SELECT name FROM tapes WHERE root_id = %(root)b AND tape_no = %(tape)b
