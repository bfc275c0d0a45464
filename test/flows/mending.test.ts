import { describe, expect, it } from 'vitest'
import { bury, flow, queue, settled } from '../../src/index.ts'
import { openScene } from '../worker/support/scene.ts'

describe('a flow', () => {
  it('may sleep, choose and repeat anywhere, without names', () => {
    const one = queue<unknown>('one')
    const nested = flow('nested', (f) =>
      f.input<{ n: number }>().when(
        () => true,
        (g) =>
          g.sleep(1).when(
            () => true,
            (h) => h.repeat({ most: 1 }, (i) => i.sleep(1)),
          ),
        (g) => g.sleep(1).step(one),
      ),
    )

    expect(nested.tree.nodes.map(({ name }) => name)).toEqual(['when 1'])
  })

  it('refuses two branches of one name: a run would not know which of them it is', () => {
    const one = queue<unknown>('one')
    const two = queue<unknown>('two')

    const build = (): unknown =>
      flow('twice', (f) =>
        f
          .input<{ n: number }>()
          .parallel({ left: (g) => g.step(one), right: one })
          .parallel({ left: (g) => g.step(two) }),
      )

    expect(build).toThrow(/two branches "left"/)
  })
})

describe('a run', () => {
  it('is done when somebody mends the job that failed its last step', async () => {
    const scene = openScene()
    let isBroken = true
    const only = queue<{ n: number }, { ok: number }>('only')
    const short = flow('short', (f) => f.step(only))
    scene.skep.worker([short, only.handle(() => (isBroken ? bury('Broken.') : { ok: 1 }))])
    const run = await scene.skep.start(short, { n: 1 })
    await scene.until(async () => (await run.get())?.status === 'failed')

    isBroken = false
    await scene.skep.jobs.retry({ queue: 'only', state: 'dead' })

    await scene.until(async () => (await run.get())?.status === 'done')
    expect(await run.result()).toEqual({ n: 1, ok: 1 })
  })

  it('goes on when a member was mended before it had heard of the failure', async () => {
    const scene = openScene()
    let isBroken = true
    const only = queue<{ n: number }, { ok: number }>('only')
    const short = flow('short', (f) => f.step(only))
    const run = await scene.skep.start(short, { n: 1 })
    // Nobody here knows the flow, so that its failure and its success wait together.
    scene.skep.worker([only.handle(() => (isBroken ? bury('Broken.') : { ok: 1 }))])
    await scene.until(async () => (await scene.counts('only')).dead === 1)
    isBroken = false
    await scene.skep.jobs.retry({ queue: 'only', state: 'dead' })
    await scene.until(async () => (await scene.counts('flow:short')).ready === 2)

    scene.client().worker([short])

    await scene.until(async () => (await run.get())?.status === 'done')
    expect(await run.result()).toEqual({ n: 1, ok: 1 })
  })

  it('refuses to retry a member whose failure is about to be undone, and undoes it', async () => {
    const scene = openScene()
    const calls: string[] = []
    const book = queue<{ n: number }, { room: number }>('book')
    const leave = queue<{ room: number }>('leave')
    const pay = queue<{ n: number }, { paid: boolean }>('pay')
    const trip = flow('trip', (f) => f.step(book, { undo: leave }).step(pay))
    const others = [book.handle(() => ({ room: 1 })), leave.handle(() => void calls.push('leave'))]
    const run = await scene.skep.start(trip, { n: 1 })
    const worker = scene.skep.worker([trip, ...others])
    await scene.until(async () => (await scene.counts('pay')).ready === 1)
    await worker.stop()
    scene.skep.worker([pay.handle(() => bury('Broken.'))])
    await scene.until(async () => (await scene.counts('pay')).dead === 1)

    const { changed, refused } = await scene.skep.jobs.retry({ queue: 'pay', state: 'dead' })
    scene.client().worker([trip, ...others])

    expect([changed, refused.map(({ reason }) => reason)]).toEqual([0, ['run']])
    await scene.until(async () => (await run.get())?.status === 'failed')
    expect(calls).toEqual(['leave'])
    expect((await scene.skep.jobs.retry({ queue: 'pay', state: 'dead' })).refused).toHaveLength(1)
  })

  it('does not cancel a job that somebody retried before it had heard of the failure', async () => {
    const scene = openScene()
    const only = queue<{ n: number }, { ok: number }>('only')
    const short = flow('short', (f) => f.step(only))
    const run = await scene.skep.start(short, { n: 1 })
    const { jobs } = await scene.skep.jobs.list({ queue: 'only' })
    await scene.skep.jobs.bury(jobs[0]?.id as string)
    await scene.skep.jobs.retry({ queue: 'only', state: 'dead' })

    scene.skep.worker([short])
    await scene.until(async () => (await run.get())?.status === 'failed')

    expect(await scene.counts('only')).toEqual({ ready: 1 })
  })

  it('has the result of a job that somebody retried after it was done', async () => {
    const scene = openScene()
    const only = queue<{ n: number }, { ok: number }>('only')
    const short = flow('short', (f) => f.step(only).sleep('1s'))
    const run = await scene.skep.start(short, { n: 1 })
    const worker = scene.skep.worker([only.handle(() => ({ ok: 1 }))])
    await scene.until(async () => (await scene.counts('only')).done === 1)
    await worker.stop()
    await scene.skep.jobs.retry({ queue: 'only', state: 'done' })

    scene.client().worker([short])

    await scene.until(async () => (await run.get())?.status === 'done')
    expect(await run.result()).toEqual({ n: 1, ok: 1 })
  })

  it('has the result of a job that died when somebody retried it after it was done', async () => {
    const scene = openScene()
    const only = queue<{ n: number }, { ok: number }>('only')
    const short = flow('short', (f) => f.step(only).sleep('1s'))
    const run = await scene.skep.start(short, { n: 1 })
    let luck = true
    const handler = only.handle(() => (luck ? { ok: 1 } : bury('Broken.')))
    const worker = scene.skep.worker([handler])
    await scene.until(async () => (await scene.counts('only')).done === 1)
    luck = false
    await scene.skep.jobs.retry({ queue: 'only', state: 'done' })
    await scene.until(async () => (await scene.counts('only')).dead === 1)
    await worker.stop()

    scene.client().worker([short])

    await scene.until(async () => (await run.get())?.status === 'done')
    expect(await run.result()).toEqual({ n: 1, ok: 1 })
  })

  it('keeps the places of what has settled, also if one is retried meanwhile', async () => {
    const scene = openScene()
    const one = queue<number, number>('one')
    const many = flow('many', (f) => f.input<{ n: number }>().each('got', one, [1, 2, 3], settled))
    const run = await scene.skep.start(many, { n: 1 })
    const worker = scene.skep.worker([
      one.handle(({ payload }) => (payload === 1 ? bury('Broken.') : payload)),
    ])
    await scene.until(async () => (await scene.counts('flow:many')).ready === 1)
    await worker.stop()
    await scene.skep.jobs.retry({ queue: 'one', state: 'dead' })

    scene.client().worker([many])
    await scene.until(async () => (await run.get())?.status === 'done')

    const { got } = await run.result()
    expect(got.map((one) => (one.ok ? one.result : 'not'))).toEqual(['not', 2, 3])
  })

  it('is started once, however often it is started under its id', async () => {
    const scene = openScene()
    const only = queue<{ n: number }, { ok: number }>('only')
    const short = flow('short', (f) => f.step(only))
    const id = '01a31c50-0000-7000-8000-000000000001'
    scene.skep.worker([short])

    await scene.skep.start(short, { n: 1 }, { id })
    await scene.until(async () => (await scene.counts('only')).ready === 1)
    await scene.skep.start(short, { n: 1 }, { id })
    await scene.advance(10_000)

    expect(await scene.counts('only')).toEqual({ ready: 1 })
  })

  it('takes its members with it, although the process that cancelled it ends in between', async () => {
    const scene = openScene()
    const wait = queue<unknown>('wait')
    const long = flow('long', (f) =>
      f.input<{ n: number }>().parallel({ one: wait, two: (g) => g.step(wait, { name: 'deep' }) }),
    )
    const worker = scene.skep.worker([long])
    const { id } = await scene.skep.start(long, { n: 1 })
    await scene.until(async () => (await scene.counts('wait')).ready === 2)
    await worker.stop()
    const [branch] = await scene.skep.runs.run(id).branches()
    const dying = scene.client({
      ...scene.truth,
      openMembers: () => Promise.reject(new Error('The process ends.')),
    })
    await expect(dying.runs.run(id).cancel()).rejects.toThrow('The process ends.')
    expect((await scene.skep.runs.run(id).get())?.status).toBe('cancelled')
    expect(await scene.counts('wait')).toEqual({ ready: 2 })

    scene.client().worker([long])

    await scene.until(async () => (await scene.counts('wait')).cancelled === 2)
    expect((await branch?.run.get())?.status).toBe('cancelled')
    await scene.until(async () => Object.keys(await scene.counts('flow:long')).length === 0)
  })

  it('does again what was undone, when it is retried', async () => {
    const scene = openScene()
    const calls: string[] = []
    let isBroken = true
    const book = queue<{ n: number }, { room: number }>('book')
    const leave = queue<{ room: number }>('leave')
    const pay = queue<{ n: number }, { paid: boolean }>('pay')
    const trip = flow('trip', (f) => f.step(book, { undo: leave }).step(pay))
    scene.skep.worker([
      trip,
      book.handle(() => ({ room: calls.push('book') })),
      leave.handle(() => void calls.push('leave')),
      pay.handle(() => {
        calls.push('pay')
        return isBroken ? bury('Broken.') : { paid: true }
      }),
    ])
    const run = await scene.skep.start(trip, { n: 1 })
    await scene.until(async () => (await run.get())?.status === 'failed')

    isBroken = false
    await run.retry()

    await scene.until(async () => (await run.get())?.status === 'done')
    expect(calls).toEqual(['book', 'pay', 'leave', 'book', 'pay'])
  })

  it('begins a loop anew when it is retried from a step before it', async () => {
    const scene = openScene()
    let rounds = 0
    const first = queue<{ n: number }>('first')
    const round = queue<{ n: number }, { ok: number }>('round')
    const loop = flow('loop', (f) =>
      f.step(first).repeat({ most: 2 }, (g) => g.step(round, { as: 'last' }) as never),
    )
    scene.skep.worker([
      loop,
      first.handle(() => undefined),
      round.handle(() => (++rounds === 2 ? bury('Broken.') : { ok: rounds })),
    ])
    const run = await scene.skep.start(loop, { n: 1 })
    await scene.until(async () => (await run.get())?.status === 'failed')

    await run.retry({ from: 'first' })

    await scene.until(async () => (await run.get())?.status === 'done')
    expect(rounds).toBe(4)
  })

  it('gets a signal that comes after the time of the last one was over', async () => {
    const scene = openScene()
    const go = queue<{ n: number }>('go')
    const twice = flow('twice', (f) =>
      f
        .input<{ n: number }>()
        .repeat({ most: 2 }, (g) => g.signal('word', { timeout: '1s' }).sleep('1m') as never),
    )
    scene.skep.worker([twice, go.handle(() => undefined)])
    const run = await scene.skep.start(twice, { n: 1 })
    await scene.advance(30_000)

    expect(await run.signal('word', 'late')).toBe(true)
    await scene.advance(200_000)

    expect(await run.result()).toMatchObject({ word: 'late' })
  })
})
