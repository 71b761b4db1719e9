create table site (
    host     text primary key,
    city     text not null,
    clients  integer not null
);
create table dropped (
    host     text not null references site (host),
    start    timestamptz not null,
    seconds  integer not null check (seconds > 0),
    packets  bigint,
    incident text,
    primary key (host, start)
);
create index dropped_by_start on dropped (start);
