import type { DatabaseSync } from '@photostructure/sqlite'
import { JOB_STATES, type JobState, type UniqueScope } from '../../../src/core/jobs/job.ts'
import type { AuditEntry, AuditRow } from '../history.ts'
import { idIn } from '../recorder.ts'
import { slotIn } from '../slot.ts'

type Handle = InstanceType<typeof DatabaseSync>

/**
 * The audit of a SQLite store: triggers write every change of its tables into one more table, in the same transaction,
 * and reading it puts the pieces together again. The store does not know of it.
 *
 *   jobs     a job that is not finished        waiting  its place in line
 *   leases   who runs it                       archive  a finished one
 */
export interface SqliteAuditClock {
  /** SQL for the store's time in milliseconds. */
  readonly now: string
  /** SQL for the place among the records, or null. */
  readonly n: string
}

/** Time from SQLite itself: for processes that share the file and know nothing of the audit. */
export const SYSTEM_CLOCK: SqliteAuditClock = {
  now: "cast(unixepoch('subsec') * 1000 as integer)",
  n: 'null',
}

/** Time from functions that each connection has to register: for the simulator. */
export const FUNCTION_CLOCK: SqliteAuditClock = { now: 'audit_now()', n: 'audit_n()' }

const COUNTERS = ['starts', 'errors', 'timeouts', 'lost', 'snoozes'] as const
const COLUMNS = {
  jobs: [
    'n',
    'id',
    'q',
    'due_at',
    'generation',
    ...COUNTERS,
    'unique_key',
    'unique_scope',
    'headers',
    'lane',
    'cost',
    'payload',
  ],
  waiting: ['n', 'state'],
  leases: ['n', 'token', 'worker', 'until', 'cancel_reason'],
  archive: [
    'id',
    'q',
    'state',
    'finished_at',
    'expires_at',
    'due_at',
    'generation',
    ...COUNTERS,
    'unique_key',
    'unique_scope',
    'headers',
    'result',
    'cancel_reason',
    'lane',
    'cost',
    'payload',
  ],
} as const

type Table = keyof typeof COLUMNS
const TABLES = Object.keys(COLUMNS) as Table[]

/** Adds the audit to a migrated database. */
export function installSqliteAudit(db: Pick<Handle, 'exec'>, clock: SqliteAuditClock): void {
  const write = (table: Table, sign: '+' | '-', row: 'new' | 'old'): string => {
    const values = COLUMNS[table].map((column) => `${row}.${column}`).join(', ')
    return `insert into audit (at, n, tab, sign, body)
      values (${clock.now}, ${clock.n}, '${table}', '${sign}', json_array(${values}));`
  }
  db.exec(
    'create table audit (seq integer primary key, at integer, n integer, tab text, sign text, body text);',
  )
  for (const table of TABLES) {
    const trigger = (event: 'insert' | 'update' | 'delete', body: string): void =>
      db.exec(`create trigger audit_${table}_${event} after ${event} on skep_${table} begin ${body} end`)
    trigger('insert', write(table, '+', 'new'))
    trigger('delete', write(table, '-', 'old'))
    trigger('update', write(table, '+', 'new'))
  }
}

type Values<T extends Table> = Record<(typeof COLUMNS)[T][number], number | string | null>

/** Where in the audit something happened. */
interface Moment {
  readonly seq: number
  readonly at: number
  readonly n: number | null
}

/** A job while the pieces are put together. */
interface Pieces {
  job: Values<'jobs'> | null
  /** States in which it waits; between two statements there may be two. */
  readonly waiting: Set<number>
  lease: Values<'leases'> | null
  archived: Values<'archive'> | null
  /** What the last entry said. */
  known: AuditRow | null
  /** It was in no table after this change; whether it is gone shows at the next. */
  gone: Moment | null
}

