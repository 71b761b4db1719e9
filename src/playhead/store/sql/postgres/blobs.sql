-- Bytes by their hash.

-- name: blob
SELECT data, mime FROM blobs WHERE tenant = %(tenant)s AND digest = %(digest)b

-- name: put_blob
-- What stands and is not as it was written is written anew; the type that was said first stays.
INSERT INTO blobs (tenant, digest, size, mime, data, created_at) VALUES (%(tenant)s, %(digest)b, %(size)b, nullif(%(mime)b, ''::bytea), %(data)b, %(at)b)
ON CONFLICT (tenant, digest) DO UPDATE SET size = excluded.size, mime = coalesce(blobs.mime, excluded.mime), data = excluded.data
    WHERE blobs.data <> excluded.data OR (blobs.mime IS NULL AND excluded.mime IS NOT NULL)
RETURNING mime

-- name: mime
SELECT mime FROM blobs WHERE tenant = %(tenant)s AND digest = %(digest)b

-- name: blobs
SELECT digest, size, mime FROM blobs WHERE tenant = %(tenant)s ORDER BY digest
