import { describe, expect, it } from 'vitest'
import { bury, type Explanation, flow, type Handler, queue } from '../../src/index.ts'
import { openScene } from '../worker/support/scene.ts'

const a = queue<{ readonly n: number }, { a: number }>('a')
const c = queue<number, number>('c')
const sum = queue<string, number>('sum')

const quick: readonly Handler[] = [
  a.handle(({ payload }) => ({ a: payload.n })),
  c.handle(({ payload }) => payload),
]

const NOBODY = '01a31c50-0000-7000-8000-00000000dead'

function names({ causes }: Explanation): string[] {
  return causes.map(({ cause }) => cause)
}

describe('why a run does not move on', () => {
  it('is that jobs have not ended: the first of them, each with its own cause', async () => {
    const scene = openScene()
    const order = flow('order', (f) => f.step(a).each('squares', c, [1, 2, 3, 4, 5]))
    scene.skep.worker([order, quick[0] as Handler])
    const run = await scene.skep.start(order, { n: 1 })
    await scene.until(async () => (await run.get())?.position.step === 'squares')

    const told = await run.explain()

    expect(told).toMatchObject({ kind: 'run', state: 'running', flow: 'order', queue: null })
    expect(names(told)).toEqual(['waits-for'])
    expect(told.causes[0]).toMatchObject({ step: 'squares', size: 5, done: 0, failed: 0, next: [] })
    expect(told.summary).toMatch(
      /^Waiting at step "squares" for 5 of 5 members \(0 done\)\. job .*: No worker handles this queue/,
    )
    expect(told.summary).toMatch(/ 2 more\.$/)
    expect(await scene.skep.jobs.explain(run.id)).toEqual(told)

    const [member] = (await run.members()).open
    const job = await scene.skep.jobs.explain(member?.id ?? '')
    expect(names(job)).toEqual(['no-worker', 'member-of'])
    expect(job.summary).toContain(`Member 1 of 5 of group`)
    expect(job.summary).toContain(`step "squares" of run ${run.id} (flow "order")`)
  })

  it('is a signal or a moment, and goes through branches', async () => {
    const scene = openScene()
    const waits = flow('waits', (f) =>
      f
        .step(a)
        .parallel({ asked: (g) => g.signal('approval', { timeout: '2d' }), slow: (g) => g.sleep('3h') }),
    )
    scene.skep.worker([waits, ...quick])
    const run = await scene.skep.start(waits, { n: 1 })
    const open = async () => (await run.members()).open
    await scene.until(async () => (await open()).length === 2)
    const [asked, slow] = await open()
    await scene.until(async () => (await scene.skep.runs.get(slow?.id ?? ''))?.position.waits !== null)

    const [one, other] = [
      await scene.skep.jobs.explain(asked?.id ?? ''),
      await scene.skep.jobs.explain(slow?.id ?? ''),
    ]

    expect(names(one)).toEqual(['waits-for-signal', 'member-of'])
    expect(one.causes[0]).toMatchObject({ name: 'approval', until: expect.any(Date) })
    expect(names(other)).toEqual(['waits-until', 'member-of'])
    const { summary } = await run.explain()
    expect(summary).toMatch(/run [-0-9a-f]+: Waiting for signal "approval" until /)
    expect(summary).toMatch(/run [-0-9a-f]+: Sleeping until .* at step "sleep 1"\.$/)
  })

  it('is that no live worker has its flow, or its version', async () => {
    const scene = openScene()
    const order = flow('order', (f) => f.step(a).step(a, { name: 'again' }))
    const run = await scene.skep.start(order, { n: 1 })
    scene.skep.worker([...quick])
    await scene.until(async () => (await scene.counts('flow:order')).ready === 1)

    const nobody = await run.explain()
    expect(names(nobody).slice(0, 2)).toEqual(['moves-on', 'no-flow-worker'])
    expect(nobody.summary).toContain('No live worker has version 1 of flow "order". Start one.')

    scene.client().worker([flow('order', (f) => f.step(a), { version: 2 })])
    await scene.advance(1_000)
    const other = await run.explain()
    expect(names(other)).toEqual(names(nobody))

    const { job: control } = other.causes[0] as { readonly job: string }
    const told = await scene.skep.jobs.explain(control)
    expect(names(told)).toEqual(['no-worker', 'moves-run'])
    expect(told.summary).toContain(`Continues run ${run.id} (flow "order") after step "a".`)
  })

  it('is that it failed, with what to retry; or that it is done', async () => {
    const scene = openScene()
    let isBroken = true
    const bad = queue<number, number>('bad')
    const fails = flow('fails', (f) => f.step(a).each('bad', bad, [1, 2]))
    scene.skep.worker([
      fails,
      ...quick,
      bad.handle(({ payload }) => (payload === 2 && isBroken ? bury('It is even.') : payload)),
    ])
    const run = await scene.skep.start(fails, { n: 1 })
    await scene.until(async () => (await run.get())?.status === 'failed')

    const { failed, open } = await run.members()
    const told = await run.explain()

    expect(open).toEqual([])
    expect(failed).toMatchObject([
      { n: 1, kind: 'job', name: 'bad', state: 'dead', failure: { message: 'It is even.' } },
    ])
    expect(told.summary).toContain(`at step "bad": It is even. Fix the cause and retry job ${failed[0]?.id}`)

    isBroken = false
    await scene.skep.jobs.retry([failed[0]?.id ?? ''])
    await scene.until(async () => (await run.get())?.status === 'done')
    expect((await run.explain()).causes[0]).toMatchObject({ cause: 'run-ended', status: 'done', failed: [] })
  })
})

