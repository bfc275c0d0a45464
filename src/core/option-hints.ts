/**
 * Suggestions for an unknown option: a misspelt one, one of another call, or another library's name for it.
 */

const RETRIES = "Retries are the policy of a queue: queue(name, { onError: retry(3, exponential('1s')) })."
const BACKOFF =
  "The backoff is part of the policy of a queue: onError: retry(3, exponential('1s', { max: '1h' }))."
const SUCCESS = "Finished jobs are handled by the policy of a queue: onSuccess: discard(), or archive('3d')."
const FAILED =
  "Failed jobs are handled by the policy of a queue: onError: retry(3, exponential('1s'), { ending: buried('30d') })."
const UNIQUE = "Use unique: 'key', or unique: { key, scope: 'queued' | 'active' | '10m', onConflict }."
const LATER = "Use delay: '5m', or runAt: new Date(…)."
const TIMEOUT = "Use timeout: '5m' on the queue or the job."
const LEASE = "Workers extend leases automatically; set the worker's lease: '30s'."
const SCHEDULE = "Use a schedule: schedule('id', { queue, cron: '0 3 * * *', payload })."
const LANE = "Use the queue's lane, and lanes: { concurrency, rate, order: 'strict' }."
const GROUPS = 'Use skep.groups (chain, group, chord), or a flow for jobs that depend on each other.'
const POOL = 'Use concurrency, and concurrencyPerWorker on a queue: it counts per queue.'
const POLL = "Use the worker's poll: '1s'; hints make it prompt."
const LOST = "For jobs whose worker died, use the queue's onLost: retry(5, fixed(0))."
const RATE = "Use the queue's rate: { limit: 100, per: '1m' }, and concurrency."
const STORE = 'Use store: postgresStore({ url }), redisStore({ url }) or sqliteStore({ file }).'
const PAYLOAD = 'The payload is the second argument: skep.enqueue(queue, payload, options).'
const KEEP = "Use retention: '7d', or onSuccess: archive('7d') on the queue."
const LIFO = 'There is no LIFO order; a higher priority starts sooner.'
const HANDLER = 'Pass the handlers to skep.worker([queue.handle(run)], options).'
const SPACE = 'Use space for a tenant.'

const UNHANDLED =
  'It was removed: jobs that no worker handles stay ready, keep their order, and are counted as unhandled (skep queues). Delete it.'

/**
 * Names used by BullMQ, pg-boss, graphile-worker, bee-queue, Agenda, Sidekiq, Oban, Celery and River, and our
 * removed ones, in lower case without separators.
 */
const OTHERS: Readonly<Record<string, string>> = {
  attempts: RETRIES,
  attemptsmade: RETRIES,
  maxattempts: RETRIES,
  maxretries: RETRIES,
  retries: RETRIES,
  retry: RETRIES,
  retrylimit: RETRIES,
  retrycount: RETRIES,
  backoff: BACKOFF,
  backoffs: BACKOFF,
  backoffstrategy: BACKOFF,
  retrybackoff: BACKOFF,
  retrydelay: BACKOFF,
  retrydelaymax: BACKOFF,
  retryin: BACKOFF,
  removeoncomplete: SUCCESS,
  removeonsuccess: SUCCESS,
  deleteaftercompletion: SUCCESS,
  keepjobs: SUCCESS,
  deleteafterseconds: KEEP,
  retentiondays: KEEP,
  retentionhours: KEEP,
  retentionminutes: KEEP,
  retentionseconds: KEEP,
  keepuntil: KEEP,
  keep: KEEP,
  ttl: KEEP,
  archivecompletedafterseconds: KEEP,
  removeonfail: FAILED,
  removeonfailure: FAILED,
  deadletter: FAILED,
  dead: FAILED,
  onfail: FAILED,
  jobid: "Use id for your own job id, or unique: 'key' so that only one such job is queued.",
  jobkey: UNIQUE,
  jobkeymode: UNIQUE,
  singletonkey: UNIQUE,
  singletonseconds: UNIQUE,
  singletonminutes: UNIQUE,
  singletonhours: UNIQUE,
  singletonnextslot: UNIQUE,
  usesingletonqueue: UNIQUE,
  uniquefor: UNIQUE,
  uniqueuntil: UNIQUE,
  uniqueopts: UNIQUE,
  uniquekey: UNIQUE,
  dedupe: UNIQUE,
  deduplication: UNIQUE,
  deduplicationid: UNIQUE,
  debounce: "Use unique: { key, scope: 'queued', onConflict: 'postpone' } with a delay.",
  throttle: "Use unique: { key, scope: '1m' }.",
  hold: "Use scope: 'queued', 'active' or a duration such as '10m'.",
  period: "Use scope: 'queued', 'active' or a duration such as '10m'.",
  states: "Use scope: 'queued', 'active' or a duration such as '10m'.",
  until: "Use scope: 'queued', 'active' or a duration such as '10m'.",
  conflict: "Use onConflict: 'ignore', 'replace' or 'postpone'.",
  startafter: LATER,
  startat: LATER,
  schedulein: LATER,
  scheduledat: LATER,
  schedule: LATER,
  performin: LATER,
  performat: LATER,
  delayuntil: LATER,
  availableat: LATER,
  countdown: LATER,
  eta: LATER,
  at: LATER,
  in: LATER,
  expirein: TIMEOUT,
  expireinseconds: TIMEOUT,
  expireinminutes: TIMEOUT,
  expireinhours: TIMEOUT,
  jobtimeout: TIMEOUT,
  timelimit: TIMEOUT,
  softtimelimit: TIMEOUT,
  lockduration: LEASE,
  locklifetime: LEASE,
  lockrenewtime: LEASE,
  defaultlocklifetime: LEASE,
  visibilitytimeout: LEASE,
  heartbeatseconds: LEASE,
  heartbeat: LEASE,
  stalledinterval: LEASE,
  stallinterval: LEASE,
  maxstalledcount: LOST,
  repeat: SCHEDULE,
  repeatevery: SCHEDULE,
  cron: SCHEDULE,
  crontab: SCHEDULE,
  every: SCHEDULE,
  tz: "Use timeZone: 'Europe/Berlin'.",
  timezone: "Use timeZone: 'Europe/Berlin'.",
  parent: GROUPS,
  children: GROUPS,
  failparentonfailure: GROUPS,
  dependson: GROUPS,
  queuename: LANE,
  group: LANE,
  groupid: LANE,
  limiter: RATE,
  ratelimit: RATE,
  max: RATE,
  lifo: LIFO,
  teamsize: POOL,
  teamconcurrency: POOL,
  batchsize: 'Use queue.handleBatch({ size }, run).',
  localconcurrency: POOL,
  maxconcurrency: POOL,
  defaultconcurrency: POOL,
  maxworkers: POOL,
  concurrentjobs: POOL,
  poolsize: POOL,
  pollinterval: POLL,
  pollingintervalseconds: POLL,
  newjobcheckinterval: POLL,
  processevery: POLL,
  draindelay: POLL,
  connection: STORE,
  connectionstring: STORE,
  createclient: STORE,
  pgpool: STORE,
  db: STORE,
  database: STORE,
  redis: STORE,
  postgres: STORE,
  mongo: STORE,
  url: STORE,
  data: PAYLOAD,
  payload: PAYLOAD,
  args: PAYLOAD,
  meta: "Use headers: { name: 'text' }.",
  metadata: "Use headers: { name: 'text' }.",
  tags: "Use headers: { name: 'text' }.",
  handler: HANDLER,
  handlers: HANDLER,
  processor: HANDLER,
  tasklist: HANDLER,
  queues: HANDLER,
  defaultjoboptions: 'Declare them once, on the queue: queue(name, options).',
  joboptions: 'Declare them once, on the queue: queue(name, options).',
  tenant: SPACE,
  unknownqueues: UNHANDLED,
  missingafter: UNHANDLED,
  namespace: SPACE,
}