/** Reads the audit back, one entry for each change of a job, in commit order. */
export function readSqliteAudit(db: Pick<Handle, 'prepare'>): AuditEntry[] {
  const queues = queuesOf(db)
  const entries: AuditEntry[] = []
  const byId = new Map<string, Pieces>()
  const idOf = new Map<number, string>()

  const emit = (id: string, pieces: Pieces, { seq, at, n }: Moment, after: AuditRow | null): void => {
    const before = pieces.known
    pieces.known = after
    entries.push({ seq, at, ...(n !== null && { n }), id, before, after })
  }

  const rows = db.prepare('select seq, at, n, tab, sign, body from audit order by seq').iterate() as Iterable<
    Moment & { readonly tab: Table; readonly sign: '+' | '-'; readonly body: string }
  >
  for (const { seq, at, n, tab, sign, body } of rows) {
    const values = valuesOf(tab, body)
    const number = (values as { n?: number }).n
    if (tab === 'jobs' && sign === '+') idOf.set(number as number, fullId(values, queues))
    const id = tab === 'archive' ? fullId(values, queues) : (idOf.get(number as number) as string)
    const pieces = byId.get(id) ?? blank()
    byId.set(id, pieces)

    // It had left every table, and what comes now decides: an archived or retried job only moved.
    if (pieces.gone && !isMove(pieces, tab, values)) emit(id, pieces, pieces.gone, null)
    pieces.gone = null
    put(pieces, tab, sign, values)
    const now = rowOf(pieces, queues)
    if (now === 'nowhere') pieces.gone = { seq, at, n }
    else if (now !== 'between' && !isSame(pieces.known, now)) emit(id, pieces, { seq, at, n }, now)
  }
  for (const [id, pieces] of byId) if (pieces.gone) emit(id, pieces, pieces.gone, null)
  return inOrder(entries)
}

/** All jobs as they are now. */
export function readSqliteFinal(db: Pick<Handle, 'prepare'>): Map<string, AuditRow> {
  const queues = queuesOf(db)
  const all = <T extends Table>(table: T): Values<T>[] =>
    db.prepare(`select ${COLUMNS[table].join(', ')} from skep_${table}`).all() as Values<T>[]
  const byNumber = new Map<number, Pieces>()
  const final = new Map<string, AuditRow>()
  for (const job of all('jobs')) byNumber.set(job.n as number, { ...blank(), job })
  for (const { n, state } of all('waiting')) byNumber.get(n as number)?.waiting.add(state as number)
  for (const lease of all('leases')) {
    const pieces = byNumber.get(lease.n as number)
    if (pieces) pieces.lease = lease
  }
  const named = [...byNumber.values()].map((pieces): [string, Pieces] => [
    fullId(pieces.job as Values<'jobs'>, queues),
    pieces,
  ])
  for (const archived of all('archive')) named.push([fullId(archived, queues), { ...blank(), archived }])
  for (const [id, pieces] of named) {
    const row = rowOf(pieces, queues)
    if (typeof row === 'string') throw new Error(`Job ${id} is in tables that do not fit together.`)
    final.set(id, row)
  }
  return final
}

interface QueueOfRow {
  readonly q: number
  readonly space: string
  readonly name: string
}

function queuesOf(db: Pick<Handle, 'prepare'>): ReadonlyMap<number, QueueOfRow> {
  const rows = db.prepare('select q, space, name from skep_queues').all() as unknown as QueueOfRow[]
  return new Map(rows.map((row) => [row.q, row]))
}

function fullId(values: Record<string, unknown>, queues: ReadonlyMap<number, QueueOfRow>): string {
  return idIn(queues.get(values['q'] as number)?.space ?? 'default', values['id'] as string)
}

function blank(): Pieces {
  return { job: null, waiting: new Set(), lease: null, archived: null, known: null, gone: null }
}

function valuesOf<T extends Table>(table: T, body: string): Values<Table> & Record<string, unknown> {
  const values = JSON.parse(body) as (number | string | null)[]
  return Object.fromEntries(COLUMNS[table].map((column, i) => [column, values[i]])) as never
}

