import { StoreError } from '../../../src/core/errors.ts'
import type { Runtime } from '../../../src/runtime/runtime.ts'
import type { Store } from '../../../src/store/store.ts'

/** The operations of a store that can go wrong. */
export type Operation = Exclude<keyof Store, 'capabilities' | 'within' | 'notifier' | 'close'>

/**
 * before: it fails and nothing happened. after: it happened, and the answer is lost. lost: it never arrived, but
 * nobody can tell. reject: the store refuses the data. hang: no answer until healed, and nothing happened.
 * foreign: an error that no adapter should let through.
 */
export type Fault = 'before' | 'after' | 'lost' | 'reject' | 'hang' | 'foreign' | { readonly slowMs: number }

export interface Call {
  readonly operation: Operation
  readonly argument: unknown
  readonly failed: boolean
}

/** All of them: the compiler misses one that is left out. */
const ALL: Readonly<Record<Operation, true>> = {
  ready: true,
  migrate: true,
  examine: true,
  insert: true,
  claim: true,
  extend: true,
  settle: true,
  change: true,
  expired: true,
  get: true,
  list: true,
  count: true,
  counts: true,
  prune: true,
  hold: true,
  release: true,
  holds: true,
  setLimits: true,
  limits: true,
  lanes: true,
  attend: true,
  depart: true,
  workers: true,
  note: true,
  notes: true,
  putRecords: true,
  getRecords: true,
  listRecords: true,
  removeRecords: true,
  putSchedules: true,
  removeSchedules: true,
  pauseSchedules: true,
  resumeSchedules: true,
  getSchedules: true,
  listSchedules: true,
  dueSchedules: true,
  fireSchedules: true,
  moveRuns: true,
  getRuns: true,
  listRuns: true,
  countRuns: true,
  getGroups: true,
  outcomes: true,
  openMembers: true,
  tell: true,
  addMembers: true,
  auditGroups: true,
}

export const OPERATIONS: readonly Operation[] = Object.keys(ALL) as Operation[]

/** A store with bad days: another store, and what goes wrong with it. It also writes down what it was asked. */
export class FaultyStore {
  readonly store: Store
  readonly calls: Call[] = []
  closed = 0
  readonly #inner: Store
  readonly #runtime: Runtime
  readonly #planned = new Map<Operation, Fault[]>()
  readonly #lasting = new Map<Operation, Fault>()
  #choose: ((operation: Operation, argument: unknown) => Fault | null) | null = null
  #hanging: (() => void)[] = []

  constructor(inner: Store, runtime: Runtime) {
    this.#inner = inner
    this.#runtime = runtime
    const operations = Object.fromEntries(
      OPERATIONS.map((operation) => [operation, (argument: unknown) => this.#call(operation, argument)]),
    ) as unknown as Pick<Store, Operation>
    this.store = {
      ...inner,
      ...operations,
      close: async () => {
        this.closed++
        await inner.close()
      },
    }
  }

  /** The next calls of this operation go wrong, one after the other. */
  next(operation: Operation, ...faults: Fault[]): void {
    this.#planned.set(operation, [...(this.#planned.get(operation) ?? []), ...faults])
  }

  /** From now on these operations go wrong; without names, all of them. */
  break(fault: Fault, operations: readonly Operation[] = OPERATIONS): void {
    for (const operation of operations) this.#lasting.set(operation, fault)
  }

  /** Each call goes wrong as this function says. */
  choose(choose: (operation: Operation, argument: unknown) => Fault | null): void {
    this.#choose = choose
  }

  /** Everything works again. Calls that hang fail as if their connection had been cut. */
  heal(): void {
    this.#planned.clear()
    this.#lasting.clear()
    this.#choose = null
    for (const cut of this.#hanging.splice(0)) cut()
  }

  count(operation: Operation): number {
    return this.calls.filter((call) => call.operation === operation).length
  }

  /** What an operation was asked, call by call. */
  arguments<Name extends Operation>(operation: Name): Parameters<Store[Name]>[0][] {
    return this.calls
      .filter((call) => call.operation === operation)
      .map((call) => call.argument as Parameters<Store[Name]>[0])
  }

  async #call(operation: Operation, argument: unknown): Promise<unknown> {
    const fault =
      this.#planned.get(operation)?.shift() ??
      this.#lasting.get(operation) ??
      this.#choose?.(operation, argument) ??
      null
    this.calls.push({ operation, argument, failed: fault !== null && typeof fault !== 'object' })
    const run = (): Promise<unknown> =>
      (this.#inner[operation] as (argument: unknown) => Promise<unknown>).call(this.#inner, argument)

    if (fault === null) return run()
    if (typeof fault === 'object') {
      // Half of the time passes on the way there, half on the way back.
      await this.#wait(fault.slowMs / 2)
      const reply = await run()
      await this.#wait(fault.slowMs / 2)
      return reply
    }
    switch (fault) {
      case 'before':
        throw new StoreError('STORE_UNAVAILABLE', 'The store is away.')
      case 'after':
        await run()
        throw new StoreError('STORE_UNKNOWN', 'The answer was lost.')
      case 'lost':
        throw new StoreError('STORE_UNKNOWN', 'The call was lost.')
      case 'reject':
        throw new StoreError('STORE_REJECTED', 'The store refuses this.')
      case 'foreign':
        throw new TypeError('Not an error of ours.')
      case 'hang':
        await new Promise<void>((resolve) => this.#hanging.push(resolve))
        throw new StoreError('STORE_UNAVAILABLE', 'The connection was cut.')
    }
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#runtime.timer(ms, resolve))
  }
}
