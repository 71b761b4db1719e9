-- The terms that entries are found by, in volumes: a cache, filled behind the entries and made anew where it is missing or spoilt.

CREATE TABLE search_volumes (
    volume_no INTEGER PRIMARY KEY,
    tape_no   INTEGER NOT NULL,
    first     INTEGER NOT NULL,
    last      INTEGER NOT NULL,
    size      INTEGER NOT NULL,
    mark      INTEGER NOT NULL,
    rules     TEXT    NOT NULL
);
CREATE INDEX search_volumes_tape ON search_volumes (tape_no);

CREATE TABLE search_pages (
    place   INTEGER PRIMARY KEY,
    content BLOB NOT NULL
);
