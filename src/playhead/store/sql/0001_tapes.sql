-- The record: tapes, their names, entries, what the entries refer to, who writes, and who has read how far.

CREATE TABLE tapes (
    tape_no    INTEGER PRIMARY KEY CHECK (tape_no BETWEEN 1 AND 2147483647),
    parent_no  INTEGER REFERENCES tapes,
    fork_seq   INTEGER NOT NULL DEFAULT 0,
    lineage    TEXT    NOT NULL DEFAULT '[]',
    generation INTEGER NOT NULL DEFAULT 0,
    state      INTEGER NOT NULL DEFAULT 0,
    low_water  INTEGER NOT NULL DEFAULT 0,
    indexed    INTEGER NOT NULL DEFAULT 0,
    key_id     TEXT,
    meta       TEXT    NOT NULL DEFAULT '{}',
    created_at INTEGER NOT NULL
);
CREATE INDEX tapes_parent ON tapes (parent_no) WHERE parent_no IS NOT NULL;
CREATE INDEX tapes_reset  ON tapes (tape_no) WHERE state = 3;

CREATE TABLE tape_names (
    tenant          TEXT    NOT NULL DEFAULT '',
    name            TEXT    NOT NULL,
    tape_no         INTEGER NOT NULL REFERENCES tapes,
    root_no         INTEGER NOT NULL,
    listed          INTEGER NOT NULL,
    branch_no       INTEGER,
    parent          TEXT,
    base_generation INTEGER,
    base_seq        INTEGER,
    state           TEXT,
    owner           TEXT,
    created_at      INTEGER NOT NULL,
    closed_at       INTEGER,
    PRIMARY KEY (tenant, name)
) WITHOUT ROWID;
CREATE INDEX tape_names_branch ON tape_names (root_no, branch_no) WHERE branch_no IS NOT NULL;

CREATE TABLE entries (
    eid      INTEGER PRIMARY KEY,
    kind     TEXT    NOT NULL,
    ts       INTEGER NOT NULL,
    peak     INTEGER NOT NULL,
    uid      BLOB    NOT NULL,
    idem_key TEXT,
    anchor   TEXT,
    mark     INTEGER,
    enc      INTEGER NOT NULL DEFAULT 0,
    digest   BLOB    NOT NULL,
    meta     BLOB    NOT NULL,
    body     BLOB    NOT NULL,
    search   TEXT
);
CREATE UNIQUE INDEX entries_key     ON entries (eid >> 32, idem_key) WHERE idem_key IS NOT NULL;
CREATE INDEX        entries_anchor  ON entries (anchor) WHERE anchor IS NOT NULL;
CREATE INDEX        entries_anchors ON entries (eid) WHERE anchor IS NOT NULL;
CREATE INDEX        entries_stray   ON entries (eid >> 32, ts, peak) WHERE ts <> peak;

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

CREATE TABLE leases (
    tenant TEXT    NOT NULL DEFAULT '',
    name   TEXT    NOT NULL,
    owner  TEXT    NOT NULL,
    epoch  INTEGER NOT NULL,
    until  INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) WITHOUT ROWID;

CREATE TABLE cursors (
    tenant     TEXT    NOT NULL DEFAULT '',
    name       TEXT    NOT NULL,
    consumer   TEXT    NOT NULL,
    generation INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, name, consumer)
) WITHOUT ROWID;
