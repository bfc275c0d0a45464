import { describe, expect, it } from 'vitest'
import { bury, type Cause, fixed, type Handler, never, queue, retry } from '../../src/index.ts'
import { newJob } from '../support/new-job.ts'
import { claimAndDie } from '../worker/support/dead-worker.ts'
import { codeOf, gate, openScene, type Scene } from '../worker/support/scene.ts'

const mail = queue<unknown, unknown>('mail', { onError: retry(3, fixed('1m')) })
const report = queue<unknown, unknown>('report', { onError: never() })
const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8057'

const names = (causes: readonly Cause[]): string[] => causes.map(({ cause }) => cause)

/** A worker whose handlers wait until the scene is closed, and how many have begun. */
async function worker(scene: Scene, options: { concurrency?: number } = {}): Promise<{ started: string[] }> {
  const started: string[] = []
  const waiting = (one: typeof mail): Handler =>
    one.handle(({ id, signal }) => {
      started.push(id)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    })
  await scene.skep.worker([waiting(mail), waiting(report)], { drain: 0, ...options }).ready
  await scene.advance(100)
  return { started }
}

/** Puts a job into a lane, as an enqueue does. */
async function insert(scene: Scene, difference: Parameters<typeof newJob>[0]): Promise<string> {
  const job = newJob({ space: 'default', ...difference, id: scene.runtime.uuid() })
  await scene.truth.insert({ jobs: [job] })
  scene.notifier.tell({ kind: 'sync' })
  await scene.advance(100)
  return job.id
}

