import { isFinal, type Job } from '../../../src/core/jobs/job.ts'
import type { Store } from '../../../src/store/store.ts'

/** What really happened to jobs, as their store saw it. */
export class Audit {
  /** Every way into a final state, or out of the store. */
  readonly ends = new Map<string, string[]>()
  /** What is wrong, in words. */
  readonly faults: string[] = []

  wrap(store: Store): Store {
    const read = async (ids: readonly string[]): Promise<(Job | null)[]> => [
      ...(await store.get({ space: 'default', ids })).jobs,
    ]
    return {
      ...store,
      settle: async (call) => {
        const ids = call.settlements.map(({ id }) => id)
        const before = await read(ids)
        const reply = await store.settle({ ...call, settlements: call.settlements })
        const after = await read(ids)
        before.forEach((job, index) => {
          if (job?.state === 'running') this.#compare(job, after[index] ?? null)
          else if (job && after[index] && isFinal(job.state) && after[index].state !== job.state) {
            this.faults.push(`${job.id} left ${job.state} for ${after[index].state}`)
          }
        })
        return reply
      },
    }
  }

  #compare(before: Job, after: Job | null): void {
    const state = after?.state ?? 'removed'
    if (after !== null && !isFinal(after.state)) return
    const ends = this.ends.get(before.id) ?? []
    this.ends.set(before.id, [...ends, state])
    if (ends.length > 0) this.faults.push(`${before.id} ended twice: ${[...ends, state].join(', ')}`)
  }
}