/** Names for the end of a hold. */
const ENDS: ReadonlySet<string> = new Set(['until', 'period', 'duration', 'ttl', 'expires', 'expiresin'])

export interface OptionHint {
  /** Sentences for display; empty if there is no hint. */
  readonly text: string
  /** The option that was probably meant; null if it is not an option of this call. */
  readonly name: string | null
}

interface Known {
  readonly place: string
  readonly keys: Readonly<Record<string, true>>
}

export function hintOf({ place, keys }: Known, name: string, places: readonly Known[]): OptionHint {
  const plain = plainOf(name)
  const names = Object.keys(keys)
  const nearest = (most: number): string | undefined => nearestOf(names, plain, most)
  const meant = (one: string): OptionHint => ({ text: `Did you mean ${JSON.stringify(one)}?`, name: one })

  const typo = plain.length > 2 ? nearest(1) : nearest(0)
  if (typo !== undefined) return meant(typo)
  if (keys['for'] === true && ENDS.has(plain)) return { text: "Use for: '10m'.", name: 'for' }
  const other = Object.hasOwn(OTHERS, plain) ? OTHERS[plain] : undefined
  if (other !== undefined) return { text: other, name: null }
  const elsewhere = places.filter((one) => one.place !== place && one.keys[name] === true)
  const at = [...new Set(elsewhere.map((one) => one.place))].slice(0, 3)
  if (at.length > 0) return { text: `It is an option of ${at.join(', ')}.`, name: null }
  const near = plain.length > 4 ? nearest(plain.length > 7 ? 3 : 2) : undefined
  return near === undefined ? { text: '', name: null } : meant(near)
}

/** The name that was probably meant: a short one may differ in one character, a longer one in up to three. */
export function nearestName(names: readonly string[], name: string): string | undefined {
  const plain = plainOf(name)
  return nearestOf(names, plain, plain.length > 7 ? 3 : plain.length > 4 ? 2 : plain.length > 2 ? 1 : 0)
}

function nearestOf(names: readonly string[], plain: string, most: number): string | undefined {
  return names
    .map((one) => ({ one, distance: distanceOf(plainOf(one), plain) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance)[0]?.one
}

function plainOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
}

/** The number of insertions, deletions, replacements and transpositions. */
function distanceOf(from: string, to: string): number {
  let before: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, n) => n)
  for (let i = 1; i <= from.length; i++) {
    const row = [i]
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1]
      let least = Math.min(
        (last[j] as number) + 1,
        (row[j - 1] as number) + 1,
        (last[j - 1] as number) + (same ? 0 : 1),
      )
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]) {
        least = Math.min(least, (before[j - 2] as number) + 1)
      }
      row.push(least)
    }
    before = last
    last = row
  }
  return last[to.length] as number
}
