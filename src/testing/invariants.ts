import assert from 'node:assert/strict'
import { isFinal, JOB_STATES, type Job, type JobState } from '../core/jobs/job.ts'
import { byRank } from '../core/jobs/transitions.ts'
import { byKey, DEFAULT_LANE } from '../core/lanes/lanes.ts'
import type { QueueCounts, Store } from '../store/store.ts'

/** What is wrong with the shape of a job, in words; nothing if it is sound (I-24). */
export function shapeFaults(job: Job, now: number): string[] {
  const running = job.state === 'running'
  const final = isFinal(job.state)
  const faults: [boolean, string][] = [
    [running !== (job.leaseUntil !== null), 'has a lease exactly if it runs'],
    [running && (job.token === null || job.worker === null || job.startedAt === null), 'knows who runs it'],
    [running && job.starts < 1, 'counts its start'],
    [running && job.dueAt > (job.startedAt ?? 0), 'starts when it is due'],
    [job.state === 'ready' && job.dueAt > now, 'is ready when it is due'],
    [final !== (job.finishedAt !== null), 'has a finish time exactly if it is finished'],
    [final !== (job.expiresAt !== null), 'expires exactly if it is finished'],
    [final && (job.expiresAt ?? 0) < (job.finishedAt ?? 0), 'expires after its finish'],
    [(job.uniqueKey === null) !== (job.uniqueScope === null), 'has a key and a scope together'],
    [
      [job.starts, job.errors, job.timeouts, job.lost, job.snoozes, job.generation].some(
        (count) => !Number.isSafeInteger(count) || count < 0,
      ),
      'counts upwards from zero',
    ],
  ]
  return faults.filter(([isBroken]) => isBroken).map(([, rule]) => rule)
}

/** All jobs of a space in one state of one queue, page by page. */
export async function listAll(
  store: Store,
  selection: { readonly space: string; readonly queue: string; readonly state: JobState },
  pageJobs = 200,
): Promise<Job[]> {
  const jobs: Job[] = []
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<Store['list']>> = await store.list({
      ...selection,
      limit: pageJobs,
      cursor,
    })
    jobs.push(...page.jobs)
    cursor = page.cursor
  } while (cursor !== null)
  return jobs
}

/**
 * Reads all jobs of the spaces and checks what must be true at any time: every job is sound in itself and in
 * exactly one state, lists, counts and reads by id agree, and lists are in order. Returns the jobs.
 */
export async function auditStore(
  store: Store,
  spaces: Readonly<Record<string, readonly string[]>>,
  now: number,
): Promise<Job[]> {
  const all: Job[] = []
  for (const [space, queues] of Object.entries(spaces)) {
    const { queues: counted } = await store.counts({ space, now })
    for (const { queue, states } of counted) {
      const known = queues.includes(queue) || Object.values(states).every((count) => count === 0)
      assert.ok(known, `counts of space "${space}" speak of the unknown queue "${queue}"`)
    }
    for (const queue of queues) {
      const counts = counted.find((entry) => entry.queue === queue)
      const listed: Job[] = []
      for (const state of JOB_STATES) {
        const jobs = await listAll(store, { space, queue, state })
        listed.push(...jobs)
        for (const job of jobs) {
          assert.deepEqual([job.space, job.queue, job.state], [space, queue, state])
          assert.deepEqual(shapeFaults(job, now), [], `the shape of ${JSON.stringify(job)}`)
        }
        if (state === 'ready') checkReady(jobs, `${space}/${queue}`)
        if (state === 'running') await checkLanes(store, space, queue, jobs, now)
        all.push(...jobs)
      }
      assert.deepEqual(
        counts ?? countedBy(queue, [], now),
        countedBy(queue, listed, now),
        `counts of ${space}/${queue}`,
      )
    }
  }
  assert.equal(
    new Set(all.map(({ space, id }) => `${space} ${id}`)).size,
    all.length,
    'a job is listed twice',
  )
  for (const [space] of Object.entries(spaces)) {
    const mine = all.filter((job) => job.space === space)
    const { jobs } = await store.get({ space, ids: mine.map(({ id }) => id) })
    assert.deepEqual(jobs, mine, 'get and list show the same jobs')
  }
  return all
}

/** What a store has to say of a queue with these jobs, as long as there are not very many. */
export function countedBy(queue: string, jobs: readonly Job[], now: number): QueueCounts {
  const isOverdue = (job: Job): boolean => job.state === 'delayed' && job.dueAt <= now
  const shown = jobs.map((job): Job => (isOverdue(job) ? { ...job, state: 'ready' } : job))
  const count = (state: JobState): number => shown.filter((job) => job.state === state).length
  const dues = shown.filter(({ state }) => state === 'ready').map(({ dueAt }) => dueAt)
  return {
    queue,
    states: Object.fromEntries(JOB_STATES.map((state) => [state, count(state)])) as QueueCounts['states'],
    overdue: jobs.filter(isOverdue).length,
    oldestDueAt: dues.length === 0 ? null : dues.reduce((oldest, dueAt) => Math.min(oldest, dueAt)),
  }
}

/** Ready jobs are listed lane by lane, and within a lane by rank unless their place is their arrival. */
function checkReady(jobs: readonly Job[], where: string): void {
  const lanes = [...new Set(jobs.map(({ lane }) => lane ?? DEFAULT_LANE))]
  assert.deepEqual(lanes, lanes.toSorted(byKey), `the lanes of ${where} are in order`)
  const inLanes = lanes.flatMap((lane) => jobs.filter((job) => (job.lane ?? DEFAULT_LANE) === lane))
  assert.deepEqual(jobs, inLanes, `ready jobs of ${where} are listed lane by lane`)
  for (const lane of lanes) {
    const own: Job[] = jobs.filter((job) => (job.lane ?? DEFAULT_LANE) === lane && !job.strict)
    assert.deepEqual(own, own.toSorted(byRank), `ready jobs of ${where} are in rank order`)
  }
}

/** What a limited queue believes to be running is what runs: no permit is lost, and none is given twice (I-11). */
async function checkLanes(
  store: Store,
  space: string,
  queue: string,
  running: readonly Job[],
  now: number,
): Promise<void> {
  const { lanes, queue: whole } = await store.lanes({ space, queue, limit: 100_000, now })
  if (whole === null) return
  assert.equal(whole.running, running.length, `what runs in ${space}/${queue} by its meter`)
  const counted = new Map<string, number>()
  for (const { lane } of running)
    counted.set(lane ?? DEFAULT_LANE, (counted.get(lane ?? DEFAULT_LANE) ?? 0) + 1)
  const metered = lanes.filter((lane) => lane.running !== 0).map(({ lane, running: n }) => [lane, n] as const)
  assert.deepEqual(new Map(metered), counted, `what runs in the lanes of ${space}/${queue}`)
}
