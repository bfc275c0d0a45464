import { StoreError } from '../core/errors.ts'
import { type Runtime, sleep } from '../runtime/runtime.ts'
import { retryDelayMs } from '../runtime/supervise.ts'
import type { RecordStore } from '../store/records.ts'
import type { Store } from '../store/store.ts'

/** A caller is waiting, and a process has one or two such calls at a time: it may ask this often. */
const LONGEST_WAIT_MS = 1_000

export interface Patience {
  readonly runtime: Runtime
  /** How long a call is repeated. The last try comes when this has passed. */
  readonly patienceMs: number
  /** Whether answers still come: after a close a call has no deadline, so none is repeated. */
  readonly isClosed?: () => boolean
}

/** Repeats a call that failed for a reason that may pass. Rejects with the last error. */
export async function patiently<Reply>(
  { runtime, patienceMs, isClosed = () => false }: Patience,
  send: () => Promise<Reply>,
  /** Whether the call can be sent again after this error. */
  isRepeatable: (error: StoreError) => boolean = () => true,
): Promise<Reply> {
  const giveUpAt = runtime.mono() + patienceMs
  for (let failures = 1; ; failures++) {
    try {
      return await send()
    } catch (error) {
      if (!(error instanceof StoreError) || !error.transient || !isRepeatable(error)) throw error
      const leftMs = giveUpAt - runtime.mono()
      if (leftMs <= 0 || isClosed()) throw error
      const waitMs = Math.min(LONGEST_WAIT_MS, retryDelayMs(failures, runtime.random()))
      await sleep(runtime, Math.min(waitMs, leftMs))
      if (isClosed()) throw error
    }
  }
}

/** Calls that change something for a caller who waits. Inserts have a patience of their own, see `Enqueuer`. */
const WRITES = [
  'change',
  'hold',
  'moveRuns',
  'pauseSchedules',
  'prune',
  'putSchedules',
  'release',
  'removeRecords',
  'removeSchedules',
  'resumeSchedules',
  'setLimits',
  'tell',
] as const satisfies readonly (keyof Store)[]

/** What those look at before or after. */
const READS = [
  'count',
  'counts',
  'get',
  'getGroups',
  'getRecords',
  'getRuns',
  'getSchedules',
  'holds',
  'limits',
  'list',
  'listRecords',
  'listSchedules',
  'openMembers',
  'outcomes',
  'workers',
] as const satisfies readonly (keyof Store)[]

/**
 * The same store for calls of the API that write: while it cannot be reached, a call is repeated. A write whose reply was lost may have
 * had its effect, and mostly would not give the same answer a second time: it fails with `STORE_UNKNOWN`, and the caller decides.
 */
export function patientStore<Given extends Store>(store: Given, patience: Patience): Given {
  const patient = Object.create(store) as Record<string, unknown>
  const repeat = (names: readonly (keyof Store)[], isRepeatable: (error: StoreError) => boolean): void => {
    for (const name of names) {
      const call = store[name] as (argument: unknown) => Promise<unknown>
      patient[name] = (argument: unknown) => patiently(patience, () => call(argument), isRepeatable)
    }
  }
  repeat(WRITES, ({ effect }) => effect === 'none')
  repeat(READS, () => true)
  patient['putRecords'] = (call: Parameters<Store['putRecords']>[0]) => putPatiently(store, patience, call)
  return patient as unknown as Given
}

/**
 * Writes records. Unlike other writes, those that replace a revision are repeated after a lost reply too: one that had its effect is
 * `ok` again as long as its own revision is stored. If it is refused then, another writer came after it or before it, and which of
 * the two is not known. One that replaces any revision, or creates a record, might undo what others did meanwhile.
 */
async function putPatiently(
  store: RecordStore,
  patience: Patience,
  call: Parameters<RecordStore['putRecords']>[0],
): ReturnType<RecordStore['putRecords']> {
  const isRepeatable = call.records.every(({ expect }) => typeof expect === 'string')
  let lost: StoreError | null = null as StoreError | null
  const send = async (): ReturnType<RecordStore['putRecords']> => {
    try {
      return await store.putRecords(call)
    } catch (error) {
      if (error instanceof StoreError && error.effect !== 'none') lost = error
      throw error
    }
  }
  const reply = await patiently(patience, send, ({ effect }) => effect === 'none' || isRepeatable)
  if (lost !== null && reply.results.includes('refused')) throw lost
  return reply
}
