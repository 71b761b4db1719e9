-- Locks that end with the connection that holds them. Nothing that is kept depends on them.

-- name: try_lock
SELECT pg_try_advisory_lock(%(key)b)

-- name: unlock
SELECT pg_advisory_unlock(%(key)b)