describe('explain', () => {
  it('says that there is no such job', async () => {
    const scene = openScene()

    const said = await scene.skep.jobs.explain(UNKNOWN)

    expect(said).toMatchObject({ id: UNKNOWN, state: null, causes: [{ cause: 'unknown-job' }] })
    expect(said.summary).toContain('No such job')
    expect(await codeOf(scene.skep.jobs.explain('x'))).toBe('OPTION_INVALID')
  })

  it('says what became of a finished job', async () => {
    const scene = openScene()
    await scene.skep.worker([mail.handle(() => 'well'), report.handle(() => bury('paper jam'))]).ready
    const good = await scene.skep.enqueue(mail, 1)
    const bad = await scene.skep.enqueue(report, 1)
    await scene.until(
      async () => (await scene.state(bad.id)) === 'dead' && (await scene.state(good.id)) === 'done',
    )

    expect((await good.explain()).causes).toMatchObject([{ cause: 'finished', state: 'done', failure: null }])
    const said = await bad.explain()

    expect(said.causes).toMatchObject([
      { cause: 'finished', state: 'dead', failure: { message: 'paper jam' } },
    ])
    expect(said.summary).toMatch(/^Died at .*: paper jam\.$/)
  })

  it('says who has the job, since when and until when', async () => {
    const scene = openScene()
    await worker(scene)
    const job = await scene.skep.enqueue(mail, 1)
    await scene.until(async () => (await scene.state(job.id)) === 'running')
    await scene.skep.jobs.cancel(job.id, { reason: 'changed my mind' }).catch(() => {})

    const [cause] = (await job.explain()).causes

    expect(cause).toMatchObject({
      cause: 'leased',
      isOver: false,
      cancelReason: 'changed my mind',
      seen: { pid: process.pid, isLive: true },
    })
    const { until, since } = cause as Cause & { cause: 'leased' }
    expect(until.getTime() - since.getTime()).toBeGreaterThan(1_000)
  })

  it('says that a lease is over and nobody is there to take the job back', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    const dead = await claimAndDie(scene)
    await scene.advance(31_000)

    const said = await job.explain()

    expect(said.causes).toMatchObject([
      { cause: 'leased', worker: dead, seen: null, isOver: true },
      { cause: 'no-worker', gone: [] },
    ])
  })

  it('says when a job is due, and why it waits', async () => {
    const scene = openScene()
    const late = await scene.skep.enqueue(mail, 1, { delay: '1h' })
    await scene.skep.worker([
      mail.handle(() => {
        throw new Error('smtp is down')
      }),
    ]).ready
    const again = await scene.skep.enqueue(mail, 2)
    await scene.until(async () => (await scene.job(again.id)).errors === 1)

    const { dueAt } = (await late.get()) as { dueAt: Date }
    expect((await late.explain()).causes).toMatchObject([{ cause: 'not-due', until: dueAt, failure: null }])
    const retried = await again.explain()

    expect(retried.causes).toMatchObject([{ cause: 'not-due', failure: { message: 'smtp is down' } }])
    expect(retried.summary).toMatch(/Next attempt at .* \(error: smtp is down\)/)
  })

  it('names every hold on a job with who, why and until when, a block first', async () => {
    const scene = openScene()
    await worker(scene)
    await scene.skep.queues.pause('m*', { by: 'ada', reason: 'quota', for: '1h' })
    await scene.skep.queues.block({}, { by: 'ops' })
    await scene.skep.queues.pause({ queue: mail, lane: 'vip' })
    await scene.skep.queues.pause({ queue: mail, lane: 'other' })
    const id = await insert(scene, { queue: 'mail', lane: 'vip' })

    const said = await scene.skep.jobs.explain(id)

    expect(said).toMatchObject({ state: 'ready', queue: 'mail', lane: 'vip' })
    expect(said.causes).toMatchObject([
      { cause: 'held', hold: { kind: 'block', by: 'ops', queue: null } },
      { cause: 'held', hold: { kind: 'pause', by: 'ada', reason: 'quota', queue: 'm*' } },
      { cause: 'held', hold: { kind: 'pause', lane: 'vip' } },
    ])
    expect(said.summary).toContain('The queues "m*" are paused by "ada" until')
  })

  it('says that no worker handles the queue, and who did', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    expect((await job.explain()).causes).toMatchObject([{ cause: 'no-worker', gone: [] }])
    await scene.truth.attend({
      worker: {
        id: 'w',
        space: 'default',
        host: 'far',
        pid: 7,
        queues: ['mail'],
        concurrency: 1,
        running: 0,
        startedAt: 0,
        vitals: '{}',
      },
    })
    expect((await job.explain()).causes).toMatchObject([{ cause: 'any-moment' }])

    await scene.advance(31_000)
    const said = await job.explain()

    expect(said.causes).toMatchObject([
      { cause: 'no-worker', gone: [{ id: 'w', host: 'far', isLive: false }] },
    ])
    expect(said.summary).toContain('worker w (process 7 on far) was last seen at')
  })

  it('names the jobs that fill a lane, a queue and a shared limit', async () => {
    const scene = openScene()
    await scene.skep.limits.set(mail, { lanes: { concurrency: 1 }, concurrency: 2, shared: 'smtp' })
    await scene.skep.limits.set(report, { shared: 'smtp' })
    await scene.skep.limits.set({ shared: 'smtp' }, { concurrency: 3 })
    await worker(scene)
    const a = await insert(scene, { queue: 'mail', lane: 'a' })
    const full = await insert(scene, { queue: 'mail', lane: 'a' })
    expect((await scene.skep.jobs.explain(full)).causes).toMatchObject([
      { cause: 'lane-full', lane: 'a', concurrency: 1, running: 1, jobs: [a] },
    ])

    const b = await insert(scene, { queue: 'mail', lane: 'b' })
    const c = await insert(scene, { queue: 'mail', lane: 'c' })
    expect((await scene.skep.jobs.explain(c)).causes).toMatchObject([
      { cause: 'queue-full', concurrency: 2, running: 2, jobs: [a, b] },
    ])

    const other = await insert(scene, { queue: 'report' })
    const last = await insert(scene, { queue: 'report' })
    const said = await scene.skep.jobs.explain(last)

    expect(said.causes).toMatchObject([
      {
        cause: 'shared-full',
        shared: 'smtp',
        concurrency: 3,
        running: 3,
        queues: ['mail', 'report'],
        jobs: [a, b, other],
      },
    ])
    expect(said.summary).toContain('The shared limit "smtp" is full: 3 of 3 running')
  })

  it('says when a rate lets the next job start: of a lane, a queue, and what is shared', async () => {
    const scene = openScene()
    const rate = { limit: 1, per: '1m' } as const
    await worker(scene)
    await scene.skep.limits.set({ queue: mail, lane: 'slow' }, { rate })
    await scene.skep.limits.set(report, { rate, shared: 'api' })
    await scene.skep.limits.set({ shared: 'api' }, { rate: { limit: 1, per: '2m', burst: 1 } })
    const startedAt = scene.runtime.now()
    await insert(scene, { queue: 'mail', lane: 'slow' })
    await insert(scene, { queue: 'report' })
    const slow = await scene.skep.jobs.explain(await insert(scene, { queue: 'mail', lane: 'slow' }))
    const limited = await scene.skep.jobs.explain(await insert(scene, { queue: 'report' }))

    const view = { limit: 1, per: 60_000, burst: 1 }
    expect(slow.causes).toMatchObject([{ cause: 'lane-waits', lane: 'slow', rate: view }])
    expect(limited.causes).toMatchObject([
      { cause: 'rate', shared: null, rate: view },
      { cause: 'rate', shared: 'api', rate: { per: 120_000 } },
    ])
    for (const { causes } of [slow, limited]) {
      const { until } = causes[0] as Cause & { cause: 'rate' }
      expect(until.getTime() - startedAt).toBeGreaterThan(50_000)
      expect(until.getTime() - startedAt).toBeLessThan(61_000)
    }
  })

  it('tells the moment at which a job of a higher cost starts', async () => {
    const scene = openScene()
    await scene.skep.limits.set(report, { rate: { limit: 1, per: '10s', burst: 5 } })
    const { started } = await worker(scene)
    for (let i = 0; i < 5; i++) await insert(scene, { queue: 'report' })
    const dear = await insert(scene, { queue: 'report', cost: 3 })

    const { causes } = await scene.skep.jobs.explain(dear)
    const { until } = causes[0] as Cause & { cause: 'rate' }
    await scene.until(() => started.includes(dear))

    expect(names(causes)).toEqual(['rate'])
    expect(Math.abs(scene.runtime.now() - until.getTime())).toBeLessThan(500)
  })

  it('says that a lane waits because its handler said so', async () => {
    const scene = openScene()
    await worker(scene)
    const first = await insert(scene, { queue: 'mail', lane: 'a' })
    const { token } = await scene.job(first)
    const verdict = { to: 'ready', keepPlace: true, delayMs: 0, lane: { waitMs: 60_000 }, result: null }
    await scene.truth.settle({
      settlements: [
        {
          space: 'default',
          id: first,
          token: token as string,
          verdict: { ...verdict, failure: null } as never,
        },
      ],
    })
    const id = await insert(scene, { queue: 'mail', lane: 'a' })

    const said = await scene.skep.jobs.explain(id)

    expect(said.causes[0]).toMatchObject({ cause: 'lane-waits', lane: 'a', rate: null })
    expect(said.summary).toContain('requested by its handler')
  })

  it('names the job at the head of a strict lane, also while that waits for its next try', async () => {
    const scene = openScene()
    const steps = queue<string, unknown>('steps', {
      lane: ({ payload }) => payload,
      lanes: { order: 'strict' },
      onError: retry(3, fixed('1m')),
    })
    const open = gate<unknown>()
    await scene.skep.worker([steps.handle(() => open.promise)]).ready
    const [head, next] = await scene.skep.enqueueMany(steps, ['a', 'a'])
    await scene.until(async () => (await scene.state(head!.id)) === 'running')

    const said = await next!.explain()
    open.fail(new Error('no'))
    await scene.until(async () => (await scene.state(head!.id)) === 'delayed')
    const later = await next!.explain()

    const occupied = { cause: 'occupied', lane: 'a', job: head!.id }
    expect(said.causes).toMatchObject([{ ...occupied, state: 'running', until: null }])
    expect(said.summary).toContain(`job ${head!.id} (running) must finish first`)
    const { dueAt } = (await head!.get()) as { dueAt: Date }
    expect(later.causes).toMatchObject([{ ...occupied, state: 'delayed', until: dueAt }])
    expect((await head!.explain()).causes).toMatchObject([{ cause: 'not-due' }])
  })

  it('says that all workers are busy, and how many jobs are before it', async () => {
    const scene = openScene()
    await worker(scene, { concurrency: 1 })
    const jobs = await scene.skep.enqueueMany(
      mail,
      Array.from({ length: 14 }, (_, n) => n),
    )
    await scene.advance(15_000)

    const third = await jobs[3]!.explain()
    const last = await jobs[13]!.explain()

    expect(third.causes).toMatchObject([
      { cause: 'workers-busy', workers: [{ running: 1, concurrency: 1 }] },
      { cause: 'behind', isMore: false, jobs: [jobs[1]!.id, jobs[2]!.id] },
    ])
    expect(last.causes.at(-1)).toMatchObject({ cause: 'behind', isMore: true })
    expect(last.summary).toContain('At least 10 jobs are ahead of it')
  })

  it('says that a job which nothing keeps back starts any moment', async () => {
    const scene = openScene()
    await worker(scene)
    // Nobody was told of it.
    const job = newJob({ space: 'default' })
    await scene.truth.insert({ jobs: [job] })

    const said = await scene.skep.jobs.explain(job.id)

    expect(said).toMatchObject({ state: 'ready', causes: [{ cause: 'any-moment' }] })
  })

  it('does not say that a job which is due but not made ready yet is behind others', async () => {
    const scene = openScene()
    const due = await scene.skep.enqueue(mail, 1, { delay: '5s' })
    await scene.skep.enqueue(mail, 2)
    await scene.advance(5_000)

    const said = await due.explain()

    expect(said.state).toBe('delayed')
    expect(names(said.causes)).toEqual(['no-worker'])
  })

  it('only reads', async () => {
    const scene = openScene()
    await scene.skep.limits.set(mail, { concurrency: 1 })
    const job = await scene.skep.enqueue(mail, 1)
    const asked = scene.faults.calls.length

    await job.explain()

    const operations = new Set(scene.faults.calls.slice(asked).map(({ operation }) => operation))
    expect([...operations].sort()).toEqual(['get', 'holds', 'lanes', 'limits', 'list', 'workers'])
  })
})
