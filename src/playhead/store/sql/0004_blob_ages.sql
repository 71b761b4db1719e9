-- When each blob was last put, or named by an entry that was appended: apart from its bytes, which a change of its row would write anew.

CREATE TABLE blob_ages (
    root_no INTEGER NOT NULL,
    digest  BLOB    NOT NULL,
    used_at INTEGER NOT NULL,
    PRIMARY KEY (root_no, digest)
) WITHOUT ROWID;
INSERT INTO blob_ages (root_no, digest, used_at) SELECT root_no, digest, created_at FROM blobs;
