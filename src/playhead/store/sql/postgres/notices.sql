-- Hints that a tape has moved. They are sent in a transaction of their own, as notifying commits come one after the other.

-- name: notify
SELECT pg_notify(%(channel)s, %(names)s)
