-- What is run in a transaction that holds the row of a family: nobody else makes, forks, closes, renames or removes its tapes meanwhile.

-- name: find_family
SELECT root_id FROM tape_names WHERE tenant = %(tenant)s AND name_key = %(name)b

-- name: take_name
-- Who takes the same name at the same time waits here.
INSERT INTO tape_names (tenant, name_key, name, root_id) VALUES (%(tenant)s, %(key)b, %(name)s, %(root)b) ON CONFLICT DO NOTHING RETURNING root_id

-- name: begin_family
INSERT INTO families (root_id, name_key, works) VALUES (%(root)b, %(name)b, ARRAY[%(work)b::uuid])

-- name: hold_family
-- The last pieces of work are noted, so that one whose commit was not heard of can be found.
UPDATE families SET works = (ARRAY[%(work)b::uuid] || works)[1:16]
WHERE root_id = %(root)b AND name_key = %(name)b RETURNING works[2:16], last_tape_no

-- name: works
-- Waits until no transaction holds the family.
SELECT works FROM families WHERE root_id = %(root)b FOR UPDATE

-- name: note_numbers
UPDATE families SET last_tape_no = %(last)b WHERE root_id = %(root)b

-- name: members
-- The tapes that are called by one of the names, and the sidecars of these; in an order, so that nobody waits in a circle.
SELECT tape_no, name, generation, fork_seq, head, peak, mark, turn, lineage, outcome
FROM tapes WHERE root_id = %(root)b AND in_use AND (name_key = ANY (%(names)b::bytea[]) OR main_key = ANY (%(names)b::bytea[]))
ORDER BY tape_no FOR UPDATE

-- name: insert_tape
INSERT INTO tapes (root_id, tape_no, generation, head, epoch, created_at, name_key, main_key, name)
SELECT %(root)b, %(tape)b, %(generation)b, 0, coalesce((SELECT epoch FROM leases WHERE root_id = %(root)b AND name_key = %(key)b), 0), %(at)b, %(key)b, nullif(%(main)b, ''::bytea), %(name)s

-- name: insert_branch
INSERT INTO tapes (root_id, tape_no, generation, fork_seq, head, mark, epoch, created_at, parent_no, branch_no, base_generation, base_seq, name_key, main_key, name, lineage, parent, owner)
SELECT %(root)b, %(tape)b, %(generation)b, %(head)b, %(head)b, %(mark)b, coalesce((SELECT epoch FROM leases WHERE root_id = %(root)b AND name_key = %(key)b), 0), %(at)b,
    nullif(%(parent_no)b, 0), nullif(%(branch_no)b, 0), %(generation)b, %(head)b, %(key)b, nullif(%(main)b, ''::bytea), %(name)s, %(lineage)s, %(parent)s, nullif(%(owner)b, ''::bytea)

-- name: retire
UPDATE tapes SET in_use = false WHERE root_id = %(root)b AND tape_no = %(tape)b

-- name: begin_again
-- The next generation of a tape: what it was forked from, and where, stays as it was.
INSERT INTO tapes (root_id, tape_no, generation, head, epoch, created_at, branch_no, base_generation, base_seq, name_key, main_key, name, parent, owner)
SELECT root_id, %(fresh)b, generation + 1, 0, epoch, created_at, branch_no, base_generation, base_seq, name_key, main_key, name, parent, owner
FROM tapes WHERE root_id = %(root)b AND tape_no = %(tape)b

-- name: advance
UPDATE tapes SET head = %(head)b, peak = %(peak)b, mark = %(mark)b WHERE root_id = %(root)b AND tape_no = %(tape)b

-- name: insert_entries
INSERT INTO entries (root_id, tape_no, seq, peak, mark, ts, kind, uid, idem_key, anchor, digest, meta, body)
SELECT %(root)b, %(tape)b, %(before)b + e.place, e.peak, nullif(e.mark, -1), e.ts, e.kind, e.uid, nullif(e.idem_key, ''::bytea), nullif(e.anchor, ''::bytea), e.digest, e.meta, e.body
FROM unnest(%(peaks)b::bigint[], %(marks)b::bigint[], %(ts)b::bigint[], %(kinds)b::bytea[], %(uids)b::bytea[], %(keys)b::bytea[], %(anchors)b::bytea[], %(digests)b::bytea[], %(metas)b::bytea[], %(bodies)b::bytea[])
    WITH ORDINALITY AS e (peak, mark, ts, kind, uid, idem_key, anchor, digest, meta, body, place)

-- name: standing
-- The entries with one of the keys in what a tape shows.
SELECT e.seq, e.kind, e.ts, e.digest, e.meta, e.body
FROM unnest(%(tapes)b::bigint[], %(lasts)b::bigint[]) AS l (tape_no, last)
JOIN entries e ON e.root_id = %(root)b AND e.tape_no = l.tape_no AND e.seq <= l.last AND e.idem_key = ANY (%(wanted)b::bytea[])

