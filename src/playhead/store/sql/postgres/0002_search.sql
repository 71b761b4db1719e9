-- The terms that entries are found by, in volumes: a cache, filled behind the entries and made anew where it is missing or spoilt.

CREATE TABLE search_volumes (
    root_id   uuid   NOT NULL,
    tape_no   bigint NOT NULL,
    first     bigint NOT NULL,
    last      bigint NOT NULL,
    size      bigint NOT NULL,
    mark      bigint NOT NULL,
    made_at   bigint NOT NULL,
    volume_id uuid   NOT NULL,
    rules     text   NOT NULL,
    PRIMARY KEY (root_id, tape_no, rules, first)
);

CREATE TABLE search_pages (
    root_id   uuid    NOT NULL,
    volume_id uuid    NOT NULL,
    page      integer NOT NULL,
    content   bytea   NOT NULL,
    PRIMARY KEY (root_id, volume_id, page)
);