function isMove(pieces: Pieces, tab: Table, values: Record<string, unknown>): boolean {
  if (tab === 'archive') return pieces.known?.generation === values.generation
  return tab === 'jobs' && values.generation === (pieces.known?.generation ?? -2) + 1
}

function put(pieces: Pieces, tab: Table, sign: '+' | '-', values: Record<string, unknown>): void {
  switch (tab) {
    case 'jobs':
      pieces.job = sign === '+' ? (values as Values<'jobs'>) : null
      break
    case 'waiting':
      if (sign === '+') pieces.waiting.add(values.state as number)
      else pieces.waiting.delete(values.state as number)
      break
    case 'leases':
      pieces.lease = sign === '+' ? (values as Values<'leases'>) : null
      break
    case 'archive':
      pieces.archived = sign === '+' ? (values as Values<'archive'>) : null
  }
}

/** The job these pieces make up, or that they do not make up one yet. */
function rowOf(pieces: Pieces, queues: ReadonlyMap<number, QueueOfRow>): AuditRow | 'nowhere' | 'between' {
  const { job, waiting, lease, archived } = pieces
  const places = waiting.size + (lease ? 1 : 0)
  if (archived) return job || places > 0 ? 'between' : { ...common(archived, queues, 0), ...ended(archived) }
  if (!job) return places > 0 ? 'between' : 'nowhere'
  if (places !== 1) return 'between'
  const leased = {
    // A start is counted in the lease until it ends.
    ...common(job, queues, lease ? 1 : 0),
    token: (lease?.token ?? null) as string | null,
    worker: (lease?.worker ?? null) as string | null,
    leaseUntil: (lease?.until ?? null) as number | null,
    cancelReason: (lease?.cancel_reason ?? null) as string | null,
  }
  const state: JobState = lease ? 'running' : waiting.has(0) ? 'delayed' : 'ready'
  return { ...leased, state, finishedAt: null, expiresAt: null, result: null }
}

function common(
  values: Values<'jobs'> | Values<'archive'>,
  queues: ReadonlyMap<number, QueueOfRow>,
  started: number,
): Pick<
  AuditRow,
  'space' | 'queue' | 'payload' | 'generation' | 'dueAt' | 'counters' | 'unique' | 'slot' | 'lane' | 'cost'
> {
  const number = (column: (typeof COUNTERS)[number]): number => values[column] as number
  const key = values.unique_key as string | null
  const queue = queues.get(values.q as number) as QueueOfRow
  return {
    space: queue.space,
    queue: queue.name,
    payload: values.payload as string,
    generation: values.generation as number,
    dueAt: values.due_at as number,
    counters: {
      starts: number('starts') + started,
      errors: number('errors'),
      timeouts: number('timeouts'),
      lost: number('lost'),
      snoozes: number('snoozes'),
    },
    unique: key === null ? null : { key, scope: values.unique_scope as UniqueScope },
    ...slotIn(values.headers as string | null),
    lane: values.lane as string | null,
    cost: values.cost as number,
  }
}

function ended(
  values: Values<'archive'>,
): Pick<
  AuditRow,
  'state' | 'token' | 'worker' | 'leaseUntil' | 'cancelReason' | 'finishedAt' | 'expiresAt' | 'result'
> {
  return {
    state: JOB_STATES[values.state as number] as JobState,
    token: null,
    worker: null,
    leaseUntil: null,
    cancelReason: values.cancel_reason as string | null,
    finishedAt: values.finished_at as number,
    expiresAt: values.expires_at as number,
    result: values.result as string | null,
  }
}

function isSame(a: AuditRow | null, b: AuditRow): boolean {
  return a !== null && JSON.stringify(a) === JSON.stringify(b)
}

/** Entries of jobs that left every table were written when that was certain: back to their place. */
function inOrder(entries: readonly AuditEntry[]): AuditEntry[] {
  return entries.toSorted((a, b) => a.seq - b.seq).map((entry, seq) => ({ ...entry, seq }))
}
