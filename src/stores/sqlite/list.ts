import { isFinal, type JobState } from '../../core/job.ts'
import { listKey } from '../../core/transitions.ts'
import type { ListCall, ListReply } from '../../store.ts'
import type { SqlValue } from './client.ts'
import { ARCHIVE_COLUMNS, archivedJob, HOT_COLUMNS, hotJob, type Placed } from './record.ts'
import { STATE_NUMBER, type Turn } from './turn.ts'

type Reader = Pick<Turn, 'db' | 'queues'>

/** One page of a queue's jobs in one state. */
export function list(turn: Reader, call: ListCall): ListReply {
  // One more than asked for tells whether there is another page.
  const found = select(turn, call, call.limit + 1).map(({ job }) => job)
  const jobs = found.slice(0, call.limit)
  const last = jobs.at(-1)
  return { jobs, cursor: last && found.length > jobs.length ? `${listKey(last)}:${last.id}` : null }
}

/** Up to `limit` jobs of a selection, in the order in which they are listed. */
export function select(turn: Reader, call: Omit<ListCall, 'limit'>, limit: number): Placed[] {
  const q = turn.queues.find(turn.db, call.space, call.queue)
  if (q === undefined) return []
  const { from, key, time, payload, failure, id } = VIEWS[viewOf(call.state)]
  const down = isFinal(call.state)
  const values: SqlValue[] = [q]
  const conditions: string[] = []
  const bind = (value: SqlValue): string => {
    values.push(value)
    return '?'
  }

  if (call.cursor !== null) {
    const [place, after] = call.cursor.split(':') as [string, string]
    conditions.push(`(${key}, ${id}) ${down ? '<' : '>'} (${bind(Number(place))}, ${bind(after)})`)
  }
  const { after, before, text } = call.where ?? {}
  if (after !== undefined) conditions.push(`${time} >= ${bind(after)}`)
  if (before !== undefined) conditions.push(`${time} < ${bind(before)}`)
  if (text !== undefined) {
    conditions.push(`(instr(${payload}, ${bind(text)}) > 0 or instr(${failure}, ${bind(text)}) > 0)`)
  }
  const where = [from(call.state), ...conditions].join(' and ')
  const order = down ? `${key} desc, ${id} desc` : `${key}, ${id}`
  const rows = turn.db.all(`${where} order by ${order} limit ${bind(limit)}`, ...values)
  return rows.map((row) => (down ? archivedJob(turn, row) : hotJob(turn, row)))
}

/** Where the jobs of a state are found, by which number they are ordered, and which time is asked about. */
interface View {
  readonly from: (state: JobState) => string
  readonly key: string
  readonly time: string
  readonly payload: string
  readonly failure: string
  readonly id: string
}

const HOT = { payload: 'j.payload', failure: 'j.failure' }
const VIEWS: Readonly<Record<'waiting' | 'running' | 'finished', View>> = {
  waiting: {
    ...HOT,
    from: (state) => `select ${HOT_COLUMNS} from skep_waiting v cross join skep_jobs j on j.n = v.n
      left join skep_leases l on l.n = j.n where v.q = ? and v.state = ${STATE_NUMBER[state]}`,
    key: 'v.place',
    time: 'j.due_at',
    id: 'v.id',
  },
  running: {
    ...HOT,
    from: () => `select ${HOT_COLUMNS} from skep_leases l cross join skep_jobs j on j.n = l.n where l.q = ?`,
    key: 'l.started_at',
    time: 'l.started_at',
    id: 'j.id',
  },
  finished: {
    payload: 'z.payload',
    failure: 'z.failure',
    from: (state) =>
      `select ${ARCHIVE_COLUMNS} from skep_archive z where z.q = ? and z.state = ${STATE_NUMBER[state]}`,
    key: 'z.finished_at',
    time: 'z.finished_at',
    id: 'z.id',
  },
}

function viewOf(state: JobState): keyof typeof VIEWS {
  if (isFinal(state)) return 'finished'
  return state === 'running' ? 'running' : 'waiting'
}
