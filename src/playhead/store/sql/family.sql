-- What the writer runs for branches, leases and cursors, always under the store's lock.

-- name: insert_branch
INSERT INTO tape_names (name, tape_no, root_no, listed, branch_no, parent, base_generation, base_seq, state, owner, created_at)
VALUES (?, ?, ?, 0, ?, ?, ?, ?, 'open', ?, ?)

-- name: members
-- The names between two.
SELECT name FROM tape_names WHERE tenant = '' AND name > ? AND name < ? ORDER BY name

-- name: parents
-- The names between two, each with that of its parent, NULL where it was not forked.
SELECT name, parent FROM tape_names WHERE tenant = '' AND name > ? AND name < ? ORDER BY name

-- name: close
UPDATE tape_names SET state = ?, closed_at = ? WHERE tenant = '' AND name = ? AND parent IS NOT NULL

-- name: branches
SELECT name, parent, state, closed_at FROM tape_names INDEXED BY tape_names_branch
WHERE root_no = (SELECT root_no FROM tape_names WHERE tenant = '' AND name = ?) AND branch_no IS NOT NULL ORDER BY branch_no DESC

-- name: mark
SELECT mark FROM entries WHERE eid = ?

-- name: forget_name
DELETE FROM tape_names WHERE tenant = '' AND name = ?

-- name: forget_lease
DELETE FROM leases WHERE tenant = '' AND name = ?

-- name: forget_cursors
DELETE FROM cursors WHERE tenant = '' AND name = ?

-- name: rename
UPDATE tape_names SET name = ?, parent = ? WHERE tenant = '' AND name = ?

-- name: rename_lease
-- Whatever stands under the new name, the epoch never falls.
INSERT OR REPLACE INTO leases (name, owner, epoch, until)
SELECT ?1, owner, max(epoch, coalesce((SELECT epoch FROM leases WHERE tenant = '' AND name = ?1), 0)), until FROM leases WHERE tenant = '' AND name = ?2

-- name: free_lease
-- Nor does it fall under the old name, for a holder who has not heard of the new one.
UPDATE leases SET owner = '', until = 0 WHERE tenant = '' AND name = ?

-- name: rename_cursors
UPDATE OR REPLACE cursors SET name = ? WHERE tenant = '' AND name = ?

-- name: lease
SELECT owner, epoch, until FROM leases WHERE tenant = '' AND name = ?

-- name: keep_lease
INSERT OR REPLACE INTO leases (name, owner, epoch, until) VALUES (?, ?, ?, ?)

-- name: keep_cursor
INSERT OR REPLACE INTO cursors (name, consumer, generation, seq, updated_at) VALUES (?, ?, ?, ?, ?)
