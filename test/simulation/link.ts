import { StoreError } from '../../src/core/errors.ts'
import type { NewJob } from '../../src/core/jobs/job.ts'
import type { InsertCall, SettleCall, Store } from '../../src/store/store.ts'
import { OPERATIONS, type Operation } from '../worker/support/faulty-store.ts'
import type { Process, World } from './world.ts'

/**
 * What can go wrong with one call:
 * refused     it did not arrive, and that is known
 * lost        it did not arrive, and nobody knows
 * unanswered  it arrived and had its effect; the answer is lost
 * late        the caller hears that nobody knows, and then it arrives after all
 * hanging     it may arrive or not, and no answer ever comes
 * slow        it takes its time both ways
 */
export type CallFault = 'refused' | 'lost' | 'unanswered' | 'late' | 'hanging' | 'slow'

export const CALL_FAULTS: readonly CallFault[] = ['refused', 'lost', 'unanswered', 'late', 'hanging', 'slow']

export interface LinkOptions {
  readonly world: World
  readonly process: Process
  /** The real thing. */
  readonly store: Store
  /** The store runs in the process itself: what was not written when it dies never is. */
  readonly isEmbedded: boolean
  /** How long a call takes each way when all is well. */
  readonly latencyMs: number
  readonly onFault: (fault: CallFault | 'away' | 'held', operation: Operation) => void
  /** Whether an open transaction of another program holds this key; null: no store of this trial waits for such. */
  readonly isHeld: ((key: string) => boolean) | null
}

/** How long a call waits for a key that is held, if it does not say. */
const CALL_MS = 15_000

/** What a call inserts, and how long it waits for the keys of that. */
function insertedBy(
  operation: Operation,
  argument: unknown,
): { readonly jobs: readonly NewJob[]; readonly waitMs: number } | null {
  if (operation !== 'insert' && operation !== 'settle') return null
  const { lockWaitMs = CALL_MS } = argument as InsertCall | SettleCall
  const jobs =
    operation === 'insert'
      ? (argument as InsertCall).jobs
      : (argument as SettleCall).settlements.flatMap(({ enqueue = [] }) => enqueue)
  return { jobs, waitMs: lockWaitMs }
}

/** What may happen to this operation, if that may not. */
function possible(fault: CallFault, operation: Operation): CallFault {
  // An insert that failed has happened by then or never will: the stores' connections see to that.
  if (fault === 'late' && (operation === 'insert' || operation === 'addMembers')) return 'unanswered'
  // Opening may take minutes, and nothing but patience would be tested.
  if (fault === 'hanging' && operation === 'ready') return 'lost'
  return fault
}

/** The way from one process to the store, and what happens on it. */
export class Link {
  readonly store: Store
  readonly #options: LinkOptions
  /** What goes wrong with the next call. */
  luck: (operation: Operation) => CallFault | null = () => null
  /** Nothing gets through. */
  isCut = false
  #underWay = 0

  /** Calls with which something went wrong and that will still arrive, whatever became of their callers. */
  get underWay(): number {
    const { process, isEmbedded } = this.#options
    return isEmbedded && process.isDead ? 0 : this.#underWay
  }

  constructor(options: LinkOptions) {
    this.#options = options
    const calls = Object.fromEntries(
      OPERATIONS.map((operation) => [operation, (argument: unknown) => this.#call(operation, argument)]),
    ) as unknown as Pick<Store, Operation>
    const { capabilities } = options.store
    this.store = {
      ...options.store,
      ...calls,
      capabilities: options.isHeld === null ? capabilities : { ...capabilities, waitsForKeys: true },
    }
  }

  #call(operation: Operation, argument: unknown): Promise<unknown> {
    const { world, process, latencyMs, onFault } = this.#options
    const drawn = this.isCut ? 'away' : this.luck(operation)
    const fault = drawn === 'away' || drawn === null ? drawn : possible(drawn, operation)
    if (fault !== null) onFault(fault, operation)
    const pace = fault === 'slow' ? 3_000 : latencyMs
    const way = (): number => world.random.next() * pace

    return new Promise((resolve, reject) => {
      const answer = (act: () => void): void => void world.after(way(), process, act, true)
      const fail = (code: 'STORE_UNAVAILABLE' | 'STORE_UNKNOWN', message: string): void =>
        answer(() => reject(new StoreError(code, message)))

      switch (fault) {
        case 'away':
        case 'refused':
          fail('STORE_UNAVAILABLE', 'The store is away.')
          return
        case 'lost':
          fail('STORE_UNKNOWN', 'The call was lost.')
          return
        case 'unanswered':
          this.#arrive(way(), operation, argument, () => fail('STORE_UNKNOWN', 'The answer was lost.'))
          return
        case 'late':
          fail('STORE_UNKNOWN', 'The connection was cut.')
          this.#arrive(way() + world.random.int(1, 5_000), operation, argument, () => {})
          return
        case 'hanging':
          if (world.random.chance(0.5)) this.#arrive(way(), operation, argument, () => {})
          return
        case 'slow':
        case null:
          this.#arrive(
            way(),
            operation,
            argument,
            (reply) => answer(() => ('error' in reply ? reject(reply.error) : resolve(reply.value))),
            fault === 'slow',
          )
      }
    })
  }

  /** The call reaches the store, and `onReply` hears what the store said. */
  #arrive(
    afterMs: number,
    operation: Operation,
    argument: unknown,
    onReply: (reply: { readonly value: unknown } | { readonly error: unknown }) => void,
    isOdd = true,
  ): void {
    const { world, process, store, isEmbedded, isHeld, onFault } = this.#options
    if (isOdd) this.#underWay++
    const inserted = isHeld === null ? null : insertedBy(operation, argument)
    const needsHeld = (): boolean =>
      inserted?.jobs.some(({ unique }) => unique !== null && isHeld?.(unique.key)) === true
    const refuse = (): void => {
      if (isOdd) this.#underWay--
      onReply({ error: new StoreError('STORE_BUSY', 'Another transaction holds a key.') })
    }
    const arrive = (): void => {
      if (inserted !== null && needsHeld()) {
        onFault('held', operation)
        world.after(inserted.waitMs, isEmbedded ? process : null, refuse, true)
        return
      }
      if (isOdd) this.#underWay--
      const run = store[operation] as (argument: unknown) => Promise<unknown>
      run.call(store, argument).then(
        (value) => onReply({ value }),
        (error: unknown) => onReply({ error }),
      )
    }
    world.after(afterMs, isEmbedded ? process : null, arrive, true)
  }
}
