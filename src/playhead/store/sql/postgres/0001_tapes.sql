-- The record: names, families, tapes, entries, who writes, who has read how far, and blobs.

CREATE TABLE tape_names (
    tenant   text  NOT NULL,
    name_key bytea NOT NULL,
    name     text  NOT NULL,
    root_id  uuid  NOT NULL,
    PRIMARY KEY (tenant, name_key)
);

CREATE TABLE families (
    root_id      uuid   NOT NULL PRIMARY KEY,
    name_key     bytea  NOT NULL,
    last_tape_no bigint NOT NULL DEFAULT 0,
    works        uuid[] NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE tapes (
    root_id         uuid    NOT NULL,
    tape_no         bigint  NOT NULL,
    generation      bigint  NOT NULL,
    fork_seq        bigint  NOT NULL DEFAULT 0,
    head            bigint  NOT NULL,
    peak            bigint  NOT NULL DEFAULT -4611686018427387904,
    peak_before     bigint  NOT NULL DEFAULT -4611686018427387904,
    mark            bigint  NOT NULL DEFAULT 0,
    epoch           bigint  NOT NULL DEFAULT 0,
    turn            bigint  NOT NULL DEFAULT 0,
    low_water       bigint  NOT NULL DEFAULT 0,
    created_at      bigint  NOT NULL,
    parent_no       bigint,
    branch_no       bigint,
    base_generation bigint,
    base_seq        bigint,
    closed_at       bigint,
    in_use          boolean NOT NULL DEFAULT true,
    name_key        bytea   NOT NULL,
    main_key        bytea,
    name            text    NOT NULL,
    lineage         text    NOT NULL DEFAULT '[]',
    parent          text,
    outcome         text,
    owner           bytea,
    key_id          text,
    PRIMARY KEY (root_id, tape_no)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX tapes_name    ON tapes (root_id, name_key) WHERE in_use;
CREATE INDEX        tapes_main    ON tapes (root_id, main_key) WHERE in_use AND main_key IS NOT NULL;
CREATE INDEX        tapes_branch  ON tapes (root_id, branch_no) WHERE in_use AND branch_no IS NOT NULL;
CREATE INDEX        tapes_parent  ON tapes (root_id, parent_no) WHERE parent_no IS NOT NULL;
CREATE INDEX        tapes_retired ON tapes (root_id, tape_no) WHERE NOT in_use;

CREATE TABLE entries (
    root_id  uuid     NOT NULL,
    tape_no  bigint   NOT NULL,
    seq      bigint   NOT NULL,
    ts       bigint   NOT NULL,
    peak     bigint   NOT NULL,
    mark     bigint,
    enc      smallint NOT NULL DEFAULT 0,
    kind     bytea    NOT NULL,
    uid      bytea    NOT NULL,
    idem_key bytea,
    anchor   bytea,
    digest   bytea    NOT NULL,
    meta     bytea    NOT NULL,
    body     bytea    NOT NULL,
    search   text,
    PRIMARY KEY (root_id, tape_no, seq)
) PARTITION BY HASH (root_id);
CREATE UNIQUE INDEX entries_key     ON entries (root_id, tape_no, idem_key) WHERE idem_key IS NOT NULL;
CREATE INDEX        entries_uid     ON entries (root_id, tape_no, uid);
CREATE INDEX        entries_kind    ON entries (root_id, tape_no, substring(kind, 1, 64), seq);
CREATE INDEX        entries_anchor  ON entries (root_id, tape_no, seq, anchor) WHERE anchor IS NOT NULL;
CREATE INDEX        entries_peak    ON entries (root_id, tape_no, peak, seq) WHERE seq & 63 = 0;
CREATE INDEX        entries_stray   ON entries (root_id, tape_no, ts, seq) WHERE ts <> peak;
CREATE INDEX        entries_mark    ON entries (root_id, tape_no, mark, seq) WHERE mark IS NOT NULL;
CREATE TABLE entries_0 PARTITION OF entries FOR VALUES WITH (MODULUS 8, REMAINDER 0);
CREATE TABLE entries_1 PARTITION OF entries FOR VALUES WITH (MODULUS 8, REMAINDER 1);
CREATE TABLE entries_2 PARTITION OF entries FOR VALUES WITH (MODULUS 8, REMAINDER 2);
CREATE TABLE entries_3 PARTITION OF entries FOR VALUES WITH (MODULUS 8, REMAINDER 3);
CREATE TABLE entries_4 PARTITION OF entries FOR VALUES WITH (MODULUS 8, REMAINDER 4);
CREATE TABLE entries_5 PARTITION OF entries FOR VALUES WITH (MODULUS 8, REMAINDER 5);
CREATE TABLE entries_6 PARTITION OF entries FOR VALUES WITH (MODULUS 8, REMAINDER 6);
CREATE TABLE entries_7 PARTITION OF entries FOR VALUES WITH (MODULUS 8, REMAINDER 7);

CREATE TABLE leases (
    root_id  uuid   NOT NULL,
    name_key bytea  NOT NULL,
    epoch    bigint NOT NULL,
    until    bigint NOT NULL,
    owner    bytea  NOT NULL,
    PRIMARY KEY (root_id, name_key)
);

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

CREATE TABLE blobs (
    tenant     text   NOT NULL,
    digest     bytea  NOT NULL,
    size       bigint NOT NULL,
    created_at bigint NOT NULL,
    mime       bytea,
    data       bytea  NOT NULL,
    PRIMARY KEY (tenant, digest)
);
