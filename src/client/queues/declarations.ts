import { messageOf } from '../../core/errors.ts'
import { hashText } from '../../core/jobs/fingerprint.ts'
import type { PriorityMode } from '../../core/jobs/priority.ts'
import { sameFields } from '../../core/lanes/limit-fields.ts'
import { isPolicy } from '../../core/policies/assert-policy.ts'
import { describePolicy } from '../../core/policies/describe-policy.ts'
import { DEFAULT_POLICY, type Policy } from '../../core/policies/policy.ts'
import { noteDeploy } from '../../metrics/deploys.ts'
import type { Logger } from '../../runtime/logger.ts'
import { parseVitals } from '../../runtime/process-stats.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { atMost } from '../../runtime/supervise.ts'
import type { LimitTarget, SetLimitsCall } from '../../store/limits.ts'
import type { RecordStore } from '../../store/records.ts'
import type { QueueCounts, Store } from '../../store/store.ts'
import type { Declaration } from './lane-options.ts'
import type { AnyQueue } from './queue.ts'

/** How a queue is declared is a record of this kind, with the queue's name as its id. */
export const CARD_KIND = 'queue'
/** A card that nobody has confirmed for so long is of a queue that is no more; it is confirmed when half of it is over. */
const KEPT_MS = 30 * 86_400_000
const SCHEMA_BYTES = 65_536
const CARDS_PER_CALL = 50
/** Cards that a list gives. */
const CARDS_LISTED = 2_000
const PAGE = 200

/** How a queue was declared in code, as its workers told the store. */
export interface QueueCard {
  readonly queue: string
  /** JSON Schema of the payload; null if there is none, or it cannot be told. */
  readonly schema: unknown
  /** The policy in words. */
  readonly policy: readonly string[]
  /** The policy itself, for {@link policyOfCard}. */
  readonly rules: Policy
  readonly timeoutMs: number | null
  readonly priority: number
  readonly priorityMode: PriorityMode
  readonly hasLanes: boolean
  /** Its jobs run in strict order. */
  readonly isStrict: boolean
  /** It makes unique keys by itself. */
  readonly tellsUnique: boolean
}

type CardQueue = Pick<
  AnyQueue,
  'name' | 'policy' | 'priority' | 'priorityMode' | 'lanes' | 'uniqueOf' | 'jsonSchema'
>

export function cardOf(queue: CardQueue): QueueCard {
  const { name, policy, priority, priorityMode, lanes, uniqueOf } = queue
  return {
    queue: name,
    schema: smallSchema(queue),
    policy: describePolicy(policy),
    rules: policy,
    timeoutMs: policy.timeoutMs,
    priority,
    priorityMode,
    hasLanes: lanes.laneOf !== null,
    isStrict: lanes.strict,
    tellsUnique: uniqueOf !== null,
  }
}

/** Puts the cards of these queues into the store, those that differ from what is there. */
export async function putCards(
  store: Pick<RecordStore, 'getRecords' | 'putRecords'>,
  space: string,
  queues: readonly CardQueue[],
  now: number,
): Promise<void> {
  const place = { scope: space, kind: CARD_KIND }
  for (let i = 0; i < queues.length; i += CARDS_PER_CALL) {
    const cards = queues.slice(i, i + CARDS_PER_CALL).map(cardOf)
    const { records } = await store.getRecords({ ...place, ids: cards.map(({ queue }) => queue) })
    const puts = cards.flatMap((card, index) => {
      const body = JSON.stringify(card)
      const stored = records[index]
      const isFresh = stored?.expiresAt != null && stored.expiresAt - now > KEPT_MS / 2
      if (stored?.body === body && isFresh) return []
      const expiresAt = now + KEPT_MS
      return [{ id: card.queue, body, revision: hashText(`${expiresAt}\n${body}`), expiresAt }]
    })
    if (puts.length > 0) await store.putRecords({ ...place, records: puts })
  }
}

/** The cards of a space, by the queue's name. At most two thousand. */
export async function listCards(
  store: Pick<RecordStore, 'listRecords'>,
  space: string,
): Promise<readonly QueueCard[]> {
  const cards: QueueCard[] = []
  let from = ''
  for (let seen = 0; seen < CARDS_LISTED; ) {
    const { records, more } = await store.listRecords({ scope: space, kind: CARD_KIND, from, limit: PAGE })
    for (const { id, body } of records) {
      const card = readCard(id, body)
      if (card !== null) cards.push(card)
    }
    const last = records.at(-1)
    if (!more || last === undefined) break
    seen += records.length
    from = `${last.id} `
  }
  return cards
}

/** The card of one queue, or null if no worker has told of it. */
export async function getCard(
  store: Pick<RecordStore, 'getRecords'>,
  space: string,
  queue: string,
): Promise<QueueCard | null> {
  const { records } = await store.getRecords({ scope: space, kind: CARD_KIND, ids: [queue] })
  return records[0] ? readCard(queue, records[0].body) : null
}

/**
 * The policy that a card tells, so that a program without the queue's code can judge by it. The usual one where there is no
 * card, or what it says makes no sense.
 */
export function policyOfCard(card: Pick<QueueCard, 'rules'> | null): Policy {
  const rules: unknown = card?.rules
  return isPolicy(rules) ? rules : DEFAULT_POLICY
}

