-- The whole schema as the migrations leave it; a test compares the two. Instants are microseconds since 1970, UTC; texts that may hold what
-- PostgreSQL's do not (NUL, halves of surrogate pairs) are bytes in UTF-8; keys are texts of up to 64 bytes, of longer ones the SHA-256.
-- Each table of a family leads every key with root_id, a random id: a family is one shard, and no statement needs two.

CREATE TABLE schema_version (
    v          integer     NOT NULL PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now(),
    checksum   text        NOT NULL
);

-- Which family a name stands for; apart from the others, so that a name is unique without a key across shards.
CREATE TABLE tape_names (
    tenant   text  NOT NULL,
    name_key bytea NOT NULL,                 -- 16 bytes of the SHA-256 of the name, which may be of any length
    name     text  NOT NULL,
    root_id  uuid  NOT NULL,
    PRIMARY KEY (tenant, name_key)
);
CREATE INDEX tape_names_root ON tape_names (tenant, root_id); -- what goes through all families, whoever renames them meanwhile

-- A tape, its branches and the sidecars of all. Who makes, forks, closes, renames or removes one holds this row meanwhile.
CREATE TABLE families (
    root_id      uuid   NOT NULL PRIMARY KEY,
    name_key     bytea  NOT NULL,            -- of its first tape, as in tape_names
    last_tape_no bigint NOT NULL DEFAULT 0,  -- numbers are never used again
    works        uuid[] NOT NULL             -- the last transactions that held it, so that one whose commit was not heard of can be found
) WITH (fillfactor = 70);

-- One row is one generation of one tape, branch or sidecar. A reset makes the next one; branches go on reading the old one, and it is removed
-- when none is left that does. An append moves this row, and compares all that it depends on in it.
CREATE TABLE tapes (
    root_id         uuid    NOT NULL,
    tape_no         bigint  NOT NULL,
    generation      bigint  NOT NULL,
    fork_seq        bigint  NOT NULL DEFAULT 0,                     -- a branch's own entries stand behind it
    head            bigint  NOT NULL,                               -- the id of its last entry
    peak            bigint  NOT NULL DEFAULT -4611686018427387904,  -- the peak of its last entry
    peak_before     bigint  NOT NULL DEFAULT -4611686018427387904,  -- and of the last one before the last batch
    mark            bigint  NOT NULL DEFAULT 0,                     -- on a sidecar: the highest mark of its entries
    epoch           bigint  NOT NULL DEFAULT 0,                     -- of the newest lease
    turn            bigint  NOT NULL DEFAULT 0,                     -- moved where an append was not heard of, so that it cannot land any more
    low_water       bigint  NOT NULL DEFAULT 0,                     -- its own entries begin behind it; 0, as those that are archived keep their rows
    created_at      bigint  NOT NULL,
    parent_no       bigint,                                         -- the last one in the lineage, NULL where nothing is shared
    branch_no       bigint,                                         -- a branch: its first number, so they are in the order they were made
    base_generation bigint,                                         -- a branch, or a sidecar that was forked with it: where
    base_seq        bigint,
    closed_at       bigint,
    in_use          boolean NOT NULL DEFAULT true,                  -- false for a generation that a reset has followed, and for what was removed
    name_key        bytea   NOT NULL,
    main_key        bytea,                                          -- a sidecar: the key of the tape it stands beside
    name            text    NOT NULL,
    lineage         text    NOT NULL DEFAULT '[]',                  -- [[tape_no, last id], ...] of what it reads through, oldest first; no entry is copied
    parent          text,                                           -- the name it was forked from
    outcome         text,                                           -- merged, squashed, discarded; NULL while it is open
    owner           bytea,
    key_id          text,
    PRIMARY KEY (root_id, tape_no)
) WITH (fillfactor = 70);                                           -- no index holds what an append moves, so its row stays on its page
CREATE UNIQUE INDEX tapes_name    ON tapes (root_id, name_key) WHERE in_use;
CREATE INDEX        tapes_main    ON tapes (root_id, main_key) WHERE in_use AND main_key IS NOT NULL;
CREATE INDEX        tapes_branch  ON tapes (root_id, branch_no) WHERE in_use AND branch_no IS NOT NULL;
CREATE INDEX        tapes_parent  ON tapes (root_id, parent_no) WHERE parent_no IS NOT NULL;
CREATE INDEX        tapes_retired ON tapes (root_id, tape_no) WHERE NOT in_use;