describe('why a group has not fired', () => {
  it('is told by its id, with the job that follows and does not exist yet', async () => {
    const scene = openScene()
    const group = await scene.skep.groups.chord(
      [1, 2].map((n) => c.job(n)),
      sum.job('all'),
    )

    const told = await scene.skep.jobs.explain(group.id)
    const [next] = told.causes[0]?.cause === 'waits-for' ? told.causes[0].next : []

    expect(told).toMatchObject({ kind: 'group', state: null })
    expect(next).toMatchObject({ event: 'success', queue: 'sum' })
    expect(told.summary).toContain(`Job ${next?.id} of queue "sum" is enqueued when enough members are done.`)
    expect((await scene.skep.jobs.explain(next?.id ?? '')).summary).toContain(
      'a group has not enqueued it yet',
    )

    scene.skep.worker(quick)
    await scene.until(async () => (await scene.counts('sum')).ready === 1)
    expect((await scene.skep.jobs.explain(group.id)).summary).toBe(
      'All 2 members have completed: 2 done, 0 not done.',
    )
    expect((await scene.skep.jobs.explain(next?.id ?? '')).kind).toBe('job')
  })

  it('is the job at which a chain is, or that it has not come so far', async () => {
    const scene = openScene()
    const short = await scene.skep.groups.chain([c.job(1), c.job(2)])
    const long = await scene.skep.groups.chain(Array.from({ length: 30 }, (_, n) => c.job(n)))

    const [at] = (await scene.skep.jobs.list({ queue: 'c' })).jobs
    expect((await scene.skep.jobs.explain(short.id)).summary).toContain(`job ${at?.id}`)
    expect((await scene.skep.jobs.explain(long.id)).summary).toMatch(
      /for 1 of 1 .* They are not enqueued yet/,
    )
    expect(await scene.skep.jobs.explain(NOBODY)).toMatchObject({
      kind: null,
      causes: [{ cause: 'unknown-job' }],
    })
  })
})

describe('a retry from a step', () => {
  it('is refused before anything is written if there is no such step', async () => {
    const scene = openScene()
    const order = flow('order', (f) => f.step(a).step(a, { name: 'again' }))
    const run = await scene.skep.start(order, { n: 1 })
    await run.cancel()

    await expect(run.retry({ from: 'agian' })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: 'Flow "order" has no step "agian". It has "a", "again".',
    })
    expect((await run.get())?.status).toBe('cancelled')
    expect(await run.retry({ from: 'again' })).toBe(true)
  })
})

describe('the flows of a space', () => {
  it('are told with how many runs they have', async () => {
    const scene = openScene()
    const [one, two] = [1, 2].map((version) => flow('order', (f) => f.step(a), { version }))
    await scene.skep.start(one as typeof two & object, { n: 1 })
    await (await scene.skep.start(two as typeof one & object, { n: 1 })).cancel()
    await scene.skep.start(
      flow('other', (f) => f.step(a)),
      { n: 1 },
    )

    const { flows, isAll } = await scene.skep.runs.flows({ name: 'order' })

    expect(isAll).toBe(true)
    expect(flows).toMatchObject([
      { name: 'order', version: 1, runs: { running: 1, cancelled: 0 }, outline: { steps: [{ name: 'a' }] } },
      { name: 'order', version: 2, runs: { running: 0, cancelled: 1 } },
    ])
    expect((await scene.skep.runs.flows()).flows).toHaveLength(3)
  })
})
