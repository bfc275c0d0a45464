/** What the checker has to know about the limited queues of the crash tests, and what they have in use. */
import type { Store } from '../../src/store/store.ts'
import type { AuditEntry, AuditRow, LimitFact } from '../proof/history.ts'
import { AT_MOST, LANES, type QueueName } from './workload.ts'

const SHARING: readonly QueueName[] = ['left', 'right']
const LIMITED: readonly QueueName[] = ['laned', 'single', 'strict', ...SHARING]

const inQueues =
  (...names: readonly QueueName[]) =>
  ({ queue }: AuditRow): boolean =>
    names.some((name) => name === queue)

export const inLane =
  (name: QueueName, lane: string) =>
  (row: AuditRow): boolean =>
    row.queue === name && (row.lane ?? '') === lane

const eachLane = (name: QueueName, limit: number): LimitFact[] =>
  LANES.map((lane) => ({ name: `${name}/${lane}`, limit, of: inLane(name, lane) }))

/** For I-11. */
export const limitFacts: readonly LimitFact[] = [
  { name: 'laned', limit: AT_MOST.laned, of: inQueues('laned') },
  ...eachLane('laned', AT_MOST.lane),
  ...eachLane('single', 1),
  ...eachLane('strict', 1),
  { name: 'left and right', limit: AT_MOST.pair, of: inQueues(...SHARING) },
]

/** For I-10. */
export const strictLanes: readonly string[] = LANES.map((lane) => `strict/${lane}`)

/** How many leases each limit counts, -1 if it is not there. When nothing runs, all must be 0: nobody leaked one. */
export async function inUse(store: Store): Promise<Record<string, number>> {
  const counted: Record<string, number> = {}
  for (const name of LIMITED) {
    const call = { space: 'default', queue: name, lanes: LANES, limit: LANES.length }
    const { lanes, queue, shared } = await store.lanes(call)
    counted[`leases of queue ${name}`] = queue?.running ?? -1
    if (SHARING.includes(name)) counted[`leases of the limit of ${name}`] = shared?.running ?? -1
    for (const { lane, running } of lanes) counted[`leases of lane ${name}/${lane}`] = running
  }
  return counted
}

/** How many of these jobs were running at once, at most, by the audit. */
export function mostAtOnce(audit: readonly AuditEntry[], of: LimitFact['of']): number {
  const running = new Set<string>()
  let most = 0
  for (const { id, after } of audit) {
    if (after?.state === 'running' && of(after)) running.add(id)
    else running.delete(id)
    most = Math.max(most, running.size)
  }
  return most
}

/** The limits that were used up at some time, by name. */
export function usedUp(audit: readonly AuditEntry[]): string[] {
  return limitFacts.filter(({ limit, of }) => mostAtOnce(audit, of) >= limit).map(({ name }) => name)
}
