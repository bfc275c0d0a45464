/** The tables of limits, lanes and holds. None has a rowid, so that an insert of jobs can go on asking for the last. */
export const LIMIT_TABLES = `
  -- Raised when a queue becomes limited, and when what holds whole queues changes: what a process remembers of either is
  -- true for as long as this stays.
  create table skep_rules (only integer primary key, version integer not null) without rowid;
  insert into skep_rules values (1, 0);

  create table skep_holds (
    key text primary key, kind text not null, space text, queue text, lane text,
    reason text, put_by text, since integer not null, until integer
  ) without rowid;
  create index skep_holds_queues on skep_holds (space, queue) where lane is null;
  create index skep_holds_until on skep_holds (until) where until is not null;

  -- What was said, in JSON. kind 0 is a queue, 1 a lane of it, 2 a limit that queues share.
  create table skep_limits (
    space text not null, kind integer not null, name text not null, lane text not null,
    declared text, changed text, primary key (space, kind, name, lane)
  ) without rowid;

  -- A limited queue: what its limits come to, and what of them is in use. is_sliced: somebody has claimed from a range.
  create table skep_lines (
    q integer primary key, limits text not null, clock integer not null, running integer not null,
    full_at integer not null, last_lane integer not null, is_sliced integer not null default 0
  ) without rowid;

  create table skep_shared (
    space text not null, name text not null, limits text not null, running integer not null,
    full_at integer not null, primary key (space, name)
  ) without rowid;

  -- standing 0 is idle, 1 eligible, 2 waiting until wake_at, 3 full. own are the lane's own limits, in JSON. slice is the
  -- slice of its key, of lines that are sliced.
  create table skep_lanes (
    q integer not null, key text not null, number integer not null, standing integer not null,
    turn integer not null, running integer not null, full_at integer not null,
    wait_until integer not null, held_until integer not null, head_at integer not null,
    wake_at integer not null, occupant text, own text, slice integer, primary key (q, key)
  ) without rowid;
  create index skep_lanes_turn on skep_lanes (q, turn, key) where standing = 1;
  create index skep_lanes_slices on skep_lanes (q, slice, turn, key) where standing = 1 and slice is not null;
  create index skep_lanes_wake on skep_lanes (q, wake_at) where standing = 2;`
