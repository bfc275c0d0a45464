import { hashText } from '../core/fingerprint.ts'
import { LIMITS } from '../core/limits.ts'
import { DEFAULT_POLICY, type Ending, type FailurePolicy, type Policy } from '../core/policy.ts'
import { describePolicy } from '../core/policy-words.ts'
import type { PriorityMode } from '../core/priority.ts'
import type { RecordStore } from '../store/records.ts'
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

// Anybody who can write to the table can write a card, and jobs are judged by it.
function isPolicy(value: unknown): value is Policy {
  const policy = value as Partial<Record<keyof Policy, unknown>> | null | undefined
  return (
    typeof policy === 'object' &&
    policy !== null &&
    isEnding(policy.onSuccess) &&
    policy.onSuccess.end !== 'bury' &&
    isFailurePolicy(policy.onError) &&
    isFailurePolicy(policy.onTimeout) &&
    isFailurePolicy(policy.onLost) &&
    isSpan(policy.keepCancelledMs) &&
    (policy.timeoutMs === null || isSpan(policy.timeoutMs)) &&
    (policy.holdsLane === undefined || typeof policy.holdsLane === 'boolean')
  )
}

function isEnding(value: unknown): value is Ending {
  const ending = value as { readonly end?: unknown; readonly keepMs?: unknown } | null | undefined
  return (
    ending?.end === 'discard' ||
    ((ending?.end === 'archive' || ending?.end === 'bury') && isSpan(ending.keepMs))
  )
}

function isFailurePolicy(value: unknown): value is FailurePolicy {
  const policy = value as Partial<Record<keyof FailurePolicy, unknown>> | null | undefined
  const backoff = policy?.backoff as Readonly<Record<string, unknown>> | null | undefined
  const { retries } = policy ?? {}
  return (
    (retries === null || isSpan(retries)) &&
    isEnding(policy?.ending) &&
    isSpan(backoff?.['ms']) &&
    isNumber(backoff['jitter'], 0, 1) &&
    (backoff['kind'] === 'fixed' ||
      (backoff['kind'] === 'exponential' && isNumber(backoff['factor'], 1, 100) && isSpan(backoff['maxMs'])))
  )
}

function isSpan(value: unknown): value is number {
  return Number.isInteger(value) && isNumber(value, 0, LIMITS.delayMs)
}

function isNumber(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most
}
