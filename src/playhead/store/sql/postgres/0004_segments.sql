-- Retention: what archived entries say.

CREATE TABLE segments (
    root_id uuid   NOT NULL,
    tape_no bigint NOT NULL,
    low     bigint NOT NULL,
    high    bigint NOT NULL,
    size    bigint NOT NULL,
    digest  bytea  NOT NULL,
    data    bytea  NOT NULL,
    PRIMARY KEY (root_id, tape_no, low)
);
