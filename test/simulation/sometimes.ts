import { isFinal } from '../../src/core/jobs/job.ts'
import type { AuditEntry, CommandRecord, HistoryRecord, SettleRecord } from '../proof/history.ts'
import { TENANT } from './app.ts'
import type { TrialKind } from './features/index.ts'
import { LEFT } from './features/unhandled.ts'
import { SOMETIMES_OF_FLOWS } from './flow-sometimes.ts'
import { keptBack } from './kept-back.ts'
import type { StoreName } from './stores.ts'
import type { TrialResult } from './trial.ts'

/**
 * Rare states that the trials together must have been in: a simulator that never gets there proves nothing about
 * them. Each is looked for in what a trial left behind. A new feature adds its own.
 */
export interface Sometimes {
  readonly what: string
  readonly in: (trial: TrialResult) => boolean
  /** Possible on this store alone. */
  readonly only?: StoreName
}

type Change = AuditEntry & { readonly before: NonNullable<AuditEntry['before']> }

const some =
  (test: (entry: Change) => boolean) =>
  ({ history }: TrialResult): boolean =>
    history.audit.some((entry) => entry.before !== null && test(entry as Change))
const record =
  <F extends HistoryRecord['f']>(f: F, test: (record: Extract<HistoryRecord, { f: F }>) => boolean) =>
  ({ history }: TrialResult): boolean =>
    history.records.some((entry) => entry.f === f && test(entry as Extract<HistoryRecord, { f: F }>))
const happened =
  (f: 'fault' | 'crash' | 'stall', test: (what: string, trial: TrialResult) => boolean = () => true) =>
  (trial: TrialResult): boolean =>
    trial.history.records.some((entry) => entry.f === f && 'what' in entry && test(entry.what, trial))
const fault = (what: string): ((trial: TrialResult) => boolean) => happened('fault', (it) => it === what)
const command = (
  action: CommandRecord['action'],
  result: CommandRecord['result'],
): ((trial: TrialResult) => boolean) =>
  record('command', (entry) => entry.action === action && entry.type === 'ok' && entry.result === result)
const counted = (
  name: 'errors' | 'timeouts' | 'lost' | 'snoozes',
  test: (entry: Change) => boolean = () => true,
): ((trial: TrialResult) => boolean) =>
  some(
    (entry) =>
      entry.after !== null &&
      (entry.after.counters?.[name] ?? 0) > (entry.before.counters?.[name] ?? 0) &&
      test(entry),
  )

/** A settlement of which nobody knew whether it had happened, sent again and accepted. */
function settledAgain({ history }: TrialResult, test: (record: SettleRecord) => boolean): boolean {
  const unknown = new Set<string>()
  for (const entry of history.records) {
    if (entry.f !== 'settle' || entry.rescue || !test(entry)) continue
    if (entry.type === 'info') unknown.add(entry.token + entry.id)
    else if (entry.type === 'ok' && entry.status === 'ok' && unknown.has(entry.token + entry.id)) return true
  }
  return false
}

function endedInGrace(records: readonly HistoryRecord[], how: string): boolean {
  const told = new Set<string>()
  for (const entry of records) {
    if (entry.f !== 'end') continue
    if (entry.reason === 'stop') told.add(entry.token + entry.id)
    else if (entry.how === how && !entry.isDeaf && told.has(entry.token + entry.id)) return true
  }
  return false
}

