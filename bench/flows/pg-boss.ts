import { setTimeout as sleep } from 'node:timers/promises'
import type { Payload } from '../contest.ts'
import type { FlowLine } from '../line.ts'
import { type FlowShape, jobsOf, waits, waitsFor } from './shape.ts'

/** The part of pg-boss's flows that is called here. */
export interface BossFlows {
  flow(jobs: readonly FlowJob[]): Promise<unknown>
  resolveFlow(): Promise<void>
  getDb(): { executeSql(sql: string, values: unknown[]): Promise<{ rows: unknown[] }> }
}

interface FlowJob {
  readonly ref: string
  readonly name: string
  readonly data: Payload
  readonly dependsOn: readonly string[]
}

interface BossJob {
  readonly id: string
  readonly data: Payload
}

export interface BossResult {
  readonly id: string
  readonly status: 'completed'
  readonly output: { readonly n: number }
}

/** Its own interval is at least a second. This is what it waits between two rounds here. */
const RESOLVE_EVERY_MS = 50

interface Parts {
  readonly boss: BossFlows
  readonly queue: string
  readonly shape: FlowShape
  work(
    concurrency: number,
    run: (jobs: readonly BossJob[]) => Promise<readonly BossResult[]>,
  ): Promise<() => Promise<void>>
}

export function bossFlows({ boss, queue, shape, work }: Parts): FlowLine {
  /** There is no call that gives what the jobs before have returned. One statement for a batch is the best to be done by hand. */
  const outputsOf = async (jobs: readonly BossJob[]): Promise<Map<string, number[]>> => {
    const outputs = new Map<string, number[]>()
    if (jobs.length === 0) return outputs
    const { rows } = await boss.getDb().executeSql(
      `select d.child_id as id, array_agg((j.output ->> 'n')::int) as results
       from pgboss.job_dependency d join pgboss.job j on j.name = d.parent_name and j.id = d.parent_id
       where d.child_name = $1 and j.name = $1 and d.child_id = any($2::uuid[]) group by d.child_id`,
      [queue, jobs.map(({ id }) => id)],
    )
    for (const { id, results } of rows as { id: string; results: number[] }[]) outputs.set(id, results)
    return outputs
  }

  return {
    // A call may have flows that have nothing to do with each other.
    perCall: Math.max(1, Math.floor(1_000 / shape.size)),
    callers: 2,
    make: (flows) =>
      boss.flow(
        flows.flatMap((flow) =>
          jobsOf(shape, flow).map((data) => ({
            ref: String(data.n),
            name: queue,
            data,
            dependsOn: waitsFor(shape, data.n).map(String),
          })),
        ),
      ),
    async work(concurrency, handle) {
      const stopWork = await work(concurrency, async (jobs) => {
        const outputs = await outputsOf(jobs.filter(({ data }) => waits(shape, data.n)))
        return jobs.map(({ id, data }) => ({
          id,
          status: 'completed',
          output: { n: handle(data, outputs.get(id) ?? []) },
        }))
      })
      let isStopped = false
      const resolve = async (): Promise<void> => {
        for (; !isStopped; await sleep(RESOLVE_EVERY_MS)) await boss.resolveFlow()
      }
      const resolving = resolve()
      return async () => {
        isStopped = true
        await resolving
        await stopWork()
      }
    },
  }
}