CREATE TABLE entries (
    root_id  uuid     NOT NULL,
    tape_no  bigint   NOT NULL,
    seq      bigint   NOT NULL,           -- the id
    ts       bigint   NOT NULL,
    peak     bigint   NOT NULL,           -- the newest ts of the same tape_no up to here that was no more than a day ahead of the clock; it only rises
    mark     bigint,                      -- on a sidecar: the main tape's head when it was written, generation << 32 | id; it only rises
    enc      smallint NOT NULL DEFAULT 0, -- where meta and body are: 0 here, as JSON, 1 in a segment, 2 encrypted, 3 redacted
    kind     bytea    NOT NULL,
    uid      bytea    NOT NULL,           -- 16 bytes where it is a UUID, else a key
    idem_key bytea,                       -- a key
    anchor   bytea,                       -- the key of ':' and the anchor's name, where the entry is one
    digest   bytea    NOT NULL,           -- 4 bytes of the SHA-256 of kind, 28 of that of ts, meta, body and kind, a line each
    meta     bytea    NOT NULL,
    body     bytea    NOT NULL,           -- the JSON of its payload, to the byte
    search   text,                        -- the text to search, NULL where none was taken
    PRIMARY KEY (root_id, tape_no, seq)
) PARTITION BY HASH (root_id);
CREATE UNIQUE INDEX entries_key     ON entries (root_id, tape_no, idem_key) WHERE idem_key IS NOT NULL;
CREATE INDEX        entries_uid     ON entries (root_id, tape_no, uid);
CREATE INDEX        entries_kind    ON entries (root_id, tape_no, substring(kind, 1, 64), seq);
CREATE INDEX        entries_anchor  ON entries (root_id, tape_no, seq, anchor) WHERE anchor IS NOT NULL;
CREATE INDEX        entries_peak    ON entries (root_id, tape_no, peak, seq) WHERE seq & 63 = 0; -- dates are found to a block of 64 entries
CREATE INDEX        entries_stray   ON entries (root_id, tape_no, ts, seq) WHERE ts <> peak;     -- and those out of order by themselves
CREATE INDEX        entries_mark    ON entries (root_id, tape_no, mark, seq) WHERE mark IS NOT NULL;
CREATE TABLE entries_0 PARTITION OF entries FOR VALUES WITH (MODULUS 8, REMAINDER 0);
CREATE TABLE entries_1 PARTITION OF entries FOR VALUES WITH (MODULUS 8, REMAINDER 1);
CREATE TABLE entries_2 PARTITION OF entries FOR VALUES WITH (MODULUS 8, REMAINDER 2);
CREATE TABLE entries_3 PARTITION OF entries FOR VALUES WITH (MODULUS 8, REMAINDER 3);
CREATE TABLE entries_4 PARTITION OF entries FOR VALUES WITH (MODULUS 8, REMAINDER 4);
CREATE TABLE entries_5 PARTITION OF entries FOR VALUES WITH (MODULUS 8, REMAINDER 5);
CREATE TABLE entries_6 PARTITION OF entries FOR VALUES WITH (MODULUS 8, REMAINDER 6);
CREATE TABLE entries_7 PARTITION OF entries FOR VALUES WITH (MODULUS 8, REMAINDER 7);

-- Who may write to a name, which need not stand for a tape yet; each holder has a higher epoch than all before.
CREATE TABLE leases (
    root_id  uuid   NOT NULL,
    name_key bytea  NOT NULL,
    epoch    bigint NOT NULL,
    until    bigint NOT NULL, -- by the server's clock
    owner    bytea  NOT NULL, -- empty while it is free
    PRIMARY KEY (root_id, name_key)
);

-- How far who has read.
CREATE TABLE cursors (
    root_id      uuid   NOT NULL,
    name_key     bytea  NOT NULL,
    consumer_key bytea  NOT NULL,
    generation   bigint NOT NULL,
    seq          bigint NOT NULL,
    updated_at   bigint NOT NULL,
    consumer     bytea  NOT NULL,
    PRIMARY KEY (root_id, name_key, consumer_key)
);

-- Bytes that any tape of a tenant may refer to, spread by their hash.
CREATE TABLE blobs (
    tenant     text   NOT NULL,
    digest     bytea  NOT NULL,
    size       bigint NOT NULL,
    created_at bigint NOT NULL,
    mime       bytea,
    data       bytea  NOT NULL,
    used_at    bigint NOT NULL DEFAULT 0, -- when it was last put, or named by an append, where that was after it was made
    PRIMARY KEY (tenant, digest)
);

-- Which volumes of terms there are, so that a search need not read the entries: a cache, made anew where it is missing or spoilt. A volume is the
-- same whoever makes it, and each ends where the next begins: who comes second with one that begins at an id drops it.
CREATE TABLE search_volumes (
    root_id   uuid   NOT NULL,
    tape_no   bigint NOT NULL,
    first     bigint NOT NULL, -- the ids of its entries
    last      bigint NOT NULL,
    size      bigint NOT NULL, -- in bytes
    mark      bigint NOT NULL, -- the CRC-32 of these
    made_at   bigint NOT NULL,
    volume_id uuid   NOT NULL, -- random, as those of families
    rules     text   NOT NULL, -- by which its terms were told: other versions make other volumes beside these
    PRIMARY KEY (root_id, tape_no, rules, first)
);

-- The bytes of volumes. Four rows with all that stands around them fill a page of the server's, and none is so long that it would be kept elsewhere.
CREATE TABLE search_pages (
    root_id   uuid    NOT NULL,
    volume_id uuid    NOT NULL,
    page      integer NOT NULL, -- from 0 on, each of 1,968 bytes but the last
    content   bytea   NOT NULL,
    PRIMARY KEY (root_id, volume_id, page)
);

-- What archived entries say, compressed, many together. Their rows stay in entries, with enc = 1 and without meta and body.
CREATE TABLE segments (
    root_id uuid   NOT NULL,
    tape_no bigint NOT NULL,
    low     bigint NOT NULL, -- the ids of the first entry and of the last; none between is missing
    high    bigint NOT NULL,
    size    bigint NOT NULL, -- how many bytes metas and bodies take
    digest  bytea  NOT NULL, -- SHA-256 of data
    data    bytea  NOT NULL,
    PRIMARY KEY (root_id, tape_no, low)
);