function readCard(queue: string, body: string): QueueCard | null {
  try {
    const read = JSON.parse(body) as Partial<QueueCard> | null
    // Anybody who can write to the table can write a card, and jobs are judged by it.
    if (typeof read !== 'object' || read === null || !isPolicy(read.rules)) return null
    return {
      queue,
      schema: read.schema ?? null,
      policy: describePolicy(read.rules),
      rules: read.rules,
      timeoutMs: read.rules.timeoutMs,
      priority: Number(read.priority ?? 0),
      priorityMode: read.priorityMode === 'strict' ? 'strict' : 'head-start',
      hasLanes: read.hasLanes === true,
      isStrict: read.isStrict === true,
      tellsUnique: read.tellsUnique === true,
    }
  } catch {
    return null
  }
}

function smallSchema(queue: CardQueue): unknown {
  try {
    const schema = queue.jsonSchema() ?? null
    return JSON.stringify(schema).length <= SCHEMA_BYTES ? schema : null
  } catch {
    return null
  }
}

interface AnnounceEnv {
  readonly store: Store
  readonly runtime: Runtime
  readonly logger: Logger
  readonly space: string
}

/** A worker does not wait longer than this before it starts. */
const PATIENCE_MS = 2_000

/**
 * Tells, before a worker starts, how its queues are declared and which version it is of. It is for those who look, so a worker
 * starts whether or not it can be told.
 */
export async function announceWorker(
  env: AnnounceEnv,
  queues: readonly AnyQueue[],
  version: string | null,
): Promise<void> {
  const told = tell(env, queues, version).catch((error: unknown) =>
    env.logger.debug(`What a worker is could not be told: ${messageOf(error)}`),
  )
  await atMost(env.runtime, PATIENCE_MS, told)
}

async function tell(
  { store, runtime, space }: AnnounceEnv,
  queues: readonly AnyQueue[],
  version: string | null,
): Promise<void> {
  await putCards(store, space, queues, runtime.now())
  if (version === null) return
  const { workers } = await store.workers({ space })
  const living = workers.filter(({ life }) => life !== 'gone')
  const versions = living.map(({ vitals }) => parseVitals(vitals).version)
  await noteDeploy(store, runtime, space, version, versions)
}

/**
 * Tells the store what the code of this worker says about the limits of its queues, before it takes the first job. What
 * earlier code declared and this one does not is taken back; what was changed by hand stays in force.
 */
export async function declareLimits(
  store: Store,
  space: string,
  queues: readonly { readonly name: string; readonly declared: readonly Declaration[] }[],
): Promise<void> {
  const { limits: known } = await store.limits({ space })
  const declared = new Map(queues.flatMap((queue) => queue.declared).map((one) => [keyOf(one.target), one]))
  const names = new Set(queues.map(({ name }) => name))
  const changes: SetLimitsCall['limits'][number][] = []
  for (const { target, fields } of declared.values()) {
    const stored = known.find((record) => keyOf(record.target) === keyOf(target))
    if (!sameFields(stored?.declared ?? null, fields)) changes.push({ target, by: 'code', fields })
  }
  for (const record of known) {
    if (record.declared === null || declared.has(keyOf(record.target))) continue
    // A shared limit may be declared by others, and without queues that name it it limits nothing.
    if ('queue' in record.target && names.has(record.target.queue)) {
      changes.push({ target: record.target, by: 'code', fields: null })
    }
  }
  if (changes.length > 0) await store.setLimits({ space, limits: changes })
}

function keyOf(target: LimitTarget): string {
  return JSON.stringify('shared' in target ? [target.shared] : [target.queue, target.lane ?? null])
}

const CARDS_PER_READ = 200

/**
 * Leaves out queues of which nothing is left: no job in any state, no live worker, no hold, limit or declaration. Stores keep
 * the name of a queue for ever, so without this a dropped queue would still be listed.
 */
export async function knownQueues(
  store: Store,
  space: string,
  counted: readonly QueueCounts[],
  handled: ReadonlySet<string>,
): Promise<readonly QueueCounts[]> {
  const empty = counted.filter((one) => isEmpty(one) && !handled.has(one.queue)).map(({ queue }) => queue)
  // Mostly there is none, and then nothing more is read.
  if (empty.length === 0) return counted
  const parts: string[][] = []
  for (let i = 0; i < empty.length; i += CARDS_PER_READ) parts.push(empty.slice(i, i + CARDS_PER_READ))
  const [{ holds }, { limits }, ...cards] = await Promise.all([
    store.holds({ space }),
    store.limits({ space }),
    ...parts.map((ids) => store.getRecords({ scope: space, kind: CARD_KIND, ids })),
  ])
  const known = new Set<string | null>([
    ...holds.filter((hold) => hold.space === space).map(({ queue }) => queue),
    ...limits.map(({ target }) => ('queue' in target ? target.queue : null)),
    ...cards.flatMap(({ records }) => records.map((record) => record?.id ?? null)),
  ])
  const unknown = new Set(empty.filter((queue) => !known.has(queue)))
  return counted.filter(({ queue }) => !unknown.has(queue))
}

function isEmpty({ states }: QueueCounts): boolean {
  return Object.values(states).every((jobs) => jobs === 0)
}