-- name: marked_up_to
-- The last entry of a part of a sidecar that was written when its main tape ended at a head or before; marks rise.
SELECT seq FROM entries
WHERE root_id = %(root)b AND tape_no = %(tape)b AND mark IS NOT NULL AND mark <= %(mark)b AND seq <= %(last)b
ORDER BY mark DESC, seq DESC LIMIT 1

-- name: close
UPDATE tapes SET outcome = %(outcome)s, closed_at = %(at)b WHERE root_id = %(root)b AND tape_no = ANY (%(tapes)b::bigint[]) AND parent IS NOT NULL

-- name: branches
SELECT name, parent, outcome, closed_at FROM tapes
WHERE root_id = %(root)b AND in_use AND branch_no IS NOT NULL ORDER BY branch_no DESC

-- name: family
-- All tapes of a family that are in use, each with what it was forked from.
SELECT name, parent, tape_no, generation, head FROM tapes WHERE root_id = %(root)b AND in_use ORDER BY tape_no FOR UPDATE

-- name: rename
UPDATE tapes SET name = %(name)s, name_key = %(key)b, main_key = nullif(%(main)b, ''::bytea), parent = nullif(%(parent)s, '') WHERE root_id = %(root)b AND tape_no = %(tape)b

-- name: leases
SELECT name_key, owner, epoch, until FROM leases WHERE root_id = %(root)b

-- name: forget_leases
DELETE FROM leases WHERE root_id = %(root)b

-- name: move_cursors
WITH gone AS (DELETE FROM cursors WHERE root_id = %(root)b RETURNING name_key, consumer_key, consumer, generation, seq, updated_at)
INSERT INTO cursors (root_id, name_key, consumer_key, consumer, generation, seq, updated_at)
SELECT %(to)b, name_key, consumer_key, consumer, generation, seq, updated_at FROM gone
ON CONFLICT DO NOTHING

-- name: rename_family
UPDATE families SET name_key = %(name)b WHERE root_id = %(root)b

-- name: give_name_up
DELETE FROM tape_names WHERE tenant = %(tenant)s AND name_key = %(name)b

-- name: lease
SELECT owner, epoch, until FROM leases WHERE root_id = %(root)b AND name_key = %(name)b

-- name: server_time
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint

-- name: keep_lease
-- Whatever stands there, the epoch never falls.
INSERT INTO leases (root_id, name_key, owner, epoch, until) VALUES (%(root)b, %(name)b, %(owner)b, %(epoch)b, %(until)b)
ON CONFLICT (root_id, name_key) DO UPDATE SET owner = excluded.owner, epoch = greatest(leases.epoch, excluded.epoch), until = excluded.until
RETURNING epoch

-- name: note_epoch
UPDATE tapes SET epoch = %(epoch)b WHERE root_id = %(root)b AND name_key = %(name)b AND in_use

-- name: forget_lease
DELETE FROM leases WHERE root_id = %(root)b AND name_key = ANY (%(names)b::bytea[])

-- name: keep_cursor
INSERT INTO cursors (root_id, name_key, consumer_key, consumer, generation, seq, updated_at)
VALUES (%(root)b, %(name)b, %(consumer)b, %(who)b, %(generation)b, %(seq)b, %(at)b)
ON CONFLICT (root_id, name_key, consumer_key) DO UPDATE SET generation = excluded.generation, seq = excluded.seq, updated_at = excluded.updated_at

-- name: rename_cursors
-- A cursor that stands under the new name goes: what it was for is not there any more.
WITH gone AS (DELETE FROM cursors WHERE root_id = %(root)b AND name_key = %(name)b RETURNING consumer_key, consumer, generation, seq, updated_at)
INSERT INTO cursors (root_id, name_key, consumer_key, consumer, generation, seq, updated_at)
SELECT %(root)b, %(to)b, consumer_key, consumer, generation, seq, updated_at FROM gone
ON CONFLICT (root_id, name_key, consumer_key) DO UPDATE SET generation = excluded.generation, seq = excluded.seq, updated_at = excluded.updated_at

-- name: forget_cursors
DELETE FROM cursors WHERE root_id = %(root)b AND name_key = ANY (%(names)b::bytea[])

-- name: retired
-- What is out of use goes once no branch reads through it.
SELECT t.tape_no FROM tapes t
WHERE t.root_id = %(root)b AND NOT t.in_use AND NOT EXISTS (SELECT 1 FROM tapes c WHERE c.root_id = %(root)b AND c.parent_no = t.tape_no)
LIMIT 1

-- name: purge
-- The first of its entries; the last of them comes back.
WITH gone AS (
    DELETE FROM entries WHERE root_id = %(root)b AND tape_no = %(tape)b
      AND seq <= (SELECT max(seq) FROM (SELECT seq FROM entries WHERE root_id = %(root)b AND tape_no = %(tape)b ORDER BY seq LIMIT 1000) first)
    RETURNING seq
)
SELECT max(seq) FROM gone HAVING count(*) > 0

-- name: forget_tape
DELETE FROM tapes WHERE root_id = %(root)b AND tape_no = %(tape)b AND NOT in_use
