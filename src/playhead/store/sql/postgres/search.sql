-- The volumes of terms: read a statement at a time, written in short transactions that hold nothing an append waits for.

-- name: part
-- A tape number: which id its own entries stand behind, and the id of the last one.
SELECT fork_seq, head FROM tapes WHERE root_id = %(root)b AND tape_no = %(tape)b

-- name: volumes
SELECT tape_no, volume_id, first, last, size, mark FROM search_volumes
WHERE root_id = %(root)b AND tape_no = ANY (%(tapes)b::bigint[]) AND rules = %(rules)s

-- name: stands
SELECT 1 FROM search_volumes
WHERE root_id = %(root)b AND tape_no = %(tape)b AND rules = %(rules)s AND first = %(first)b AND volume_id = %(volume)b

-- name: pages
SELECT content FROM search_pages
WHERE root_id = %(root)b AND volume_id = %(volume)b AND page BETWEEN %(low)b AND %(high)b ORDER BY page

-- name: digest
SELECT digest FROM entries WHERE root_id = %(root)b AND tape_no = %(tape)b AND seq = %(seq)b

-- name: insert_pages
INSERT INTO search_pages (root_id, volume_id, page, content)
SELECT %(root)b, %(volume)b, (%(before)b + c.place - 1)::integer, c.content
FROM unnest(%(contents)b::bytea[]) WITH ORDINALITY AS c (content, place)

-- name: hold_tape
-- It is not removed until the transaction ends; appends go on.
SELECT 1 FROM tapes WHERE root_id = %(root)b AND tape_no = %(tape)b FOR KEY SHARE

-- name: insert_volume
-- Not where others made one that begins there: it is as good.
INSERT INTO search_volumes (root_id, tape_no, rules, first, last, volume_id, size, mark, made_at)
VALUES (%(root)b, %(tape)b, %(rules)s, %(first)b, %(last)b, %(volume)b, %(size)b, %(mark)b, %(at)b)
ON CONFLICT DO NOTHING RETURNING volume_id

-- name: forget
-- Volumes by their ids; as many rows come back as there were of them.
DELETE FROM search_volumes WHERE root_id = %(root)b AND tape_no = %(tape)b AND volume_id = ANY (%(volumes)b::uuid[]) RETURNING volume_id

-- name: forget_strays
-- Such as stand behind a gap, and such of other rules as were made long ago.
DELETE FROM search_volumes
WHERE root_id = %(root)b AND tape_no = %(tape)b AND ((rules = %(rules)s AND first > %(first)b) OR (rules <> %(rules)s AND made_at < %(before)b))
RETURNING volume_id

-- name: forget_all
DELETE FROM search_volumes WHERE root_id = %(root)b AND tape_no = %(tape)b AND rules = %(rules)s RETURNING volume_id

-- name: forget_pages
DELETE FROM search_pages WHERE root_id = %(root)b AND volume_id = ANY (%(volumes)b::uuid[])
