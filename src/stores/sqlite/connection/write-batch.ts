import { JOB_STATES, type JobState } from '../../../core/jobs/job.ts'
import { DUE_WIDTHS, SECOND_MS, startOf } from '../../shared/due-counts.ts'
import { Members } from '../flows/members.ts'
import type { HeldJobs } from '../jobs/leases.ts'
import { Discarded } from '../jobs/recent-ids.ts'
import { Lanes } from '../lanes/lanes.ts'
import type { QueueIds } from '../lanes/queue-ids.ts'
import type { Rules } from '../lanes/rules.ts'
import type { Handle } from './connection.ts'
import { Intake } from './insert-buffer.ts'

/** The number of each state in the tables: its place in the list of states. */
export const STATE_NUMBER: Readonly<Record<JobState, number>> = Object.freeze(
  Object.fromEntries(JOB_STATES.map((state, number) => [state, number])),
) as Record<JobState, number>

const COUNTED = JOB_STATES.map((state) => `${state} = ${state} + ?`).join(', ')
const ADD_DUES = `insert into skep_dues (q, width, start, jobs) values (?, ?, ?, ?)
  on conflict (q, width, start) do update set jobs = jobs + excluded.jobs`
const DROP_EMPTY = 'delete from skep_dues where q = ? and width = ? and start = ? and jobs = 0'
const ADD_COUNTS = `update skep_queues set ${COUNTED} where q = ?`

/**
 * One transaction's worth of work on one connection. It gathers what all calls of the transaction have in
 * common, so that it is written once: new jobs, lanes, counts and discarded ids.
 */
export class Turn {
  readonly db: Handle
  readonly now: number
  readonly queues: QueueIds
  readonly held: HeldJobs
  readonly discarded: Discarded
  readonly intake: Intake = new Intake()
  readonly lanes: Lanes
  readonly members: Members
  readonly #counts = new Map<number, number[]>()
  /** Delayed jobs that came and went, by queue and due time. */
  readonly #dues = new Map<number, Map<number, number>>()
  #newestArchived: string | null | undefined

  constructor(db: Handle, now: number, queues: QueueIds, held: HeldJobs, rules: Rules) {
    this.db = db
    this.now = now
    this.queues = queues
    this.held = held
    this.discarded = new Discarded(db)
    this.lanes = new Lanes(db, rules, queues)
    this.members = new Members(db)
  }

  /** Adds to how many jobs a queue has in a state; of delayed ones {@link countDelayed}. */
  count(q: number, state: Exclude<JobState, 'delayed'> | number, by: number): void {
    this.#count(q, typeof state === 'number' ? state : STATE_NUMBER[state], by)
  }

  /** Adds to how many delayed jobs a queue has, of which all are due at one time. */
  countDelayed(q: number, dueAt: number, by: number): void {
    this.#count(q, STATE_NUMBER.delayed, by)
    const dues = this.#dues.get(q) ?? new Map<number, number>()
    this.#dues.set(q, dues)
    const second = startOf(dueAt, SECOND_MS)
    dues.set(second, (dues.get(second) ?? 0) + by)
  }

  #count(q: number, at: number, by: number): void {
    let counts = this.#counts.get(q)
    if (!counts) {
      counts = JOB_STATES.map(() => 0)
      this.#counts.set(q, counts)
    }
    counts[at] = (counts[at] as number) + by
  }

  /**
   * The greatest id among the archived. Ids grow with time, so a new job's id is nearly always greater and
   * need not be looked for there.
   */
  get newestArchived(): string {
    if (this.#newestArchived === undefined) {
      const [newest] = this.db.get('select max(id) from skep_archive') ?? []
      this.#newestArchived = newest as string | null
    }
    return this.#newestArchived ?? ''
  }

  /** Something was put in the archive. */
  archived(): void {
    this.#newestArchived = undefined
  }

  /** Writes what was gathered. The last thing before the commit. */
  finish(): void {
    this.intake.write(this)
    this.lanes.write()
    for (const [q, counts] of this.#counts) {
      if (counts.some((by) => by !== 0)) this.db.run(ADD_COUNTS, ...counts, q)
    }
    this.#counts.clear()
    for (const [q, dues] of this.#dues) this.#writeDues(q, dues)
    this.#dues.clear()
    this.discarded.write()
  }

  #writeDues(q: number, seconds: ReadonlyMap<number, number>): void {
    for (const width of DUE_WIDTHS) {
      const parts = new Map<number, number>()
      for (const [second, by] of seconds) {
        const start = startOf(second, width)
        parts.set(start, (parts.get(start) ?? 0) + by)
      }
      for (const [start, by] of parts) {
        if (by !== 0) this.db.run(ADD_DUES, q, width, start, by)
        if (by < 0) this.db.run(DROP_EMPTY, q, width, start)
      }
    }
  }
}
