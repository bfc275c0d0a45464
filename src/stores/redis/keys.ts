/**
 * All keys of a store. There are always the same few, however many queues, lanes and jobs there are: the script gets
 * every one of them in `KEYS` (and the short ones beside it their few), all with one hash tag, so they are in one slot of a cluster and nothing else is touched.
 *
 * What other designs make a key of is the beginning of a member here: a sorted set whose scores are all 0 is sorted by
 * its members, so "the ready jobs of a lane" is a range of one set. `q` is the number of a queue, 4 bytes; places and
 * moments are numbers of 8 bytes that sort as they count (`lua/bytes.ts`); an id is 16 bytes, and a `job` is its id and then its space,
 * unless that is the default one.
 *
 *   meta       hash   schema, counters, how often something was written, and which server runs had it
 *   names      hash   space NUL queue → q, and q → space NUL queue
 *   counts     hash   q state → how many jobs
 *   jobs       hash   job → record, of jobs that wait or run; and, as in held, one field without a name
 *   ready      set    q lane NUL place id; without a lane also several ids, see `lua/sheets.ts`
 *   delayed    set    q due id
 *   ages       set    q due id: ready jobs that have a lane or a priority, so that the oldest is found; and q 255 place id: those
 *                     without a lane
 *   later      set    q lane NUL due id: delayed jobs that have a lane, once more
 *   held       hash   job → until q mark token: the lease of a job that runs
 *   claims     hash   token NUL q → bound started worker ids: what one claim took of one queue
 *   live       hash   token NUL q → how many of these still run
 *   leases     set    q bound token: no lease of that claim ends before `bound`
 *   started    set    q started token
 *   workers    hash   id → seen, connection NUL JSON, of workers
 *   tasks      set    worker NUL q token: the claims of a worker
 *   archive    hash   job → record, of finished jobs
 *   ended      set    q state finished id
 *   ended:lanes set   q state lane NUL finished id: those that had a lane, once more
 *   expiry     set    moment job: when a finished job goes
 *   uniques    hash   q key → id until
 *   windows    set    moment q key: when a unique key for a span of time goes
 *   gone       hash   n → token state q ids, of jobs that left lately
 *   gone:index set    how these are found: by id, by token, by time
 *   limits     hash   space NUL target → JSON, what was said
 *   lines      hash   q → what of the limits of a queue is in use
 *   lanes      hash   q lane → the same of a lane
 *   turns      set    q turn lane: eligible lanes
 *   slices     set    q slice turn lane: the same of lines from which somebody has claimed a range of keys
 *   sleepers   set    q moment lane: lanes that wait
 *   busy       set    q lane: lanes with work
 *   holds      hash   kind and target → JSON
 *   schedules  hash   space NUL id → JSON
 *   due        set    space NUL moment id, of schedules
 *   notes      hash   job → JSON, what is known of the notes of a job
 *   lines:log  hash   job place → JSON, a line
 *   notes:end  set    moment job: when notes go
 *   records    hash   scope NUL kind NUL id → expires written revision body
 *   records:index set  scope NUL kind NUL id, in the order of lists
 *   records:end set   moment scope NUL kind NUL id: when a record goes
 *   groups     hash   id → JSON
 *   outcomes   hash   group n → state id result failure
 *   results    set    group n: members that have ended
 *   members    hash   group n → kind id: members that have not
 *   runs       hash   space NUL id → JSON
 *   runs:index set    how they are found
 *   flows:end  set    moment kind id (of a run with its space): when runs and groups go
 */
export const KEY_NAMES = [
  'meta',
  'names',
  'counts',
  'jobs',
  'ready',
  'delayed',
  'ages',
  'later',
  'held',
  'claims',
  'live',
  'leases',
  'started',
  'workers',
  'tasks',
  'archive',
  'ended',
  'ended:lanes',
  'expiry',
  'uniques',
  'windows',
  'gone',
  'gone:index',
  'limits',
  'lines',
  'lanes',
  'turns',
  'slices',
  'sleepers',
  'busy',
  'holds',
  'schedules',
  'due',
  'notes',
  'lines:log',
  'notes:end',
  'records',
  'records:index',
  'records:end',
  'groups',
  'outcomes',
  'results',
  'members',
  'runs',
  'runs:index',
  'flows:end',
] as const

/** The space of whoever names none. */
export const DEFAULT_SPACE = 'default'

/** What stands behind the id of a job where all jobs are found. */
export function tagOf(space: string): string {
  return space === DEFAULT_SPACE ? '' : space
}

export type KeyName = (typeof KEY_NAMES)[number]

/** What stands for each key in the text of the scripts. */
export const K: Readonly<Record<KeyName, string>> = keyNumbers(KEY_NAMES)

/** The same for a script that gets these keys alone. */
export function keyNumbers<Name extends KeyName>(names: readonly Name[]): Readonly<Record<Name, string>> {
  return Object.fromEntries(names.map((name, index) => [name, `KEYS[${index + 1}]`])) as Record<Name, string>
}

/** Keys of the store with this prefix. The prefix is the hash tag, so all of them are in one slot. */
export function keysOf(prefix: string, names: readonly KeyName[] = KEY_NAMES): readonly string[] {
  return names.map((name) => `{${prefix}}:${name}`)
}
