import { SkepError, StoreError } from '../../src/core/errors.ts'
import type { NewGroup } from '../../src/core/flows/groups.ts'
import type { RunMove } from '../../src/core/flows/runs.ts'
import type { NewJob } from '../../src/core/jobs/job.ts'
import type { JobContext, JobHandle, Skep } from '../../src/index.ts'
import type { ReleaseCall } from '../../src/store/holds.ts'
import type { ChangeCall, ClaimCall, ClaimReply, Settlement, Store } from '../../src/store/store.ts'
import { type EndRecord, type HistoryRecord, SELECTION, type ToldRecord } from './history.ts'

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

/** A record as its writer knows it; place, time and process are added. */
export type Draft = DistributiveOmit<HistoryRecord, 'n' | 'at' | 'proc'>

/** What is known about the lease under which a job runs here. */
export interface KnownLease {
  readonly token: string
  readonly generation: number
  /** Which start of the job it is. */
  readonly starts: number
}

/** Writes the history of one process. `sink` must have kept a record when it returns. */
export class Recorder {
  readonly proc: string
  readonly now: () => number
  readonly #sink: (record: HistoryRecord) => void
  /** The latest in front. An answer may bring the next lease of a job before anybody heard how the last one ended. */
  readonly #leases = new Map<string, readonly KnownLease[]>()
  readonly #enqueued = new Set<string>()
  readonly #space: string
  /** Ids that callers choose, so that different jobs may be enqueued under one. */
  readonly chosen: ReadonlySet<string>
  #n: () => number

  constructor(options: {
    readonly proc: string
    readonly now: () => number
    readonly sink: (record: HistoryRecord) => void
    /** The next place in the order of records. @default counts by itself */
    readonly next?: () => number
    /** All its jobs are in this space. @default 'default' */
    readonly space?: string
    readonly chosen?: Iterable<string>
  }) {
    this.proc = options.proc
    this.now = options.now
    this.#sink = options.sink
    let n = 0
    this.#n = options.next ?? (() => n++)
    this.#space = options.space ?? 'default'
    this.chosen = new Set(options.chosen)
  }

  write(draft: Draft): void {
    const record = this.#space === 'default' ? draft : withSpace(draft, this.#space)
    this.#sink({ n: this.#n(), at: this.now(), proc: this.proc, ...record } as HistoryRecord)
  }

