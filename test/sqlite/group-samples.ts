import type { Group, NewGroup, Outcome } from '../../src/core/flows/groups.ts'
import type { NewJob } from '../../src/core/jobs/job.ts'
import type { Verdict } from '../../src/core/policies/policy.ts'
import type { ClaimCall, Settlement, SettleReply, Store } from '../../src/store/store.ts'
import { claimCall, done, newJob, runtime } from './support.ts'

export const SPACE = 'acme'

/** A group of so many, with its members, that enqueues one job in another queue when all are done. */
export function groupOf(
  size: number,
  difference: Partial<NewGroup> = {},
  ofMembers: Partial<NewJob> = {},
): { group: NewGroup; jobs: NewJob[]; next: NewJob } {
  const next = newJob({ queue: 'report' })
  const group: NewGroup = {
    id: runtime.uuid(),
    space: SPACE,
    run: null,
    size,
    need: size,
    failing: 'end',
    jobs: { success: next },
    keepMs: 60_000,
    ...difference,
  }
  const jobs = Array.from({ length: size }, (_, n) =>
    newJob({ member: { group: group.id, n }, ...ofMembers }),
  )
  return { group, jobs, next }
}

export async function readGroup(store: Store, id: string): Promise<Group | null> {
  return (await store.getGroups({ space: SPACE, ids: [id] })).groups[0] ?? null
}

export async function outcomesOf(store: Store, id: string, limit = 100_000): Promise<readonly Outcome[]> {
  return (await store.outcomes({ space: SPACE, groups: [id], from: 0, limit })).outcomes[0] ?? []
}

/** Claims up to `limit` jobs and makes of each what ends it. */
export async function take(
  store: Store,
  limit: number,
  verdict: (n: number) => Verdict = () => done,
  difference: Partial<ClaimCall> = {},
): Promise<Settlement[]> {
  const { jobs } = await store.claim({ ...claimCall(limit), ...difference })
  return jobs.map(({ space, id, token }, n) => ({ space, id, token, verdict: verdict(n) }))
}

export const endOf = (store: Store, settlements: readonly Settlement[]): Promise<SettleReply> =>
  store.settle({ settlements })
