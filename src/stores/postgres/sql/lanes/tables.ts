/**
 * What limited queues need: what was said about them, what of it is in use, and what keeps jobs back.
 *
 * Only whoever holds a queue's lock (see `GATE` and `lineLock`) writes to `lines` and `lanes`. Everybody else appends to
 * `news`, in the transaction that moves the jobs, and waits for nobody; the next claim folds the news into the lanes
 * before it looks at them.
 *
 * Rows of `lines` and `lanes` change all the time. Their keys end in a version that each change raises, and the newest is
 * read first: so nobody walks over the dead versions that pile up while some transaction keeps its snapshot open.
 */
export function laneTables(schema: string): string {
  return `
-- Numbers the jobs of strict lanes as they arrive: small numbers, so they come before all ranks.
create sequence ${schema}.arrivals cache 1;

-- kind 0: a queue; 1: one lane of it; 2: a limit that queues share. Spacings are microseconds. The columns after
-- \`changed\` are what both come to; a lane says by has_… whether it has a limit, or none, of its own.
create table ${schema}.limits (
    space text collate "C" not null,
    kind smallint not null,
    name text collate "C" not null,
    lane text collate "C" not null default '',
    declared jsonb,
    changed jsonb,
    concurrency bigint,
    spacing bigint,
    burst bigint,
    has_concurrency boolean not null default false,
    has_rate boolean not null default false,
    shared text collate "C",
    lane_concurrency bigint,
    lane_spacing bigint,
    lane_burst bigint,
    is_strict boolean not null default false,
    weight bigint,
    primary key (space, kind, name, lane)
);

-- A limited queue; under '=' and a name, the rate of a shared limit. \`scan_from\`: no eligible lane has a lower turn.
-- \`from_xid\`: news of older transactions are folded. \`woken_to\`: no lane waits for a moment before this. \`is_sliced\`:
-- somebody has claimed from a range of its keys, and its lanes have their slices.
create table ${schema}.lines (
    ver bigint not null,
    clock bigint not null default 0,
    scan_from bigint not null default -1,
    running bigint not null default 0,
    full_us bigint not null default 0,
    woken_to bigint not null default 0,
    from_xid xid8 not null default '0',
    is_sliced boolean not null default false,
    space text collate "C" not null,
    queue text collate "C" not null,
    primary key (space, queue, ver)
) with (autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0.1);

-- \`head\`: no ready job of the lane has a lower rank. \`eligible\` and \`wake_at\` follow from the rest, see lane-rules.ts.
-- \`slice\`: that of its key, in lines that are sliced.
create table ${schema}.lanes (
    ver bigint not null,
    turn bigint not null,
    running bigint not null default 0,
    full_us bigint not null default 0,
    wait_until bigint not null default 0,
    held_until bigint not null default 0,
    head_at bigint not null default 0,
    head bigint not null default -9007199254740991,
    wake_at bigint,
    occupant uuid,
    generation integer,
    slice smallint,
    active boolean not null default false,
    eligible boolean not null default false,
    space text collate "C" not null,
    queue text collate "C" not null,
    lane text collate "C" not null,
    primary key (space, queue, lane, ver)
) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1);
create index lanes_turn on ${schema}.lanes (space, queue, turn, lane) where eligible;
create index lanes_slices on ${schema}.lanes (space, queue, slice, turn, lane) where eligible and slice is not null;
create index lanes_wake on ${schema}.lanes (space, queue, wake_at) where wake_at is not null;

-- What happened to a lane: so many of its leases ended; a job of this rank is ready (of the highest: look again); it shall
-- wait, or pause; its holds have changed. Without a lane: the limits of the queue have changed. What one call did to many
-- lanes is one row, with arrays: of each job the lane, whether a lease of it ended, and its rank if it is ready.
create table ${schema}.news (
    xid xid8 not null default pg_current_xact_id(),
    rank bigint,
    wait_until bigint,
    at bigint,
    freed integer not null default 0,
    held boolean,
    space text collate "C" not null,
    queue text collate "C" not null,
    lane text collate "C",
    pause text,
    lanes text[] collate "C",
    frees boolean[],
    ranks bigint[]
) with (
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = -1
);
create index news_order on ${schema}.news (space, queue, xid);
create index news_pauses on ${schema}.news (space, queue) where pause is not null;

-- What keeps jobs from starting. '' stands for every space or queue; \`pattern\` is what the queue's name must be LIKE.
create table ${schema}.holds (
    n bigint generated always as identity,
    since bigint not null,
    until bigint,
    has_lane boolean not null,
    kind text not null,
    space text collate "C" not null,
    queue text collate "C" not null,
    lane text collate "C" not null,
    pattern text collate "C",
    reason text,
    by_whom text,
    primary key (kind, space, queue, has_lane, lane)
);
create index holds_queues on ${schema}.holds (space) where not has_lane;
create index holds_lanes on ${schema}.holds (space, queue, lane) where has_lane;
`
}
