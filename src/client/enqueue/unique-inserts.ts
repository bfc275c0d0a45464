import type { StoreError } from '../../core/errors.ts'
import type { NewJob } from '../../core/jobs/job.ts'
import { type Runtime, sleep } from '../../runtime/runtime.ts'
import { atMost, LONGEST_RETRY_MS } from '../../runtime/supervise.ts'
import type { InsertResult } from '../../store/store.ts'
import { stillHeld } from '../jobs/given-up.ts'
import type { Enqueuer, Made } from './batcher.ts'

/** How many held keys are tried at the same time: each of them takes a connection for a moment. */
const MOST_PROBES = 2
const SHORTEST_WAIT_MS = 20
const LONGEST_WAIT_MS = 500

/** The store did not insert jobs because another transaction holds one of their keys. Never leaves this folder. */
export class BusyError extends Error {
  override readonly name = 'BusyError'
  override readonly cause: StoreError
  /** An earlier attempt may have inserted them. */
  readonly isUnknown: boolean

  constructor(cause: StoreError, isUnknown: boolean) {
    super(cause.message, { cause })
    this.cause = cause
    this.isUnknown = isUnknown
  }
}

/** Whether another transaction can hold something that this insert needs. */
export function mayWait(jobs: readonly NewJob[], again: boolean): boolean {
  return again || jobs.some((job) => job.unique !== null)
}

/**
 * Inserts jobs with unique keys or given ids. A transaction that some program left open can hold such a key for any
 * length of time, so these jobs never share a call with others, and calls with them wait for locks only briefly.
 *
 * The first insert that runs into a held key leads: it retries alone until the key is free or its time has passed.
 * Those that come after it and need the same key wait here, not in the store. Then they go together, or the next of
 * them leads.
 */
export class KeyedInserts {
  readonly #line: Enqueuer
  readonly #runtime: Runtime
  readonly #timeoutMs: number
  /** By name: resolves when the leader has finished, to its last error if the key is still held. */
  readonly #leaders = new Map<string, Promise<StoreError | null>>()
  #pending = 0
  #onIdle: (() => void)[] = []
  #probes = 0
  readonly #waitingProbes: (() => void)[] = []

  constructor(line: Enqueuer, { runtime, timeoutMs }: { runtime: Runtime; timeoutMs: number }) {
    this.#line = line
    this.#runtime = runtime
    this.#timeoutMs = timeoutMs
  }

  async insert(jobs: readonly NewJob[], again: boolean, made?: Made): Promise<readonly InsertResult[]> {
    this.#pending++
    try {
      return await this.#insert(jobs, again, made)
    } finally {
      this.#pending--
      if (this.#pending === 0) for (const resolve of this.#onIdle.splice(0)) resolve()
    }
  }

  /** Resolves when all that were handed in have an answer, or have had their time. */
  async close(error: unknown, timeoutMs = this.#timeoutMs + LONGEST_RETRY_MS): Promise<void> {
    const giveUpAt = this.#runtime.mono() + timeoutMs
    if (this.#pending > 0) {
      const idle = new Promise<void>((resolve) => this.#onIdle.push(resolve))
      await atMost(this.#runtime, timeoutMs, idle)
    }
    await this.#line.close(error, Math.max(0, giveUpAt - this.#runtime.mono()))
  }

  async #insert(jobs: readonly NewJob[], known: boolean, made?: Made): Promise<readonly InsertResult[]> {
    const giveUpAt = this.#runtime.mono() + this.#timeoutMs
    // Of several jobs it is not known which key is held, so nobody waits for the insert of all of them.
    const name = jobs.length === 1 ? (namesOf(jobs, known).next().value ?? null) : null
    let isUnknown = false
    let held: StoreError | null = null
    for (;;) {
      const leader = name === null ? undefined : this.#leaders.get(name)
      if (leader) {
        held = await leader
        if (held && this.#runtime.mono() >= giveUpAt) throw stillHeld(jobs, isUnknown, this.#timeoutMs, held)
      } else if (held) {
        return this.#lead({ name, giveUpAt, isUnknown, jobs, known, made })
      } else {
        try {
          return await this.#line.insert(jobs, known || isUnknown, made)
        } catch (error) {
          if (!(error instanceof BusyError)) throw error
          held = error.cause
          isUnknown ||= error.isUnknown
        }
      }
    }
  }

  async #lead(insert: {
    readonly name: string | null
    readonly giveUpAt: number
    readonly isUnknown: boolean
    readonly jobs: readonly NewJob[]
    readonly known: boolean
    readonly made: Made | undefined
  }): Promise<readonly InsertResult[]> {
    const { name, giveUpAt, jobs, known, made } = insert
    let { isUnknown } = insert
    let held: StoreError | null = null
    let finish = (_held: StoreError | null): void => {}
    const finished = new Promise<StoreError | null>((resolve) => {
      finish = resolve
    })
    if (name !== null) this.#leaders.set(name, finished)
    try {
      for (let waitMs = SHORTEST_WAIT_MS; ; waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 1.6)) {
        try {
          return await this.#probe(() => this.#line.insertAlone(jobs, known || isUnknown, made))
        } catch (error) {
          if (!(error instanceof BusyError)) throw error
          isUnknown ||= error.isUnknown
          const leftMs = giveUpAt - this.#runtime.mono()
          if (leftMs <= 0) {
            held = error.cause
            throw stillHeld(jobs, isUnknown, this.#timeoutMs, error.cause)
          }
          await sleep(this.#runtime, Math.min(leftMs, waitMs * (0.5 + this.#runtime.random())))
        }
      }
    } finally {
      if (name !== null) this.#leaders.delete(name)
      finish(held)
    }
  }

  async #probe<T>(send: () => Promise<T>): Promise<T> {
    if (this.#probes >= MOST_PROBES) await new Promise<void>((resolve) => this.#waitingProbes.push(resolve))
    else this.#probes++
    try {
      return await send()
    } finally {
      const next = this.#waitingProbes.shift()
      if (next) next()
      else this.#probes--
    }
  }
}

/** Inserts that have no key or id in common are in different groups. */
export function groupsOf<T extends { readonly jobs: readonly NewJob[]; readonly again: boolean }>(
  inserts: readonly T[],
): T[][] {
  const groupOf = new Map<string, T[]>()
  const groups = new Set<T[]>()
  for (const one of inserts) {
    const names = [...namesOf(one.jobs, one.again)]
    let group: T[] | undefined
    for (const name of names) {
      const other = groupOf.get(name)
      if (other === undefined || other === group) continue
      if (group) {
        for (const each of other)
          for (const known of namesOf(each.jobs, each.again)) groupOf.set(known, group)
        group.push(...other)
        groups.delete(other)
      }
      group ??= other
    }
    group ??= []
    group.push(one)
    groups.add(group)
    for (const name of names) groupOf.set(name, group)
  }
  return [...groups]
}

/** What others may hold of what these jobs need. */
function* namesOf(jobs: readonly NewJob[], again: boolean): Generator<string> {
  for (const { id, space, queue, unique } of jobs) {
    if (unique !== null) yield `${space} ${queue} ${unique.key}`
    if (again) yield id
  }
}