  /**
   * A job is about to be inserted. A repetition of the same insert is not written twice; but the next job of a chain has
   * one id, whichever run of the one before brings it.
   */
  enqueuing(job: NewJob, within?: string, by?: string): void {
    const call = this.chosen.has(job.id) ? `${job.queue} ${job.payload}` : null
    const key = `${job.id} ${within ?? ''} ${call ?? ''}`
    if (this.#enqueued.has(key)) return
    this.#enqueued.add(key)
    const { id, queue, payload, unique } = job
    const at = this.now()
    this.write({
      f: 'enqueue',
      type: 'invoke',
      id,
      queue,
      payload,
      notBefore: Math.max(at + job.delayMs, job.runAt ?? 0),
      ...(unique && { unique: { key: unique.key, scope: unique.scope, windowMs: unique.windowMs } }),
      ...(within !== undefined && { within }),
      ...(by !== undefined && { by }),
      ...(call !== null && { call }),
    })
  }

  /** What groups will enqueue when they fire. */
  puttingDown(groups: readonly NewGroup[] = []): void {
    for (const { id, jobs } of groups)
      for (const job of Object.values(jobs)) if (job) this.enqueuing(job, undefined, id)
  }

  /** What a move enqueues if it is accepted. */
  moving({ id, jobs, groups }: RunMove): void {
    for (const job of jobs) this.enqueuing(job, undefined, id)
    this.puttingDown(groups)
  }

  learn(job: KnownLease & { readonly id: string }): void {
    const { id, token, generation, starts } = job
    // An answer may come after several later leases of the same job.
    this.#leases.set(id, [{ token, generation, starts }, ...(this.#leases.get(id) ?? []).slice(0, 49)])
  }

  /** The lease that an event about this start tells of; null if there were several: a start may have been taken back. */
  tokenOf(id: string, start: number): string | null {
    const known = (this.#leases.get(id) ?? []).filter(({ starts }) => starts === start)
    return known.length === 1 ? (known[0] as KnownLease).token : null
  }

  /** The lease under which this process got this start of the job. */
  leaseOf(id: string, start: number): KnownLease {
    const known = this.#leases.get(id) ?? []
    const lease = known.find(({ starts }) => starts === start) ?? known[0]
    return lease ?? { token: 'unknown', generation: -1, starts: 0 }
  }
}

/** A job of another space than the usual one has the name of the space in front of its id, as in the audit. */
export function idIn(space: string, id: string): string {
  return space === 'default' ? id : `${space}/${id}`
}

function withSpace(draft: Draft, space: string): Draft {
  const record = draft as Draft & {
    readonly id?: string
    readonly enqueue?: readonly string[]
    readonly jobs?: readonly { readonly id: string }[]
  }
  const { id, enqueue, jobs } = record
  return {
    ...record,
    ...(id !== undefined && id !== SELECTION && { id: idIn(space, id) }),
    ...(enqueue && { enqueue: enqueue.map((one) => idIn(space, one)) }),
    ...(jobs && { jobs: jobs.map((job) => ({ ...job, id: idIn(space, job.id) })) }),
  } as Draft
}

/** A store that writes down what its process asks and is told. It goes around whatever makes the store fail. */
export function recordingStore(store: Store, recorder: Recorder): Store {
  let calls = 0
  const claiming = (call: Omit<ClaimCall, 'now'>): void => {
    const { token, workerId, leaseMs, limit } = call
    const asked = Object.fromEntries(call.sources.map((source) => [source.queue, source.limit]))
    recorder.write({
      f: 'claim',
      type: 'invoke',
      token,
      workerId,
      leaseMs,
      ...(!call.again && !call.ids && { limit, asked }),
    })
  }
  const claimed = (call: Omit<ClaimCall, 'now'>, reply: ClaimReply): void => {
    const { token, workerId, leaseMs } = call
    for (const job of reply.jobs) recorder.learn(job)
    const jobs = reply.jobs.map(({ id, generation, starts }) => ({ id, generation, starts }))
    recorder.write({ f: 'claim', type: 'ok', token, workerId, leaseMs, jobs })
  }
  const notClaimed = (call: Omit<ClaimCall, 'now'>, error: unknown): void => {
    const { token, workerId, leaseMs } = call
    recorder.write({ f: 'claim', type: typeOf(error), token, workerId, leaseMs })
  }

  return {
    ...store,

    // Whether it took effect is decided by the user's own commit.
    ...(store.within && {
      within: (tx: unknown) => {
        const inside = (store.within as NonNullable<Store['within']>)(tx)
        return {
          async insert(call) {
            for (const job of call.jobs) recorder.enqueuing(job)
            return inside.insert(call)
          },
          async settle(call) {
            for (const settlement of call.settlements) {
              for (const job of settlement.enqueue ?? []) recorder.enqueuing(job, settlement.token)
              recorder.write({ ...settling(settlement), type: 'invoke' })
            }
            const reply = await inside.settle(call)
            for (const settlement of call.settlements)
              recorder.write({ ...settling(settlement), type: 'info' })
            return reply
          },
          async addMembers(call) {
            for (const job of call.jobs) recorder.enqueuing(job)
            return inside.addMembers(call)
          },
        }
      },
    }),

    async insert(call) {
      for (const job of call.jobs) recorder.enqueuing(job)
      recorder.puttingDown(call.groups)
      return store.insert(call)
    },

    async addMembers(call) {
      for (const job of call.jobs) recorder.enqueuing(job)
      return store.addMembers(call)
    },

    async moveRuns(call) {
      for (const move of call.moves) recorder.moving(move)
      return store.moveRuns(call)
    },

    async claim(call) {
      claiming(call)
      try {
        const reply = await store.claim(call)
        claimed(call, reply)
        return reply
      } catch (error) {
        notClaimed(call, error)
        throw error
      }
    },

    async attend(call) {
      const { id: workerId, queues, space } = call.worker
      // A look is about one space.
      if (space !== 'default') return store.attend(call)
      const common = { f: 'attend', workerId, queues } as const
      recorder.write({ ...common, type: 'invoke' })
      try {
        await store.attend(call)
      } catch (error) {
        recorder.write({ ...common, type: typeOf(error) })
        throw error
      }
      recorder.write({ ...common, type: 'ok' })
    },

    async depart(call) {
      const common = { f: 'depart', workerId: call.workerId } as const
      recorder.write({ ...common, type: 'invoke' })
      await store.depart(call)
      recorder.write({ ...common, type: 'ok' })
    },

    async extend(call) {
      const sentAt = recorder.now()
      try {
        const reply = await store.extend(call)
        call.leases.forEach(({ id, token }, index) => {
          const status = reply.results[index]?.status ?? 'unknown'
          recorder.write({ f: 'extend', type: 'ok', id, token, sentAt, status })
        })
        return reply
      } catch (error) {
        for (const { id, token } of call.leases)
          recorder.write({ f: 'extend', type: typeOf(error), id, token, sentAt })
        throw error
      }
    },

    async settle(call) {
      for (const settlement of call.settlements) {
        for (const job of settlement.enqueue ?? []) recorder.enqueuing(job, settlement.token)
        recorder.puttingDown(settlement.groups)
        if (settlement.move) recorder.moving(settlement.move)
        recorder.write({ ...settling(settlement), type: 'invoke' })
      }
      if (call.claim) claiming(call.claim)
      try {
        const reply = await store.settle(call)
        call.settlements.forEach((settlement, index) => {
          const result = reply.results[index] ?? { status: 'unknown' }
          recorder.write({
            ...settling(settlement),
            type: 'ok',
            status: result.status,
            ...(result.status === 'ok' && { state: result.state }),
          })
        })
        if (call.claim && reply.claimed) claimed(call.claim, reply.claimed)
        return reply
      } catch (error) {
        for (const settlement of call.settlements)
          recorder.write({ ...settling(settlement), type: typeOf(error) })
        if (call.claim) notClaimed(call.claim, error)
        throw error
      }
    },

    async change(call) {
      if (isUpkeep(call)) return store.change(call)
      const common = { f: 'command', call: calls++, action: call.action } as const
      for (const id of targets(call)) recorder.write({ ...common, type: 'invoke', id })
      try {
        const reply = await store.change(call)
        for (const result of reply.results) {
          const { id, status } = result
          const reason = status === 'refused' ? { reason: result.reason } : {}
          recorder.write({ ...common, type: 'ok', id, result: status, ...reason })
        }
        if (!('ids' in call.target)) recorder.write({ ...common, type: 'ok', id: SELECTION })
        return reply
      } catch (error) {
        for (const id of targets(call)) recorder.write({ ...common, type: typeOf(error), id })
        throw error
      }
    },

    async counts(call) {
      // The audit knows of one space.
      if (call.queues !== undefined || call.space !== 'default') return store.counts(call)
      const common = { f: 'counts', call: calls++ } as const
      recorder.write({ ...common, type: 'invoke' })
      try {
        const reply = await store.counts(call)
        recorder.write({ ...common, type: 'ok', now: reply.now, counts: reply.queues })
        return reply
      } catch (error) {
        recorder.write({ ...common, type: typeOf(error) })
        throw error
      }
    },

    async hold(call) {
      const asked = calls++
      const write = (type: 'invoke' | 'fail' | 'info'): void => {
        for (const hold of call.holds) recorder.write({ ...holding('hold', asked, hold), type })
      }
      write('invoke')
      try {
        const reply = await store.hold(call)
        for (const hold of reply.holds)
          recorder.write({ ...holding('hold', asked, hold), type: 'ok', until: hold.until })
        return reply
      } catch (error) {
        write(typeOf(error))
        throw error
      }
    },

    async release(call) {
      const asked = calls++
      const write = (type: 'invoke' | 'ok' | 'fail' | 'info'): void => {
        for (const hold of call.holds) recorder.write({ ...holding('release', asked, hold), type })
      }
      write('invoke')
      try {
        const reply = await store.release(call)
        write('ok')
        return reply
      } catch (error) {
        write(typeOf(error))
        throw error
      }
    },
  }
}

function holding(
  action: 'hold' | 'release',
  call: number,
  { kind, space, queue, lane }: ReleaseCall['holds'][number],
): Extract<Draft, { f: 'hold' }> {
  return { f: 'hold', type: 'invoke', action, call, kind, space, queue, lane }
}

function settling(settlement: Settlement): Extract<Draft, { f: 'settle' }> {
  const { id, token, verdict, enqueue } = settlement
  return {
    f: 'settle',
    type: 'invoke',
    id,
    token,
    to: verdict.to,
    rescue: (settlement as { rescue?: boolean }).rescue ?? false,
    value: verdict.to === 'done' ? verdict.result : null,
    ...(enqueue && { enqueue: enqueue.map((job) => job.id) }),
    ...(verdict.lane && 'waitMs' in verdict.lane && { waitMs: verdict.lane.waitMs }),
  }
}

/**
 * Overdue jobs are made ready by the system and not by a person, so no promise is different after it. That it is not written makes
 * the checker stricter: nothing excuses it when a job becomes ready too early by it.
 */
function isUpkeep({ action, target }: ChangeCall): boolean {
  return action === 'promote' && !('ids' in target) && target.where?.before !== undefined
}

function targets({ target }: ChangeCall): readonly string[] {
  return 'ids' in target ? target.ids : [SELECTION]
}

/** What an error says about the effect of what failed. */
function typeOf(error: unknown): 'fail' | 'info' {
  return error instanceof StoreError && error.effect === 'none' ? 'fail' : 'info'
}

/**
 * Waits for an enqueue and writes what its caller was told. Resolves to the handles, or to null if it failed; only
 * an error that is not about the store is thrown.
 */
export async function recordedEnqueue<Result>(
  recorder: Recorder,
  queue: string,
  enqueue: Promise<JobHandle<Result> | readonly JobHandle<Result>[]>,
): Promise<readonly JobHandle<Result>[] | null> {
  const common = { f: 'enqueue', queue, payload: '', notBefore: 0 } as const
  try {
    const answer = await enqueue
    const handles = Array.isArray(answer) ? (answer as JobHandle<Result>[]) : [answer as JobHandle<Result>]
    for (const { id } of handles) recorder.write({ ...common, type: 'ok', id })
    return handles
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    for (const id of (error.facts as { ids?: readonly string[] }).ids ?? [])
      recorder.write({ ...common, type: typeOf(error), id })
    return null
  }
}

/** The same for an enqueue with an id that its caller chose. */
export async function recordedChoice(
  recorder: Recorder,
  asked: { readonly id: string; readonly queue: string; readonly payload: string },
  enqueue: Promise<JobHandle<unknown>>,
): Promise<void> {
  const common = { f: 'enqueue', ...asked, notBefore: 0, call: `${asked.queue} ${asked.payload}` } as const
  try {
    const { duplicate } = await enqueue
    recorder.write({ ...common, type: 'ok', known: duplicate })
  } catch (error) {
    if (!(error instanceof SkepError)) throw error
    recorder.write({ ...common, type: error.code === 'ID_TAKEN' ? 'fail' : typeOf(error) })
  }
}

/** Writes that a handler began. Returns what writes its end; an abort is written by itself. */
export function recordStart(
  recorder: Recorder,
  job: JobContext<unknown, unknown>,
): (how: EndRecord['how'], value?: unknown, isDeaf?: boolean) => void {
  const { id, queue, attempt } = job
  const { token, generation } = recorder.leaseOf(id, attempt)
  recorder.write({
    f: 'start',
    type: 'ok',
    id,
    queue,
    token,
    generation,
    attempt,
    payload: JSON.stringify(job.payload),
  })
  let ended: EndRecord['how'] | null = null
  const end = (how: EndRecord['how'], value?: unknown, isDeaf = false): void => {
    // What a handler says after it was told to stop may still count.
    if (ended !== null && (ended !== 'aborted' || how === 'aborted')) return
    ended = how
    recorder.write({
      f: 'end',
      type: 'ok',
      id,
      token,
      how,
      value: value === undefined ? null : JSON.stringify(value),
      ...(how === 'aborted' && { reason: String((job.signal.reason as { kind?: unknown }).kind) }),
      ...(isDeaf && { isDeaf }),
    })
  }
  job.signal.addEventListener('abort', () => end('aborted'), { once: true })
  return end
}

const TOLD = ['finished', 'error', 'timeout', 'lost', 'dead', 'cancelled', 'snoozed'] as const

/** Writes everything that listeners of this process hear. */
export function recordEvents(recorder: Recorder, skep: Skep): void {
  for (const event of TOLD) {
    skep.on(event, (what) => {
      const id = what.job.id
      // Whoever rescued a job never held it, and tells of its end too.
      const isOwn = event !== 'lost' && event !== 'dead' && event !== 'cancelled'
      const token = isOwn ? recorder.tokenOf(id, what.job.attempt) : null
      const value = event === 'finished' ? jsonOf((what as { result?: unknown }).result) : null
      recorder.write({ f: 'told', type: 'ok', event, id, token, value } satisfies Omit<
        ToldRecord,
        'n' | 'at' | 'proc'
      >)
    })
  }
}

function jsonOf(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value)
}
