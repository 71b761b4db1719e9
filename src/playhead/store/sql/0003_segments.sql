-- Retention: what archived entries say.

CREATE TABLE segments (
    low    INTEGER PRIMARY KEY,
    high   INTEGER NOT NULL,
    size   INTEGER NOT NULL,
    digest BLOB    NOT NULL,
    data   BLOB    NOT NULL
);
