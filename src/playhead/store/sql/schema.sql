-- The whole schema as the migrations leave it; a test compares the two. Instants are microseconds since 1970, UTC.

CREATE TABLE schema_version (v INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL, checksum TEXT NOT NULL);

-- One row is one generation of one tape, branch or sidecar; its number is never used again. A reset names the next number; branches
-- go on reading the old one, and its entries are removed when no branch is left that does.
CREATE TABLE tapes (
    tape_no    INTEGER PRIMARY KEY CHECK (tape_no BETWEEN 1 AND 2147483647),
    parent_no  INTEGER REFERENCES tapes,      -- the last one in the lineage, NULL where nothing is shared
    fork_seq   INTEGER NOT NULL DEFAULT 0,    -- a branch's own entries stand behind it
    lineage    TEXT    NOT NULL DEFAULT '[]', -- [[tape_no, last id], ...] of what it reads through, oldest first; no entry is copied
    generation INTEGER NOT NULL DEFAULT 0,
    state      INTEGER NOT NULL DEFAULT 0,    -- 0 in use, 3 out of use, 4 out of use and its entries removed
    low_water  INTEGER NOT NULL DEFAULT 0,    -- its own entries begin behind it; 0, as those that are archived keep their rows
    indexed    INTEGER NOT NULL DEFAULT 0,    -- its own entries up to here stand in entry_kinds and entry_uids
    key_id     TEXT,
    meta       TEXT    NOT NULL DEFAULT '{}',
    created_at INTEGER NOT NULL
);
CREATE INDEX tapes_parent ON tapes (parent_no) WHERE parent_no IS NOT NULL;
CREATE INDEX tapes_reset  ON tapes (tape_no) WHERE state = 3;

-- What is called by a name, and where it was forked from, which a reset leaves as it is. A family's tape itself is always here.
CREATE TABLE tape_names (
    tenant          TEXT    NOT NULL DEFAULT '',
    name            TEXT    NOT NULL,
    tape_no         INTEGER NOT NULL REFERENCES tapes, -- the newest generation
    root_no         INTEGER NOT NULL,                  -- the family: the first number of the tape that all branches and sidecars belong to
    listed          INTEGER NOT NULL,                  -- 1 the family's tape itself, 0 a branch or a sidecar
    branch_no       INTEGER,                           -- a branch: its first number, so they are in the order they were made
    parent          TEXT,                              -- a branch, or a sidecar that was forked with it: the name it was forked from
    base_generation INTEGER,                           -- and where
    base_seq        INTEGER,
    state           TEXT,                              -- open, merged, squashed, discarded
    owner           TEXT,
    created_at      INTEGER NOT NULL,
    closed_at       INTEGER,
    PRIMARY KEY (tenant, name)
) WITHOUT ROWID;
CREATE INDEX tape_names_branch ON tape_names (root_no, branch_no) WHERE branch_no IS NOT NULL;

-- A tape is one range of row ids. An entry's body is the JSON of its payload, to the byte.
CREATE TABLE entries (
    eid      INTEGER PRIMARY KEY,        -- tape_no << 32 | id
    kind     TEXT    NOT NULL,
    ts       INTEGER NOT NULL,
    peak     INTEGER NOT NULL,           -- the newest ts of the same tape_no up to here that was no more than a day ahead of the
                                         -- clock; it only rises, so dates are found by halving
    uid      BLOB    NOT NULL,           -- 16 bytes where it is a UUID
    idem_key TEXT,
    anchor   TEXT,                       -- the anchor's name, where the entry is one
    mark     INTEGER,                    -- on a sidecar: the main tape's head when it was written, generation << 32 | id; it only rises
    enc      INTEGER NOT NULL DEFAULT 0, -- where meta and body are: 0 here, as JSON, 1 in a segment, 2 encrypted, 3 redacted
    digest   BLOB    NOT NULL,           -- 4 bytes of the SHA-256 of kind, 28 of that of ts, meta, body and kind, a line each
    meta     BLOB    NOT NULL,
    body     BLOB    NOT NULL,
    search   TEXT                        -- the text to search, NULL where none was taken
);
CREATE UNIQUE INDEX entries_key     ON entries (eid >> 32, idem_key) WHERE idem_key IS NOT NULL;
CREATE INDEX        entries_anchor  ON entries (anchor) WHERE anchor IS NOT NULL;
CREATE INDEX        entries_anchors ON entries (eid) WHERE anchor IS NOT NULL;
CREATE INDEX        entries_stray   ON entries (eid >> 32, ts, peak) WHERE ts <> peak;

-- What archived entries say, compressed, many together. Their rows stay in entries, with enc = 1 and without meta and body.
CREATE TABLE segments (
    low    INTEGER PRIMARY KEY, -- the row ids of the first entry and of the last; none between is missing
    high   INTEGER NOT NULL,
    size   INTEGER NOT NULL,    -- how many bytes metas and bodies take
    digest BLOB    NOT NULL,    -- SHA-256 of data
    data   BLOB    NOT NULL
);

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
CREATE TABLE blob_ages (
    root_no INTEGER NOT NULL,
    digest  BLOB    NOT NULL,
    used_at INTEGER NOT NULL,            -- when it was last put, or named by an entry that was appended
    PRIMARY KEY (root_no, digest)
) WITHOUT ROWID;
CREATE TABLE blob_refs (
    eid    INTEGER NOT NULL,
    digest BLOB    NOT NULL,
    PRIMARY KEY (eid, digest)
) WITHOUT ROWID;

-- Who may write to a name, which need not stand for a tape yet; each holder has a higher epoch than all before.
CREATE TABLE leases (
    tenant TEXT    NOT NULL DEFAULT '',
    name   TEXT    NOT NULL,
    owner  TEXT    NOT NULL,             -- '' while it is free
    epoch  INTEGER NOT NULL,
    until  INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) WITHOUT ROWID;

-- How far who has read.
CREATE TABLE cursors (
    tenant     TEXT    NOT NULL DEFAULT '',
    name       TEXT    NOT NULL,
    consumer   TEXT    NOT NULL,
    generation INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, name, consumer)
) WITHOUT ROWID;

-- The terms that entries are found by, in volumes: a cache, filled behind the entries and made anew where it is missing or spoilt.
CREATE TABLE search_volumes (
    volume_no INTEGER PRIMARY KEY,
    tape_no   INTEGER NOT NULL,          -- whose own entries, from the id `first` to the id `last`
    first     INTEGER NOT NULL,
    last      INTEGER NOT NULL,
    size      INTEGER NOT NULL,          -- how many bytes it has
    mark      INTEGER NOT NULL,          -- their checksum, which tells it from another volume that had its number
    rules     TEXT    NOT NULL           -- by which rules its terms were told; by others they may be other terms
);
CREATE INDEX search_volumes_tape ON search_volumes (tape_no);

-- Its bytes, so many a row that one fills a page of the file.
CREATE TABLE search_pages (
    place   INTEGER PRIMARY KEY,         -- volume_no << 24 | number of the page
    content BLOB NOT NULL
);