const OF_JOBS: readonly Sometimes[] = [
  {
    what: 'a schedule made a job',
    in: ({ history }) => history.audit.some(({ before, after }) => before === null && after?.slot != null),
  },
  {
    what: 'the next job of a schedule took the place of one that waited',
    in: some(
      ({ before, after }) =>
        before.slot != null && before.state !== 'running' && after?.state === 'cancelled',
    ),
  },
  {
    what: 'an answer to a fire of schedules was lost',
    in: fault('unanswered fireSchedules'),
  },
  {
    what: 'a lease was rescued',
    in: record('settle', (entry) => entry.rescue && entry.status === 'ok'),
  },
  {
    what: 'two rescuers met',
    in: record('settle', (entry) => entry.rescue && entry.status === 'refused'),
  },
  {
    what: 'a late holder was refused',
    in: record('settle', (entry) => !entry.rescue && entry.status === 'refused'),
  },
  {
    what: 'a renewal was refused',
    in: record('extend', (entry) => entry.status === 'refused'),
  },
  { what: 'a settlement was repeated and accepted', in: (trial) => settledAgain(trial, () => true) },
  {
    what: 'a settlement that removed its job was repeated and accepted',
    in: (trial) =>
      settledAgain(trial, (entry) => entry.to === 'done' && trial.history.final.get(entry.id) === undefined),
  },
  { what: "an enqueue's answer was lost", in: fault('unanswered insert') },
  { what: 'an outcome waited for a key that another program held', in: fault('held settle') },
  {
    what: 'an outcome was saved after a key that it needs had been held, and its answer had been lost',
    in: (trial) =>
      fault('held settle')(trial) && settledAgain(trial, ({ enqueue = [] }) => enqueue.length > 0),
  },
  {
    what: 'an enqueue nobody knew the fate of turned out to exist',
    in: ({ report }) => report.counts.recovered > 0,
  },
  {
    what: 'an enqueue failed for certain',
    in: record('enqueue', (entry) => entry.type === 'fail'),
  },
  { what: "a claim's answer was lost", in: fault('unanswered claim') },
  { what: 'a call arrived after its caller had given it up', in: fault('late settle') },
  { what: 'a call was never answered', in: fault('hanging settle') },
  {
    what: 'a handler succeeded in the grace of a stop',
    in: ({ history }) => endedInGrace(history.records, 'returned'),
  },
  {
    what: 'a handler snoozed in the grace of a stop',
    in: ({ history }) => endedInGrace(history.records, 'snoozed'),
  },
  {
    what: 'every worker confirmed a hold',
    in: record('confirm', ({ everywhere }) => everywhere),
  },
  { what: 'a process died', in: happened('crash') },
  {
    what: 'a process stood still for longer than a lease',
    in: happened('stall', (ms, { swarm }) => Number(ms) > swarm.leaseMs),
  },
  {
    what: 'a job ran again after its handler had returned',
    in: ({ history }) => {
      const returned = new Set<string>()
      for (const entry of history.records) {
        if (entry.f === 'end' && entry.how === 'returned') returned.add(entry.id)
        if (entry.f === 'start' && returned.has(entry.id)) return true
      }
      return false
    },
  },
  { what: 'a running job was asked to stop', in: command('cancel', 'requested') },
  {
    what: 'a job that was asked to stop would have run again',
    in: some(({ before, after }) => before.cancelReason !== null && after?.state === 'cancelled'),
  },
  { what: 'a waiting job was cancelled', in: command('cancel', 'ok') },
  { what: 'a waiting job was buried', in: command('bury', 'ok') },
  { what: 'a delayed job was promoted', in: command('promote', 'ok') },
  {
    what: 'a job that no claim had made ready was counted as ready',
    in: record('counts', ({ counts = [] }) => counts.some(({ overdue }) => overdue > 0)),
  },
  {
    what: 'the oldest job of a queue with lanes was ready',
    in: record('counts', ({ counts = [], now = 0 }) =>
      counts.some(({ queue, oldestDueAt }) => queue === 'laned' && oldestDueAt !== null && oldestDueAt < now),
    ),
  },
  { what: 'a waiting job got another priority', in: command('prioritize', 'ok') },
  { what: 'a job was removed', in: command('remove', 'ok') },
  {
    what: 'a finished job was retried',
    in: some(({ before, after }) => after !== null && after.generation > before.generation),
  },
  {
    what: 'several jobs of a strict lane were retried at once, and not in the order in which they had ended',
    in: ({ history }) => {
      const born = new Map<string, number>()
      const ended = new Map<string, number>()
      const last = new Map<string, AuditEntry>()
      return history.audit.some((entry) => {
        const { id, at, before, after, seq } = entry
        if (before === null) born.set(id, at)
        if (after !== null && isFinal(after.state)) ended.set(id, seq)
        if (!before || !after || before.queue !== 'ordered' || after.generation === before.generation)
          return false
        const lane = after.lane ?? ''
        const other = last.get(lane)
        last.set(lane, entry)
        if (!other || other.at !== at) return false
        const isBefore = (places: ReadonlyMap<string, number>): boolean =>
          (places.get(other.id) ?? 0) < (places.get(id) ?? 0)
        return born.get(other.id) !== born.get(id) && isBefore(born) !== isBefore(ended)
      })
    },
  },
  { what: 'a handler failed', in: counted('errors') },
  { what: 'a handler ran out of time', in: counted('timeouts') },
  { what: 'a handler asked to be called later', in: counted('snoozes') },
  {
    what: 'a job died because its workers did',
    in: counted('lost', ({ after }) => after?.state === 'dead'),
  },
  {
    what: 'a job was thrown away because its worker died',
    in: ({ history }) =>
      history.records.some(
        (entry) =>
          entry.f === 'settle' && entry.rescue && entry.status === 'ok' && !history.final.has(entry.id),
      ),
  },
  {
    what: 'a job was handed back unrun',
    in: some(
      ({ before, after }) =>
        before.state === 'running' &&
        after?.state === 'ready' &&
        (after.counters?.starts ?? 0) < (before.counters?.starts ?? 0),
    ),
  },
  {
    what: 'jobs enqueued by a run that was not accepted never came into being',
    in: ({ history }) => {
      const born = new Set(history.audit.map(({ id }) => id))
      return history.records.some(
        (entry) => entry.f === 'enqueue' && entry.within !== undefined && !born.has(entry.id),
      )
    },
  },
  {
    what: 'an enqueue was a duplicate',
    in: ({ history }) => {
      const born = new Set(history.audit.map(({ id }) => id))
      return history.records.some(
        (entry) =>
          entry.f === 'enqueue' &&
          entry.type === 'invoke' &&
          entry.unique !== undefined &&
          !born.has(entry.id),
      )
    },
  },
  {
    what: 'an id of its own was taken by a job of another queue',
    in: record('enqueue', (entry) => entry.type === 'fail' && entry.call !== undefined),
  },
  {
    what: 'an id of its own was found',
    in: record('enqueue', (entry) => entry.known === true),
  },
  {
    what: 'two jobs had one id in two spaces, and both were done',
    in: ({ history }) =>
      [...history.final].some(
        ([id, { space, state }]) =>
          space === TENANT &&
          state === 'done' &&
          history.final.get(id.slice(TENANT.length + 1))?.state === 'done',
      ),
  },
  {
    what: 'a waiting job got a new time by its unique key',
    in: some(
      ({ before, after }) =>
        before.unique != null &&
        !isFinal(before.state) &&
        after?.token === null &&
        after.dueAt > before.dueAt,
    ),
  },
  {
    what: 'a job waited while no worker handled its queue, and ran when one had appeared',
    in: ({ history }) => {
      const left = history.records.filter((entry) => entry.f === 'fault' && entry.what === LEFT)
      const seldom = history.audit.filter(({ before, after }) => (before ?? after)?.queue === 'seldom')
      return left.some(({ n }) => {
        const waiting = new Map<string, string | undefined>()
        for (const entry of seldom) if ((entry.n ?? 0) < n) waiting.set(entry.id, entry.after?.state)
        return seldom.some(
          (entry) =>
            (entry.n ?? 0) > n && waiting.get(entry.id) === 'ready' && entry.after?.state === 'running',
        )
      })
    },
  },
  {
    what: 'a finished job was pruned',
    in: some(({ before, after }) => isFinal(before.state) && after === null),
  },
  {
    what: 'a worker stopped while the store was away',
    in: ({ history }) => {
      const stopping = new Set<string>()
      for (const entry of history.records) {
        if (entry.f === 'stop') {
          if (entry.type === 'invoke') stopping.add(entry.proc)
          else stopping.delete(entry.proc)
        } else if (entry.f === 'fault' && stopping.has(entry.proc)) return true
      }
      return false
    },
  },
  { what: 'somebody waited for a result and got it', in: record('told', ({ event }) => event === 'result') },
  { what: 'a full lane kept a job back', in: keptBack('full lane') },
  { what: 'a full queue kept a job back', in: keptBack('full queue') },
  { what: 'one queue used up a shared limit and kept the other back', in: keptBack('shared limit') },
  { what: 'a rate kept a job back', in: keptBack('rate') },
  {
    what: 'the first job of a strict lane failed, and nothing overtook it',
    in: keptBack('a retried head stayed in front'),
  },
  {
    what: 'the first job of a strict lane lost its worker and ran again before all others',
    in: keptBack('a lost head stayed in front'),
  },
  { what: 'a throttled lane waited while another went on', in: keptBack('a throttled lane waited') },
  { what: 'a claim met a hold', in: keptBack('hold') },
  { what: 'a job that was held back ran after the release', in: keptBack('ran after a hold') },
  { what: 'a hold ended by itself', in: keptBack('a hold ended') },
  { what: "a hold's answer was lost", in: fault('unanswered hold') },
  { what: 'a release arrived late', in: fault('late release') },
  { what: 'no hint ever arrived', in: ({ swarm }) => swarm.hints === 'silent' },
  { what: 'hints were lost, doubled and late', in: ({ swarm }) => swarm.hints === 'flaky' },
  {
    what: "a user's transaction was rolled back",
    only: 'sqlite',
    in: record('enqueue', (entry) => entry.type === 'fail' && entry.payload === 'rolled back'),
  },
  {
    what: 'a handler completed its job in its own transaction',
    only: 'sqlite',
    in: some(({ before, after }) => before.queue === 'exact' && after?.state === 'done'),
  },
]

export const SOMETIMES: Readonly<Record<TrialKind, readonly Sometimes[]>> = {
  jobs: OF_JOBS,
  flows: SOMETIMES_OF_FLOWS,
}

/** Counts in how many trials each state was seen. */
export class SometimesCounter {
  readonly #kind: TrialKind
  readonly #seen = new Map<string, number>()

  constructor(kind: TrialKind) {
    this.#kind = kind
  }

  add(trial: TrialResult): void {
    for (const { what, in: isIn } of SOMETIMES[this.#kind]) {
      if (isIn(trial)) this.#seen.set(what, (this.#seen.get(what) ?? 0) + 1)
    }
  }

  /** How often each was seen on these stores, the rarest first. */
  table(stores: readonly StoreName[]): { readonly what: string; readonly trials: number }[] {
    return SOMETIMES[this.#kind]
      .filter(({ only }) => only === undefined || stores.includes(only))
      .map(({ what }) => ({ what, trials: this.#seen.get(what) ?? 0 }))
      .sort((a, b) => a.trials - b.trials)
  }

  /** What was never seen. */
  never(stores: readonly StoreName[]): string[] {
    return this.table(stores)
      .filter(({ trials }) => trials === 0)
      .map(({ what }) => what)
  }
}
