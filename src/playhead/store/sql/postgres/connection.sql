-- What a connection is set up with.

-- name: set_up
-- Plans are made once and use the indexes, whatever the statistics of a new table say; another isolation level or time-out of the role does not count:
-- how long a call is tried for is the store's to say, and a large batch takes its time. PostgreSQL knows transaction_timeout from 17 on.
SELECT set_config('search_path', quote_ident(%(schema)s), false),
       set_config('lock_timeout', %(wait)s, false),
       set_config('idle_in_transaction_session_timeout', %(idle)s, false),
       set_config('statement_timeout', '0', false),
       set_config('idle_session_timeout', '0', false),
       CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL THEN set_config('transaction_timeout', '0', false) END,
       set_config('synchronous_commit', %(sync)s, false),
       set_config('default_transaction_read_only', %(read_only)s, false),
       set_config('default_transaction_isolation', 'read committed', false),
       set_config('plan_cache_mode', 'force_generic_plan', false),
       set_config('enable_seqscan', 'off', false),
       set_config('jit', 'off', false),
       EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = %(schema)s),
       coalesce((SELECT has_schema_privilege(oid, 'USAGE') FROM pg_catalog.pg_namespace WHERE nspname = %(schema)s), false),
       EXISTS (SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname = %(schema)s AND c.relname = 'schema_version')

-- name: create_schema_version
CREATE TABLE schema_version (v integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now(), checksum text NOT NULL)

-- name: tables
SELECT 'schema_version'::regclass::oid::bigint

-- name: migrations
SELECT v, checksum FROM schema_version ORDER BY v

-- name: record_migration
-- Written before the migration it stands for: who makes the same one at the same time waits here, and then finds it made.
INSERT INTO schema_version (v, checksum) VALUES (%(version)s::integer, %(checksum)s)

-- name: begin
BEGIN

-- name: commit
COMMIT

-- name: rollback
ROLLBACK
