-- The whole schema as the migrations leave it; a test compares the two. Instants are microseconds since 1970, UTC.

CREATE TABLE schema_version (v INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL, checksum TEXT NOT NULL);

-- One row is one generation of one tape; its number is never used again. A reset names the next number; forks go on
-- reading the old one, and its entries are removed when no fork is left.

CREATE TABLE tapes (
    tape_no     INTEGER PRIMARY KEY CHECK (tape_no BETWEEN 1 AND 2147483647),
    root_no     INTEGER NOT NULL,              -- the family: a tape, its forks and sidecars
    parent_no   INTEGER REFERENCES tapes,
    fork_seq    INTEGER NOT NULL DEFAULT 0,    -- a fork's own entries stand behind it
    lineage     TEXT    NOT NULL DEFAULT '[]', -- [[tape_no, last id], ...] of the ancestors, oldest first
    generation  INTEGER NOT NULL DEFAULT 0,
    state       INTEGER NOT NULL DEFAULT 0,    -- 0 open, 1 sealed, 2 archived, 3 reset, 4 reset and removed
    low_water   INTEGER NOT NULL DEFAULT 0,    -- entries up to here are in the archive
    lease_owner TEXT,
    lease_epoch INTEGER NOT NULL DEFAULT 0,
    lease_until INTEGER,
    merged_upto INTEGER NOT NULL DEFAULT 0,    -- a fork's entries up to here are merged back
    key_id      TEXT,
    meta        TEXT    NOT NULL DEFAULT '{}',
    created_at  INTEGER NOT NULL
);
CREATE INDEX tapes_root   ON tapes (root_no);
CREATE INDEX tapes_parent ON tapes (parent_no) WHERE parent_no IS NOT NULL;
CREATE INDEX tapes_reset  ON tapes (tape_no) WHERE state = 3;

CREATE TABLE tape_names (
    tenant  TEXT    NOT NULL DEFAULT '',
    name    TEXT    NOT NULL,
    tape_no INTEGER NOT NULL REFERENCES tapes,
    root_no INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) WITHOUT ROWID;
CREATE INDEX tape_names_tape ON tape_names (tape_no);

-- A tape is one range of row ids. An entry's body is the JSON of its payload, to the byte.
CREATE TABLE entries (
    eid      INTEGER PRIMARY KEY,        -- tape_no << 32 | id
    kind     TEXT    NOT NULL,
    ts       INTEGER NOT NULL,
    peak     INTEGER NOT NULL,           -- the newest ts up to here that was no more than a day ahead of the clock;
                                         -- it only rises, so dates are found by halving
    uid      BLOB    NOT NULL,           -- 16 bytes where it is a UUID
    idem_key TEXT,
    anchor   TEXT,                       -- the anchor's name, where the entry is one
    mark     INTEGER,                    -- on a sidecar: the main tape's head when it was written
    enc      INTEGER NOT NULL DEFAULT 0, -- how the body is written: 0 JSON, 1 compressed, 2 encrypted, 3 redacted
    digest   BLOB    NOT NULL,           -- SHA-256 of ts, meta, body and kind, a line each
    meta     BLOB    NOT NULL,
    body     BLOB    NOT NULL,
    search   TEXT                        -- the text to search, NULL where none was taken
);
CREATE UNIQUE INDEX entries_key     ON entries (eid >> 32, idem_key) WHERE idem_key IS NOT NULL;
CREATE INDEX        entries_anchor  ON entries (anchor) WHERE anchor IS NOT NULL;
CREATE INDEX        entries_anchors ON entries (eid) WHERE anchor IS NOT NULL;
CREATE INDEX        entries_stray   ON entries (eid >> 32, ts, peak) WHERE ts <> peak;

-- Indexes of kinds and uids, filled a block of 64 entries at a time: per append a tenth of what an index costs.
CREATE TABLE entry_kinds (
    kind TEXT    NOT NULL,
    eid  INTEGER NOT NULL,
    PRIMARY KEY (kind, eid)
) WITHOUT ROWID;
CREATE TABLE entry_uids (
    uid BLOB    NOT NULL,
    eid INTEGER NOT NULL,
    PRIMARY KEY (uid, eid)
) WITHOUT ROWID;

CREATE TABLE blobs (
    root_no      INTEGER NOT NULL,
    digest       BLOB    NOT NULL,
    size         INTEGER NOT NULL,
    mime         TEXT,
    data         BLOB,
    external_uri TEXT,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (root_no, digest)
);
CREATE TABLE blob_refs (
    eid    INTEGER NOT NULL,
    digest BLOB    NOT NULL,
    PRIMARY KEY (eid, digest)
) WITHOUT ROWID;

CREATE TABLE cursors (
    tape_no    INTEGER NOT NULL REFERENCES tapes,
    consumer   TEXT    NOT NULL,
    seq        INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tape_no, consumer)
) WITHOUT ROWID;
